import { afterEach, beforeEach, expect, test } from 'vitest';
import type { InboxHandler } from '../../bot/inbox/types.ts';
import { openTask } from '../../core/tasks/open.ts';
import { armFault, disarmFaults } from '../../core/faults.ts';
import { createTaskRoom, putCard, sendMessage } from '../../bot/outbox/enqueue.ts';
import { CryptoStore, StoreTakenError } from '../../bot/crypto/store.ts';
import { type UserId, asId } from '../../core/ids.ts';
import type { RawEvent } from '../support/matrix.ts';
import { encryptedChat, messageIndex, uploadSealed } from '../support/secret-chat.ts';
import { openStage, runUntilKilled, type Stage } from '../support/test-bot.ts';

let stage: Stage;
beforeEach(async () => {
  stage = await openStage({ encrypts: true });
});
afterEach(async () => stage.close());

const echo: InboxHandler = async (unit, event) => {
  if (event.type !== 'm.room.message') return;
  await sendMessage(unit, {
    to: { room: event.room.roomId },
    message: { msgtype: 'm.text', body: `echo: ${String(event.content['body'])}`, mentions: [] },
  });
};
const start = (onEvent: InboxHandler = echo) => stage.start({ onEvent, encryption: 'auto' });

/** What the bot has sent to a room, as the homeserver has it. */
async function sealedBy(roomId: string): Promise<RawEvent[]> {
  const answer = await stage.operator.request('GET', `/rooms/${roomId}/messages?dir=f&limit=500`);
  return (answer['chunk'] as RawEvent[]).filter(
    ({ sender, type }) => sender === stage.bot.userId && type.startsWith('m.room.'),
  );
}

test('R4, R5: killed again and again while it reads and writes in an encrypted room, the bot answers each message once, and each answer can be read', async () => {
  const first = start();
  await first.ready;
  const chat = await encryptedChat(stage.operator, stage.bot.userId);
  await stage.operator.say(chat, 'one');
  await stage.operator.message(chat, 'echo: one');
  await first.stop();

  const points = ['inbox.before_store', 'outbox.sealed', 'outbox.after_put'];
  for (const point of points) {
    // Everyone needs a new key each time, so that all that hangs on it is cut too.
    await stage.operator.client.getCrypto()?.forceDiscardSession(chat);
    await stage.operator.say(chat, point);
    await runUntilKilled(stage, point);
  }
  // Taken back before the bot could see it: nothing is said of it.
  await stage.operator.redact(chat, await stage.operator.say(chat, 'not meant'));
  // So long ago that the homeserver may have forgotten the transaction: the message is found by what stands in clear.
  await stage.database.read.$executeRaw`
    UPDATE matrix_outbox SET first_tried_at = now() - interval '2 hours' WHERE state = 'pending'`;
  await start().ready;
  await stage.operator.say(chat, 'last');
  for (const point of [...points, 'last']) await stage.operator.message(chat, `echo: ${point}`);

  const bodies = await stage.operator.bodies(chat, stage.bot.userId);
  expect(bodies).toEqual(['one', ...points, 'last'].map((body) => `echo: ${body}`));
  const sealed = await sealedBy(chat);
  const indices = sealed
    .filter(({ type }) => type === 'm.room.encrypted')
    .map(({ content }) => messageIndex(content));
  expect(indices).toHaveLength(bodies.length);
  expect(new Set(indices).size).toBe(indices.length);
}, 120_000);

