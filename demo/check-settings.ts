import { fileURLToPath } from 'node:url';
import { checkFiles } from '../core/config/check-files.ts';
import { readConfig } from '../core/config/config.ts';

const inventory = fileURLToPath(new URL('../seeds/inventory.demo.yaml', import.meta.url));

/** What `startDefaults` brings for options that the environment does not name: here anything that passes. */
const STAND_INS: ReadonlyArray<{ unless: readonly string[]; brings: NodeJS.ProcessEnv }> = [
  { unless: ['DATABASE_URL'], brings: { DATABASE_URL: 'postgres://nomos@127.0.0.1/nomos' } },
  { unless: ['REDIS_URL'], brings: { REDIS_URL: 'redis://127.0.0.1' } },
  {
    unless: ['MATRIX_HOMESERVER_URL'],
    brings: { MATRIX_HOMESERVER_URL: 'http://127.0.0.1', MATRIX_ACCESS_TOKEN: 'embedded' },
  },
  {
    unless: ['MATRIX_HOMESERVER_URL', 'NOMOS_OPERATORS'],
    brings: { NOMOS_OPERATORS: '@operator:localhost=admin' },
  },
  { unless: ['OPENAI_API_KEY', 'OPENAI_BASE_URL'], brings: { OPENAI_API_KEY: 'demo-model' } },
  {
    unless: ['NOMOS_INVENTORY'],
    // The key of the simulated fleet is made later: only that there is a file counts.
    brings: { NOMOS_INVENTORY: inventory, NOMOS_SSH_KEY_FILE: inventory },
  },
];

/**
 * Checks whatever the environment names, before any service is started for what it does not. Throws `ConfigurationError` or
 * `YamlFileError`, as the program itself would later.
 */
export function checkSettings(given: NodeJS.ProcessEnv): void {
  const isSet = (name: string): boolean =>
    [given[name], given[`${name}_FILE`]].some(
      (value) => value !== undefined && value.trim() !== '',
    );
  const environment = { ...given };
  for (const { unless, brings } of STAND_INS) {
    if (!unless.some(isSet)) Object.assign(environment, brings);
  }
  checkFiles(readConfig(environment).files);
}
