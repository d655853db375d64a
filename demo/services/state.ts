import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { SetupError, systemCode } from './errors.ts';

/**
 * Reads what `writeState` kept. `undefined`: nothing was kept yet. The file is ours alone, so its shape is taken as
 * written; one that is no JSON any more is an error, since what it held (passwords) cannot be made up.
 */
export function readState<State>(path: string): State | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return JSON.parse(text) as State;
  } catch (error) {
    throw new SetupError(
      'setup_state_unreadable',
      `${path} is damaged: put it back from a copy, or remove the folder it is in to start from nothing.`,
      { cause: error },
    );
  }
}

/** Keeps a JSON value in a file that only its owner can read; after a crash the file is the old or the new one. */
export function writeState(path: string, state: object): void {
  const draft = `${path}.new`;
  writeFileSync(draft, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600, flush: true });
  renameSync(draft, path);
}