test('R4: a message whose key comes late keeps its place; one that waited too long is told, and worked on once if the key comes', async () => {
  await start().ready;
  const chat = await encryptedChat(stage.operator, stage.bot.userId);
  await stage.operator.say(chat, 'zero');
  await stage.operator.message(chat, 'echo: zero');
  const stored = async (eventId: string): Promise<void> =>
    stage.eventually('the message is stored', async () => {
      return (await stage.database.read.matrixInbox.count({ where: { eventId } })) === 1;
    });

  const crypto = stage.operator.client.getCrypto();
  await crypto?.forceDiscardSession(chat);
  const first = stage.operator.withhold(/sendToDevice/);
  await stage.operator.say(chat, 'one');
  await stored(await stage.operator.say(chat, 'two'));
  await first();
  await stage.operator.message(chat, 'echo: two');

  await crypto?.forceDiscardSession(chat);
  const second = stage.operator.withhold(/sendToDevice/);
  await stage.operator.say(chat, 'three');
  await stage.operator.event(chat, ({ content }) =>
    /has not reached me/.test(String(content['body'])),
  );
  // The room is not blocked by it.
  await crypto?.forceDiscardSession(chat);
  await second();
  await stage.operator.message(chat, 'echo: three');
  await stage.operator.say(chat, 'four');
  await stage.operator.message(chat, 'echo: four');
  const bodies = await stage.operator.bodies(chat, stage.bot.userId);
  expect(bodies.filter((body) => body.startsWith('echo'))).toEqual(
    ['zero', 'one', 'two', 'three', 'four'].map((body) => `echo: ${body}`),
  );
});

test('a client that keeps its keys from devices that are not verified is told what to do', async () => {
  await start().ready;
  const chat = await encryptedChat(stage.operator, stage.bot.userId);
  const crypto = stage.operator.client.getCrypto();
  if (crypto !== undefined) crypto.globalBlacklistUnverifiedDevices = true;
  await stage.operator.say(chat, 'can you read this?');
  await stage.operator.event(chat, ({ content }) =>
    /Allow unverified devices/.test(String(content['body'])),
  );
});

test('R9: when the database refuses the keys, they are loaded again from what it has, and nothing is lost', async () => {
  await start().ready;
  const chat = await encryptedChat(stage.operator, stage.bot.userId);
  await stage.operator.say(chat, 'before');
  await stage.operator.message(chat, 'echo: before');
  armFault('crypto.before_keep', () => {
    disarmFaults('crypto.before_keep');
    throw new Error('the database is away');
  });
  await stage.operator.client.getCrypto()?.forceDiscardSession(chat);
  await stage.operator.say(chat, 'in between');
  await stage.operator.message(chat, 'echo: in between');
  await stage.operator.say(chat, 'after');
  await stage.operator.message(chat, 'echo: after');
  const indices = (await sealedBy(chat))
    .filter(({ type }) => type === 'm.room.encrypted')
    .map(({ content }) => messageIndex(content));
  expect(new Set(indices).size).toBe(indices.length);
});

