import { afterAll, beforeAll, expect, it } from 'vitest';
import { Dispatcher } from '../../bot/inbox/dispatch.ts';
import { retryUnread } from '../../bot/inbox/open.ts';
import type { RoomCrypto } from '../../bot/crypto/crypto.ts';
import type { Sealed } from '../../bot/inbox/types.ts';
import type { NomosClient } from '../../bot/matrix/client.ts';
import { ANN, BOB, type BotWorld } from '../support/bot-world.ts';
import type { ReadMedia } from '../../bot/media/types.ts';
import { cardKey } from '../../bot/projector/keys.ts';
import { followUpgrades } from '../../bot/rooms/upgraded-rooms.ts';
import { claimExecution } from '../../core/executions/claim.ts';
import { requestExecution } from '../../core/executions/request.ts';
import { asId, type ExecutionId, type MatrixEventId, type RoomId } from '../../core/ids.ts';
import { closeGrants } from '../../core/policy/grants.ts';
import { askQuestion } from '../../core/tasks/questions.ts';
import { inRooms, openRooms, type RoomTask } from '../support/task-room.ts';

let world: BotWorld;
const { task, restart, messagesOf, startPass } = inRooms(() => world);

beforeAll(async () => {
  world = await openRooms();
});
afterAll(async () => world.close());

const question = async (one: RoomTask, prompt = 'Which disk?'): Promise<string> => {
  const id = await world.write((unit) =>
    askQuestion(unit, {
      sessionId: one.sessionId,
      turnId: one.turnId,
      passId: one.passId,
      prompt,
      options: ['sda', 'sdb'],
      entities: [],
    }),
  );
  await world.settle();
  return id;
};

const LATE: Sealed = { crossSigned: true, identityChanged: false, relation: true, late: true };

it('K5: a message that could be read only long after it was written answers no question of today', async () => {
  const one = await task();
  const id = await question(one);
  await world.say(one.roomId, 'leave the database alone', { thread: one.root, sealed: LATE });
  expect(await world.database.read.question.findUnique({ where: { id } })).toMatchObject({
    status: 'open',
  });
  expect((await messagesOf(one.turnId)).at(-1)).toBe('leave the database alone');
});

