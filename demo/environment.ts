import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OPTIONS } from '../core/config/options.ts';

/**
 * Leaves the settings of the running program in its home, for its owner alone, so that `npm run nomos -- token create` and the
 * like find the embedded database. Gives what takes them away again at the end.
 */
export function leaveEnvironment(home: string, environment: NodeJS.ProcessEnv): () => void {
  const file = join(home, 'environment.json');
  const names: readonly string[] = OPTIONS.map((option) => option.name);
  const settings = Object.fromEntries(
    Object.entries(environment).filter(([name]) => names.includes(name)),
  );
  rmSync(file, { force: true });
  writeFileSync(file, `${JSON.stringify(settings)}\n`, { mode: 0o600 });
  return () => rmSync(file, { force: true });
}
