import './quiet.ts';
import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { z } from 'zod';
import { readConfig } from '../core/config/config.ts';
import { NomosError } from '../core/errors.ts';
import { startProgram } from '../core/program.ts';
import { startDefaults } from './defaults.ts';
import { lobbyRoom } from './lobby.ts';
import { DemoOperator, type SeenEvent } from './operator.ts';
import { removeDatabaseHome } from './services/postgres-home.ts';
import { Transcript } from './transcript.ts';

/** The demonstration's machines work this much faster than life. */
const PACE = 0.2;
const STEP_MS = 90_000;

const say = (text: string): void => void process.stderr.write(`${text}\n`);
const cardShape = z.looseObject({
  'org.nomos': z.looseObject({ kind: z.string(), card: z.string() }),
});

/** What kind of card a bot's event is, and its key; undefined for anything else. */
function cardOf(event: SeenEvent): { kind: string; card: string } | undefined {
  const parsed = cardShape.safeParse(event.content);
  return parsed.success ? parsed.data['org.nomos'] : undefined;
}

function bodyOf(event: SeenEvent): string {
  const fresh = z
    .looseObject({ body: z.string() })
    .safeParse(event.content['m.new_content'] ?? event.content);
  return fresh.success ? fresh.data.body : '';
}

/**
 * `npm run demo`: plays the operator's side once, over the embedded services, the demo model and the demo fleet: asks,
 * taps ✅, types "I confirm", and prints the conversation. Exits with 1 when a step does not happen.
 */
async function play(): Promise<void> {
  const packages = process.env['NOMOS_HOME'] ?? '.nomos';
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
      homeserver.botUserId,
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

/** A change that a tap approves. */
async function restart(operator: DemoOperator, lobby: string): Promise<void> {
  const asked = await operator.say(
    lobby,
    'check the disks and restart nginx on web-1 if it is down',
  );
  const room = await taskRoom(operator, asked);
  const card = await waitingCard(operator, room, 'the card for the restart');
  await operator.tap(room, card.eventId, '✅');
  await operator.waitFor(
    'the digest',
    (event) => event.roomId === room && cardOf(event)?.kind === 'digest',
    STEP_MS,
  );
}

/** A deletion, for which a tap is not enough. */
async function deletion(operator: DemoOperator, lobby: string): Promise<void> {
  const asked = await operator.say(lobby, 'nas-1 is nearly full: delete the old backup of 2023');
  const room = await taskRoom(operator, asked);
  const card = await waitingCard(operator, room, 'the card for the deletion');
  await operator.tap(room, card.eventId, '✅');
  await operator.waitFor(
    'the hint what to type',
    (event) => event.roomId === room && cardOf(event)?.kind === 'hint',
    STEP_MS,
  );
  await operator.say(room, 'I confirm', card.eventId);
  await operator.waitFor(
    'the digest',
    (event) => event.roomId === room && cardOf(event)?.kind === 'digest',
    STEP_MS,
  );
}

/** The room of the task that a message in the lobby opened: its first card there names the message's own words. */
async function taskRoom(operator: DemoOperator, asked: string): Promise<string> {
  const link = await operator.waitFor(
    'the link to the task',
    (event) => cardOf(event)?.kind === 'lobby' && repliesTo(event) === asked,
    STEP_MS,
  );
  const room = /![^\s()<>[\]"'?\\]+/.exec(JSON.stringify(link.content))?.[0];
  if (room === undefined) throw new Error(`The link names no room: ${bodyOf(link)}`);
  return decodeURIComponent(room);
}

function repliesTo(event: SeenEvent): string | undefined {
  const parsed = z
    .looseObject({
      'm.relates_to': z.looseObject({ 'm.in_reply_to': z.looseObject({ event_id: z.string() }) }),
    })
    .safeParse(event.content);
  return parsed.success ? parsed.data['m.relates_to']['m.in_reply_to'].event_id : undefined;
}

async function waitingCard(operator: DemoOperator, room: string, what: string): Promise<SeenEvent> {
  return operator.waitFor(
    what,
    (event) =>
      event.roomId === room &&
      cardOf(event)?.kind === 'execution' &&
      event.content['m.new_content'] === undefined &&
      /approv|confirm/i.test(bodyOf(event)),
    STEP_MS,
  );
}

try {
  await play();
} catch (error) {
  say(`\nThe demonstration stopped: ${error instanceof Error ? error.message : String(error)}`);
  if (error instanceof NomosError && error.hint !== undefined) say(error.hint);
  process.exitCode = 1;
}
