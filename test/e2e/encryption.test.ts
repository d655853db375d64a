import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { MatrixAccount } from '../../demo/services/matrix-accounts.ts';
import type { Person, RawEvent } from '../support/matrix.ts';
import { NomosWorld } from '../support/nomos-world.ts';
import type { AskedRequest } from '../support/scripted-model.ts';
import { encryptedChat, openFile, type EncryptedFile } from '../support/secret-chat.ts';

let world: NomosWorld;
let ann: Person;
let account: MatrixAccount;
let chat: string;
const dir = mkdtempSync(path.join(tmpdir(), 'nomos-policy-'));
const policy = path.join(dir, 'policy.yaml');

beforeAll(async () => {
  writeFileSync(policy, 'version: 1\n');
  world = await NomosWorld.open();
  account = await world.homeserver.newUser('ann');
  ann = await world.personOf('ann', account, 'admin', { encrypts: true });
  await world.start({ MATRIX_PASSWORD: world.bot.password, NOMOS_POLICY: policy });
  chat = await encryptedChat(ann, world.bot.userId);
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
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

/** The messages of a room, newest first, as the homeserver has them. */
async function messagesOf(roomId: string): Promise<RawEvent[]> {
  const answer = await ann.request('GET', `/rooms/${roomId}/messages?dir=b&limit=500`);
  return (answer['chunk'] as RawEvent[]).filter(
    ({ type, state_key }) => state_key === undefined && type !== 'm.reaction',
  );
}

async function typesOf(roomId: string): Promise<string[]> {
  return [...new Set((await messagesOf(roomId)).map(({ type }) => type))];
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

test('A20: with strict decisions only what was encrypted on a verified device of the operator decides', async () => {
  writeFileSync(policy, 'version: 1\ndecisions: strict\n');
  await world.until('the policy is read', async () =>
    world.log.includes('policy reloaded') ? true : undefined,
  );
  world.model.lane(
    about('be strict'),
    { toolCalls: [run(`echo run >> ${file('strict')}`, 'The strict one')] },
    { text: 'I asked.' },
    { text: 'Done strictly.' },
  );
  const { roomId, sessionId } = await world.ask(ann, 'be strict', chat);
  const card = await world.waiting(ann, roomId);
  const answered = (words: string) =>
    world.card(ann, roomId, ({ body }) => body.includes(words), words);
  const reply = { 'm.in_reply_to': { event_id: card.eventId } };
  const toCard = {
    msgtype: 'm.text',
    body: 'yes',
    'm.relates_to': {
      rel_type: 'm.thread',
      event_id: card.thread,
      is_falling_back: false,
      ...reply,
    },
  };

  await ann.react(roomId, card.eventId, '✅');
  expect((await answered('A tap decides nothing here')).body).toContain('yes');
  await ann.say(roomId, 'yes', card.thread);
  await answered('has not verified the device');
  await ann.sendInClear(roomId, 'm.room.message', toCard);
  await answered('was not encrypted');
  const approval = await world.database.read.approval.findFirstOrThrow({ where: { sessionId } });
  await ann.say(await world.lobby(ann), `!approve ${approval.shortId}`);

  await ann.signDevice(account.password);
  // The homeserver makes a message an answer to what it does not answer.
  const release = ann.withhold(/send\/m\.room\.encrypted/);
  await ann.say(roomId, 'yes');
  await release((body) => ({ ...body, 'm.relates_to': reply }));
  await answered('is not encrypted by your client');
  // It hands out an old message as a new one.
  const said = (await messagesOf(roomId)).find(
    ({ sender, type }) => sender === ann.userId && type === 'm.room.encrypted',
  );
  const copy = await ann.sendInClear(roomId, 'm.room.encrypted', said?.content ?? {});
  await world.until('the copy is refused', async () => {
    const entry = await world.database.read.auditEntry.findFirst({ where: { subject: copy } });
    return entry?.action === 'message.copied' ? true : undefined;
  });
  // Somebody replaces the keys by which the account signs its devices.
  await ann.signDevice(account.password, true);
  await ann.send(roomId, 'm.room.message', toCard);
  await answered('signing keys were replaced');
  expect(runs('strict')).toBe(0);
  expect((await world.nomos(['trust', ann.userId])).stdout).toMatch(
    /^The signing key .* is trusted/,
  );
  await ann.send(roomId, 'm.room.message', toCard);
  await world.card(ann, roomId, ({ body }) => body === 'Done strictly.', 'the answer');
  expect(runs('strict')).toBe(1);
  const decided = await world.database.read.approval.findUniqueOrThrow({
    where: { id: approval.id },
  });
  expect(decided).toMatchObject({ status: 'approved', decidedMeans: 'word' });
});