test('C15: a text of 200 kB arrives shortened in an encrypted room, also as an edit', async () => {
  const long = 'All of this is long. '.repeat(10_000);
  await start(async (unit, event) => {
    const card = { key: 'card:long', kind: 'test', refId: 'x' };
    const first = String(event.content['body']) === 'first';
    await putCard(unit, {
      to: { room: event.room.roomId },
      card,
      message: { msgtype: 'm.text', body: first ? 'short' : long, mentions: [] },
    });
  }).ready;
  const chat = await encryptedChat(stage.operator, stage.bot.userId);
  await stage.operator.say(chat, 'first');
  await stage.operator.message(chat, 'short');
  await stage.operator.say(chat, 'second');
  const edit = await stage.operator.event(chat, (event) => 'm.new_content' in event.content);
  const fresh = edit.content['m.new_content'] as { body: string };
  expect(fresh.body).toMatch(/^All of this is long\..*\[shortened:/s);
});

test('a device whose keys are lost here and known on the homeserver is told, and nothing is encrypted with others', async () => {
  const first = start();
  await first.ready;
  const chat = await encryptedChat(stage.operator, stage.bot.userId);
  await stage.operator.say(chat, 'one');
  await stage.operator.message(chat, 'echo: one');
  await first.stop();
  await stage.write(async ({ db }) => db.matrixCryptoRow.deleteMany({}));
  await stage.write(async ({ db }) => db.matrixCryptoDevice.deleteMany({}));
  await start().ready;
  await stage.operator.say(chat, 'two');
  await stage.operator.event(chat, ({ content }) => /cannot read/.test(String(content['body'])));
  const told = await stage.database.read.event.findFirst({ where: { type: 'error.raised' } });
  expect(told?.data).toMatchObject({ code: 'device_keys_lost' });
  const clear = (await sealedBy(chat)).filter(({ type }) => type === 'm.room.message');
  expect(clear).toHaveLength(1);
});

test('Z9: who loaded the keys of a device before another did cannot write them any more', async () => {
  const owner = { userId: asId<UserId>(stage.bot.userId), deviceId: 'DEVICE' };
  const [before, after] = [
    new CryptoStore(stage.database, owner),
    new CryptoStore(stage.database, owner),
  ];
  const row = { store: 'core', key: '"a"', value: '1' };
  await before.begin({ v: 1, version: 1, stores: { core: [] } });
  await before.keep([row]);
  expect((await after.load())?.rows).toEqual([row]);
  await expect(before.keep([{ ...row, value: '2' }])).rejects.toThrow(StoreTakenError);
  await after.keep([
    { store: 'core', key: '"b"', value: '3' },
    { ...row, value: null },
  ]);
  expect((await after.load())?.rows).toEqual([{ store: 'core', key: '"b"', value: '3' }]);
});

test('C16: a file in an encrypted chat is opened', async () => {
  const media: unknown[] = [];
  await start(async (_unit, event) => void media.push(event.media)).ready;
  const chat = await encryptedChat(stage.operator, stage.bot.userId);
  const file = await uploadSealed(stage.operator, 'listen 443;\n');
  await stage.operator.send(chat, 'm.room.message', {
    msgtype: 'm.file',
    body: 'nginx.conf',
    file,
  });
  await stage.eventually('the file is read', async () => media.length === 1);
  expect(media[0]).toMatchObject({ attachment: { name: 'nginx.conf', text: 'listen 443;\n' } });
});

test('T1, T2: with NOMOS_ENCRYPTION=always the lobby and the rooms of tasks are encrypted, and all works in them', async () => {
  const made = Promise.withResolvers<string>();
  await stage.start({
    encryption: 'always',
    onEvent: async (unit, event) => {
      const { sessionId } = await openTask(unit, {
        by: event.sender,
        text: 'x',
        origin: { kind: 'lobby', roomId: event.room.roomId, eventId: event.eventId },
      });
      await createTaskRoom(unit, { sessionId, name: 'A task' });
      await sendMessage(unit, {
        to: { session: sessionId },
        message: { msgtype: 'm.text', body: 'welcome', mentions: [] },
      });
      unit.afterCommit(() => made.resolve(sessionId));
    },
  }).ready;
  const lobby = await stage.operator.room('Nomos lobby');
  await stage.operator.say(lobby, 'hello');
  await made.promise;
  const task = await stage.operator.room('A task');
  await stage.operator.message(task, 'welcome');
  const sealed = await sealedBy(task);
  expect(sealed.map(({ type }) => type)).toContain('m.room.encrypted');
  expect(sealed.map(({ type }) => type)).not.toContain('m.room.message');
  const heard = await stage.database.read.matrixInbox.findFirst({
    where: { roomId: lobby, state: 'done' },
  });
  expect(heard?.type).toBe('m.room.encrypted');
});

test('without encrypted rooms the library is not loaded again at the next start', async () => {
  const first = start();
  await first.ready;
  await stage.eventually('the device has keys', async () => {
    const { device_keys: devices } = await stage.operator.request('POST', '/keys/query', {
      device_keys: { [stage.bot.userId]: [] },
    });
    return stage.bot.deviceId in (devices as Record<string, object>)[stage.bot.userId]!;
  });
  await first.stop();
  const { epoch } = await stage.database.read.matrixCryptoDevice.findFirstOrThrow({});
  await start().ready;
  const lobby = await stage.operator.room(/lobby/);
  await stage.operator.say(lobby, 'hello');
  await stage.operator.message(lobby, 'echo: hello');
  const after = await stage.database.read.matrixCryptoDevice.findFirstOrThrow({});
  expect(after.epoch).toBe(epoch);
});
