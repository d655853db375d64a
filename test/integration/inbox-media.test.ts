import { afterEach, beforeEach, expect, test } from 'vitest';
import { Dispatcher } from '../../bot/inbox/dispatch.ts';
import type { InboxEvent } from '../../bot/inbox/types.ts';
import type { ReadMedia } from '../../bot/media/types.ts';
import { Database } from '../../core/db/database.ts';
import { freshDatabase } from '../support/services.ts';

const ANN = '@ann:test';

let database: Database;
let stop: AbortController;
let running: Promise<void>;
let dispatcher: Dispatcher;
/** What the handler got, in order. */
let handled: InboxEvent[];
let told: () => void;
/** The recordings that are being read, by the address of their file, with what ends the reading. */
let reading: Map<string, (media: ReadMedia) => void>;
let read: string[];

beforeEach(async () => {
  database = await Database.connect(await freshDatabase(), { connections: 4 });
  stop = new AbortController();
  handled = [];
  reading = new Map();
  read = [];
  told = () => {};
  dispatcher = new Dispatcher({
    database,
    async handler(_unit, event) {
      handled.push(event);
      told();
    },
    isOperator: (userId) => userId === ANN,
    async readMedia(content, signal) {
      const url = String(content['url']);
      read.push(url);
      const media = Promise.withResolvers<ReadMedia>();
      reading.set(url, media.resolve);
      signal.addEventListener('abort', () => media.reject(signal.reason), { once: true });
      told();
      return media.promise;
    },
    signal: stop.signal,
  });
  running = dispatcher.run();
});
afterEach(async () => {
  stop.abort(new Error('the test is over'));
  await running;
  await database.close();
});

async function room(roomId: string, kind = 'task'): Promise<void> {
  await database.read.matrixRoom.create({
    data: { roomId, kind, membership: 'join', state: { v: 1 } },
  });
}

async function store(roomId: string, content: Record<string, string>, sender = ANN): Promise<void> {
  const eventId = `$${crypto.randomUUID()}`;
  const type = 'm.room.message';
  await database.read.matrixInbox.create({
    data: { eventId, roomId, sender, type, event: { event_id: eventId, sender, type, content } },
  });
  dispatcher.wake();
}

const voice = (id: string) => ({ msgtype: 'm.audio', body: 'voice.ogg', url: `mxc://test/${id}` });
const text = (body: string) => ({ msgtype: 'm.text', body });
const words = (of: string): ReadMedia => ({
  kind: 'spoken',
  words: of,
  attachment: { kind: 'voice', name: 'voice.ogg', mimetype: 'audio/ogg', sizeBytes: 1 },
});

/** Waits until it is so; it is looked at again whenever something was read or handled. */
async function until(check: () => boolean): Promise<void> {
  while (!check()) {
    await new Promise<void>((resolve) => {
      told = resolve;
    });
  }
}

const bodies = (): unknown[] => handled.map(({ content }) => content['body']);

test('C16, R4: what was said after a recording waits for it; its words come with the event', async () => {
  await room('!a:test');
  await store('!a:test', voice('one'));
  await store('!a:test', text('and then this'));
  await until(() => reading.has('mxc://test/one'));
  expect(handled).toEqual([]);
  reading.get('mxc://test/one')?.(words('first this'));
  await until(() => handled.length === 2);
  expect(bodies()).toEqual(['voice.ogg', 'and then this']);
  expect(handled[0]?.media).toEqual(words('first this'));
  expect(handled[1]?.media).toBeUndefined();
});

test('C16, T4, R11: however many recordings hang, other rooms go on', async () => {
  const rooms = Array.from({ length: 8 }, (_value, index) => `!room${index}:test`);
  for (const [index, roomId] of rooms.entries()) {
    await room(roomId);
    await store(roomId, voice(`of-${index}`));
  }
  await until(() => reading.size === rooms.length);
  await room('!other:test');
  await store('!other:test', text('how are the disks?'));
  await until(() => handled.length === 1);
  expect(bodies()).toEqual(['how are the disks?']);
});

test('Z1, C16: what strangers send, and what is sent in other rooms, is not read', async () => {
  await room('!task:test');
  await room('!other:test', 'other');
  await store('!task:test', voice('stranger'), '@eve:test');
  await store('!other:test', voice('elsewhere'));
  await store('!task:test', text('last'));
  await until(() => handled.length === 2);
  expect(read).toEqual([]);
  expect(handled.every(({ media }) => media === undefined)).toBe(true);
});

test('R4, C16: a recording that was being read when the bot stopped is still to be worked on', async () => {
  await room('!a:test');
  await store('!a:test', voice('one'));
  await until(() => reading.has('mxc://test/one'));
  stop.abort(new Error('the bot stops'));
  await running;
  expect(handled).toEqual([]);
  expect(await database.read.matrixInbox.findFirstOrThrow()).toMatchObject({
    state: 'pending',
    attempts: 0,
  });
});
