import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Person } from '../support/matrix.ts';
import { NomosWorld } from '../support/nomos-world.ts';
import type { AskedRequest } from '../support/scripted-model.ts';
import { encryptedChat, openFile, type EncryptedFile } from '../support/secret-chat.ts';

let world: NomosWorld;
let ann: Person;
let chat: string;

beforeAll(async () => {
  world = await NomosWorld.open();
  ann = await world.person('ann', 'admin', { encrypts: true });
  await world.start({ MATRIX_PASSWORD: world.bot.password });
  chat = await encryptedChat(world, ann);
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});
afterEach(() => world.model.verify());

/** The conversation of one task: requests that have these words of the operator in them. */
const about =
  (words: string) =>
  (request: AskedRequest): boolean =>
    request.messages.some(({ content }) => content?.includes(words));
const run = (command: string, purpose: string) => ({
  name: 'run',
  arguments: { target: 'host:web-1', command, purpose },
});

/** How often a command that writes into this file on the host has run. */
const runs = (name: string): number => {
  const file = path.join(world.sshd.home, name);
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').length - 1 : 0;
};
const file = (name: string): string => path.join(world.sshd.home, name);

/** What the homeserver has of the messages of a room, by their types. */
async function typesOf(roomId: string): Promise<string[]> {
  const answer = await ann.request('GET', `/rooms/${roomId}/messages?dir=b&limit=500`);
  const messages = (answer['chunk'] as Array<{ type: string; state_key?: string }>).filter(
    ({ type, state_key }) => state_key === undefined && type !== 'm.reaction',
  );
  return [...new Set(messages.map(({ type }) => type))];
}

test('T1, T2, T3, C3, C11, A2, A3, A4: a task of an encrypted chat lives in an encrypted room: cards, edits, files, taps, words and the typed confirmation', async () => {
  const lines = 'for i in $(seq 1 200); do echo line $i; done';
  world.model.lane(
    about('tidy up'),
    { toolCalls: [run(`echo run >> ${file('tapped')}; ${lines}`, 'The tapped one')] },
    { text: 'I asked for a tap.' },
    { toolCalls: [run(`rm -rf ${file('gone')} && echo run >> ${file('typed')}`, 'Destroy it')] },
    { text: 'I asked for a confirmation.' },
    { text: 'All is tidy now.' },
  );
  const { roomId } = await world.ask(ann, 'tidy up', chat);
  const tapped = await world.waiting(ann, roomId);
  expect(tapped.body).toContain('The tapped one');
  await ann.react(roomId, tapped.eventId, '✅');

  const typed = await world.card(
    ann,
    roomId,
    ({ kind, body }) => kind === 'execution' && body.includes('Destroy it'),
    'the destructive one waits',
  );
  expect(runs('tapped')).toBe(1);
  const done = await world.card(
    ann,
    roomId,
    ({ card, body }) => card === tapped.card && body.includes('Done'),
    'the edit of the first card can be read',
  );
  expect(done).toMatchObject({ eventId: tapped.eventId, thread: typed.thread });
  await ann.react(roomId, typed.eventId, '✅');
  await world.card(ann, roomId, ({ body }) => body.includes('not enough'), 'what to type');
  expect(runs('typed')).toBe(0);
  await ann.say(roomId, 'I confirm', typed.thread);
  await world.card(ann, roomId, ({ body }) => body === 'All is tidy now.', 'the answer');
  expect(runs('typed')).toBe(1);

  const attached = await ann.event(roomId, (event) => event.content['file'] !== undefined);
  const text = await openFile(world.homeserver.url, attached.content['file'] as EncryptedFile);
  expect(text.split('\n').slice(0, 2)).toEqual(['line 1', 'line 2']);
  expect(text).toContain('line 200');
  // Nothing that says anything lies there in clear.
  expect(await typesOf(roomId)).toEqual(['m.room.encrypted']);
  expect(await typesOf(chat)).toEqual(['m.room.encrypted']);
});