/** Says things as a sync brings them, behind a recording whose reading takes until `meanwhile` is over. */
async function saidBehindARecording(
  one: RoomTask,
  body: string,
  meanwhile: (eventId: string) => Promise<void>,
  handler = world.handler!,
): Promise<void> {
  const reading = Promise.withResolvers<ReadMedia>();
  const begun = Promise.withResolvers<void>();
  const stop = new AbortController();
  const dispatcher = new Dispatcher({
    database: world.database,
    handler,
    isOperator: (userId) => userId === ANN,
    async readMedia() {
      begun.resolve();
      return reading.promise;
    },
    signal: stop.signal,
  });
  const thread = {
    'm.relates_to': {
      rel_type: 'm.thread',
      event_id: one.root,
      is_falling_back: true,
      'm.in_reply_to': { event_id: one.root },
    },
  };
  const ids: string[] = [];
  for (const content of [
    { msgtype: 'm.audio', body: 'voice.ogg', url: 'mxc://test/one', ...thread },
    { msgtype: 'm.text', body, ...thread },
  ]) {
    const eventId = `$${crypto.randomUUID()}`;
    ids.push(eventId);
    const base = { sender: ANN as string, type: 'm.room.message' };
    await world.database.read.matrixInbox.create({
      data: {
        eventId,
        roomId: one.roomId,
        ...base,
        event: { event_id: eventId, ...base, content },
      },
    });
  }
  const running = dispatcher.run();
  await begun.promise;
  await meanwhile(ids.at(-1) ?? '');
  reading.resolve({
    kind: 'spoken',
    words: 'look at the temperature too',
    attachment: { kind: 'voice', name: 'voice.ogg', mimetype: 'audio/ogg', sizeBytes: 1 },
  });
  while (
    (await world.database.read.matrixInbox.count({
      where: { eventId: { in: ids }, state: 'pending' },
    })) > 0
  ) {
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
  stop.abort(new Error('over'));
  await running;
  await world.settle();
}

it('A4, A16: a “yes” that had to wait for what was said before it approves nothing that was asked for only since', async () => {
  const one = await task();
  const seen = await restart(one);
  let later: Awaited<ReturnType<typeof restart>> | undefined;
  await saidBehindARecording(one, 'yes', async () => {
    later = await restart(one, 'db-1');
  });
  expect((await seen.approval()).status).toBe('approved');
  expect((await later?.approval())?.status).toBe('pending');
});

it('A4, A16: nor what alone waits by then', async () => {
  const one = await task();
  let later: Awaited<ReturnType<typeof restart>> | undefined;
  await saidBehindARecording(one, 'yes', async () => {
    later = await restart(one, 'db-1');
  });
  expect((await later?.approval())?.status).toBe('pending');
  expect(await messagesOf(one.turnId)).toEqual([
    'check the disks',
    'look at the temperature too',
    'yes',
  ]);
});

it('K5: a message that had to wait for what was said before it answers no question that was asked only since', async () => {
  const one = await task();
  let id = '';
  await saidBehindARecording(one, 'and write it down', async () => {
    id = await question(one);
  });
  expect(await world.database.read.question.findUnique({ where: { id } })).toMatchObject({
    status: 'open',
  });
  expect(await messagesOf(one.turnId)).toEqual([
    'check the disks',
    'look at the temperature too',
    'and write it down',
  ]);
});

it('A2, C14: a tap on a card of what is asked for anew does not decide that before the card says so', async () => {
  const one = await task();
  const opener = await restart(one);
  await world.tap(one.roomId, opener.card.eventId, '✅');
  const { executionId } = await world.write((unit) =>
    requestExecution(unit, {
      sessionId: one.sessionId,
      turnId: one.turnId,
      passId: one.passId,
      toolCallId: null,
      target: 'web-1',
      command: 'touch /srv/marker',
      purpose: 'Mark it',
    }),
  );
  await world.settle();
  const card = world.card(`execution:${executionId}`);
  expect(card.body).not.toContain('Approve?');
  await world.write((unit) =>
    closeGrants(unit, { sessionId: one.sessionId, reason: 'the test', by: ANN }),
  );
  const claimed = await claimExecution(world.database, asId<ExecutionId>(executionId), 'worker');
  expect(claimed.kind).toBe('asked_again');
  // The card says still that it will run by itself.
  await world.tap(one.roomId, card.eventId, '👍', BOB);
  const approval = await world.database.read.approval.findFirstOrThrow({
    where: { executions: { some: { id: executionId } } },
  });
  expect(approval.status).toBe('pending');
  await world.tap(one.roomId, world.card(`execution:${executionId}`).eventId, '👍', BOB);
  expect(
    await world.database.read.approval.findUnique({ where: { id: approval.id } }),
  ).toMatchObject({ status: 'approved', decidedBy: BOB });
});

it('A2, C5, T3: in an upgraded room what waits is asked anew, with what is to be tapped', async () => {
  const one = await task();
  const held = await restart(one);
  const id = await question(one);
  const fresh = asId<RoomId>('!fresh:example.org');
  await world.database.read.matrixRoom.create({
    data: { roomId: fresh, kind: 'other', membership: 'join', state: { v: 1 } },
  });
  await world.database.read.matrixRoom.update({
    where: { roomId: one.roomId },
    data: { replacedBy: fresh },
  });
  const before = await world.database.read.matrixOutbox.findFirst({ orderBy: { id: 'desc' } });
  const client = { doRequest: async () => ({ joined: { [ANN]: {} } }) } as unknown as NomosClient;
  await followUpgrades({
    database: world.database,
    client,
    botUserId: asId('@nomos:example.org'),
    isOperator: () => true,
    signal: new AbortController().signal,
  });
  await world.settle();
  const since = { id: { gt: before?.id ?? 0n }, state: 'sent' } as const;
  const asked = async (key: string): Promise<string[]> => {
    const rows = await world.database.read.matrixOutbox.findMany({
      where: { ...since, cardKey: key, kind: { in: ['send', 'react'] } },
      orderBy: { id: 'asc' },
    });
    return rows.map(({ kind, content }) =>
      kind === 'send' ? 'card' : String((content as Record<string, unknown>)['key']),
    );
  };
  expect(await asked(`execution:${held.id}`)).toEqual(['card', '✅', '❌']);
  expect(await asked(cardKey.question(id))).toEqual(['card', '1️⃣', '2️⃣']);
});

it('T13: a message whose key comes late is not worked on with words that were edited meanwhile', async () => {
  const one = await task();
  const eventId = asId<MatrixEventId>('$unread');
  const event = {
    event_id: eventId,
    sender: ANN,
    type: 'm.room.encrypted',
    content: { algorithm: 'm.megolm.v1.aes-sha2' },
  };
  await world.database.read.matrixInbox.create({
    data: { eventId, roomId: one.roomId, sender: ANN, type: event.type, event, state: 'unread' },
  });
  await world.say(one.roomId, ' * delete /srv/b', {
    content: {
      'm.new_content': { msgtype: 'm.text', body: 'delete /srv/b' },
      'm.relates_to': { rel_type: 'm.replace', event_id: eventId },
    },
  });
  expect(world.lastAnswer().body).toContain('write it as a new message');
  const crypto = {
    unseal: async () => ({
      kind: 'clear',
      event: {
        v: 1,
        type: 'm.room.message',
        content: { msgtype: 'm.text', body: 'delete /srv/a' },
        crossSigned: true,
        identityChanged: false,
        relation: true,
        cipher: 'c',
      },
    }),
  } as unknown as RoomCrypto;
  expect(await retryUnread(world.database, crypto, [one.roomId])).toBe(false);
});

it('T15: a reply to a picture of the bot’s in a thread belongs to its turn', async () => {
  const one = await task();
  await world.say(one.roomId, '!graph web-1', { thread: one.root });
  const picture = world.shown.findLast(({ picture: shown }) => shown !== null);
  expect(picture?.thread).toBe(one.root);
  await world.say(one.roomId, 'restart what depends on it', { replyTo: picture?.eventId ?? '' });
  expect((await messagesOf(one.turnId)).at(-1)).toBe('restart what depends on it');
});

it('A16: a question’s card that an operator removed is asked again', async () => {
  const one = await task();
  const id = await question(one);
  await world.redact(one.roomId, world.card(cardKey.question(id)).eventId);
  expect(world.card(cardKey.question(id)).reactions).toEqual(['1️⃣', '2️⃣']);
});

it('A7, T13: a “yes” that was taken back while it had to wait for what was said before it approves nothing', async () => {
  const one = await task();
  const held = await restart(one);
  await saidBehindARecording(
    one,
    'yes',
    async (redacts) => {
      const event = {
        event_id: '$taken-back',
        sender: ANN,
        type: 'm.room.redaction',
        redacts,
        content: {},
      };
      await world.database.read.matrixInbox.create({
        data: { eventId: event.event_id, roomId: one.roomId, sender: ANN, type: event.type, event },
      });
    },
    async (unit, event) => {
      await world.handler?.(unit, event);
      // The worker is quick.
      if (event.content['body'] === 'yes')
        unit.afterCommit(() => void claimExecution(world.database, held.id, 'worker'));
    },
  );
  expect((await held.execution()).status).not.toBe('running');
  expect((await held.approval()).decidedAt).toBeNull();
});

it('T13: what was edited too late is not read any more once the message was taken back', async () => {
  const one = await task();
  const said = await world.say(one.roomId, 'look at nginx', { thread: one.root });
  await startPass(one.sessionId, one.turnId);
  await world.say(one.roomId, ' * restart nginx', {
    content: {
      'm.new_content': { msgtype: 'm.text', body: 'restart nginx' },
      'm.relates_to': { rel_type: 'm.replace', event_id: said },
    },
  });
  expect((await messagesOf(one.turnId)).at(-1)).toBe('(edited) restart nginx');
  await world.redact(one.roomId, said);
  const unread = await world.database.read.message.findMany({
    where: { turnId: one.turnId, takenInAt: null, redactedAt: null, role: 'operator' },
  });
  expect(unread.map(({ text }) => text)).toEqual([]);
});
