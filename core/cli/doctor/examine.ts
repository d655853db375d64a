import { readConfig, type Config } from '../../config/config.ts';
import type { OptionName } from '../../config/options.ts';
import { ConfigurationError } from '../../errors.ts';
import { checkDatabase } from './database.ts';
import { checkEncryption } from './encryption.ts';
import { checkFiles, type FileCheck } from './files.ts';
import { failed, ok, skipped, type Finding } from './finding.ts';
import { checkHomeserver } from './homeserver.ts';
import { checkModel } from './model.ts';
import { checkRedis } from './redis.ts';
import { checkHosts, checkSsh } from './ssh.ts';

const OPENAI = 'https://api.openai.com/v1';

/**
 * Looks at the configuration piece by piece, as a start would use it, and changes nothing. A piece whose options are wrong is
 * not looked at further; all others are.
 */
export async function examine(environment: NodeJS.ProcessEnv): Promise<Finding[]> {
  const { config, faults } = read(environment);
  const wrong = (...names: OptionName[]): boolean =>
    faults.some((fault) => names.some((name) => fault.startsWith(`${name} `)));
  const unless = async (
    name: string,
    options: OptionName[],
    look: () => Promise<Finding[]>,
  ): Promise<Finding[]> =>
    wrong(...options)
      ? [skipped(name, `${options.join(' or ')} must be set right first`)]
      : await look();

  const files = wrong(
    'NOMOS_INVENTORY',
    'NOMOS_ONTOLOGY',
    'NOMOS_POLICY',
    'NOMOS_RUNBOOKS',
    'NOMOS_CHECKS',
    'NOMOS_SOUL',
  )
    ? undefined
    : checkFiles(config.files);
  const groups = await Promise.all([
    unless('database', ['DATABASE_URL'], () => checkDatabase(config.databaseUrl)),
    unless('redis', ['REDIS_URL'], () => checkRedis(config.redisUrl)),
    unless('homeserver', ['MATRIX_HOMESERVER_URL', 'MATRIX_ACCESS_TOKEN'], () =>
      checkHomeserver(
        config.matrix.homeserverUrl,
        config.matrix.login,
        config.operators.all.map((operator) => operator.userId),
      ),
    ),
    unless('encryption', ['MATRIX_HOMESERVER_URL', 'MATRIX_ACCESS_TOKEN', 'NOMOS_ENCRYPTION'], () =>
      checkEncryption(config.matrix.homeserverUrl, config.matrix.login, config.encryption),
    ),
    unless('model', ['OPENAI_BASE_URL', 'OPENAI_API_KEY'], () =>
      checkModel(config.model.baseUrl ?? OPENAI, config.model.apiKey, config.model.models),
    ),
    unless('ssh key', ['NOMOS_SSH_KEY_FILE', 'NOMOS_KNOWN_HOSTS'], () => checkSsh(config.ssh)),
    hosts(files?.fleet),
  ]);
  const settings =
    faults.length === 0
      ? [ok('settings', `${config.operators.all.length} operators, times in ${config.timeZone}`)]
      : faults.map((fault) =>
          failed('settings', fault, 'docs/configuration.md lists every option.'),
        );
  const fromFiles = files?.findings ?? [
    skipped('files', 'the options that name them must be set right first'),
  ];
  return [...settings, ...fromFiles, ...groups.flat()];
}

async function hosts(fleet: FileCheck['fleet']): Promise<Finding[]> {
  return fleet === undefined
    ? [skipped('hosts', 'the inventory must be right first')]
    : checkHosts(fleet);
}

/**
 * The configuration and every fault in it. `readConfig` collects the faults and throws at its end: with the faulty options taken
 * away it can still be had for the others.
 */
function read(environment: NodeJS.ProcessEnv): { config: Config; faults: string[] } {
  try {
    return { config: readConfig(environment), faults: [] };
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    const faults = Array.isArray(error.fields['problems'])
      ? error.fields['problems'].map(String)
      : [error.message];
    return { config: readConfig(repaired(environment, faults)), faults };
  }
}

/** Stand-ins for faulty options, only so that the others can be read; what they stand for is not looked at. */
const STAND_INS: Readonly<Partial<Record<OptionName, string>>> = {
  DATABASE_URL: 'postgres://stand-in/none',
  REDIS_URL: 'redis://stand-in',
  MATRIX_HOMESERVER_URL: 'http://stand-in.invalid',
  MATRIX_ACCESS_TOKEN: 'stand-in',
  NOMOS_OPERATORS: '@stand-in:stand-in.invalid=admin',
  OPENAI_BASE_URL: 'http://stand-in.invalid',
  OPENAI_API_KEY: 'stand-in',
  NOMOS_INVENTORY: import.meta.filename,
  NOMOS_SSH_KEY_FILE: import.meta.filename,
};

function repaired(environment: NodeJS.ProcessEnv, faults: readonly string[]): NodeJS.ProcessEnv {
  const result = { ...environment };
  for (const fault of faults) {
    const name = fault.split(' ')[0] ?? '';
    delete result[name];
    delete result[`${name}_FILE`];
    const standIn = Object.entries(STAND_INS).find(([option]) => option === name)?.[1];
    if (standIn !== undefined) result[name] = standIn;
  }
  return result;
}
