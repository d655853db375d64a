import './quiet.ts';
import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { readConfig } from '../core/config/config.ts';
import { NomosError } from '../core/errors.ts';
import { startProgram } from '../core/program.ts';
import { startDefaults } from './defaults.ts';
import { lobbyRoom } from './lobby.ts';
import { DemoOperator } from './operator.ts';
import { deletion, restart } from './scenes.ts';
import { removeDatabaseHome } from './services/postgres-home.ts';
import { Transcript } from './transcript.ts';

/** The demonstration's machines work this much faster than life. */
const PACE = 0.2;

const say = (text: string): void => void process.stderr.write(`${text}\n`);
/**
 * `npm run demo`: plays the operator's side once, over the embedded services, the demo model and the demo fleet: asks,
 * taps ✅, types "I confirm", and prints the conversation. Exits with 1 when a step does not happen.
 */
async function play(): Promise<void> {
  const packages = process.env['NOMOS_HOME'] || '.nomos';
  const home = resolve(packages, 'demo');
  removeDatabaseHome(resolve(home, 'services'));
  rmSync(home, { recursive: true, force: true });
  const stack = new AsyncDisposableStack();
  try {
    // Everything is simulated here, whatever the environment names for the real thing.
    const { PATH, HOME, CI } = process.env;
    const defaults = await startDefaults(
      { PATH, HOME, CI },
      { home, packages, pace: PACE, onProgress: say },
    );
    stack.defer(() => defaults.stop());
    const config = readConfig({ ...defaults.environment, NOMOS_API_LISTEN: '127.0.0.1:0' });
    const program = await startProgram(config, new Set(['bot', 'jobs', 'api']));
    stack.defer(() => program.stop());
    const lobby = await lobbyRoom(config.databaseUrl, program.failed);
    const { homeserver } = defaults;
    if (homeserver === undefined)
      throw new Error('The demonstration needs the embedded homeserver.');
    const transcript = new Transcript(
      homeserver.bot.userId,
      (text) => void process.stdout.write(text),
    );
    const operator = new DemoOperator(
      { url: homeserver.url, accessToken: homeserver.operator.accessToken },
      (event) => transcript.add(event),
    );
    operator.start();
    stack.defer(() => operator.stop());
    await operator.waitFor('the lobby', (event) => event.roomId === lobby);
    await restart(operator, lobby);
    await deletion(operator, lobby);
    say(
      '\nThat was the whole path: asked, approved with a tap, run over SSH, verified, confirmed with words, told in a digest.',
    );
  } finally {
    await stack.disposeAsync();
  }
}

try {
  await play();
} catch (error) {
  say(`\nThe demonstration stopped: ${error instanceof Error ? error.message : String(error)}`);
  if (error instanceof NomosError && error.hint !== undefined) say(error.hint);
  process.exitCode = 1;
}
