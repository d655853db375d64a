import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createTaskRoom, pinCards, putCard, sendMessage } from '../../bot/outbox/enqueue.ts';
import type { MessageContent } from '../../bot/outbox/relations.ts';
import { type RoomId, type SessionId, type TurnId, asId } from '../../core/ids.ts';
import { openTask } from '../../core/tasks/open.ts';
import { HomeserverProxy } from '../support/matrix-proxy.ts';
import { type Stage, openStage, operatorsOf, runUntilKilled } from '../support/test-bot.ts';

let stage: Stage;
beforeEach(async () => (stage = await openStage()));
afterEach(() => stage.close());

const text = (body: string): MessageContent => ({ msgtype: 'm.notice', body, mentions: [] });

/** A task, its room, the first message of its turn, a pinned card, and a word in the thread: all asked for at once. */
async function openTaskWithRoom(): Promise<{ sessionId: SessionId; turnId: TurnId }> {
  return stage.write(async (unit) => {
    const { sessionId, turnId } = await openTask(unit, {
      by: stage.operator.userId,
      text: 'check the disks',
      origin: { kind: 'api' },
    });
    const to = { session: sessionId };
    await createTaskRoom(unit, { sessionId, name: '⏳ Check the disks', topic: 'A task' });
    await putCard(unit, {
      to,
      card: { key: `turn:${turnId}`, kind: 'turn', refId: turnId, sessionId, turnId },
      message: text('> check the disks'),
    });
    await putCard(unit, {
      to,
      card: { key: `task:${sessionId}`, kind: 'task', refId: sessionId, sessionId },
      message: text('Check the disks'),
    });
    await pinCards(unit, { to, cards: [`task:${sessionId}`] });
    await sendMessage(unit, { to, message: text('On it.'), thread: { turnId } });
    return { sessionId, turnId };
  });
}

async function roomsOf(sessionId: SessionId): Promise<string[]> {
  const headers = { authorization: `Bearer ${stage.bot.accessToken}` };
  const api = `${stage.homeserverUrl}/_matrix/client/v3`;
  const { joined_rooms: joined } = (await (
    await fetch(`${api}/joined_rooms`, { headers })
  ).json()) as { joined_rooms: string[] };
  const made: string[] = [];
  for (const roomId of joined) {
    const url = `${api}/rooms/${encodeURIComponent(roomId)}/state/m.room.create`;
    const create = await (await fetch(url, { headers })).text();
    if (create.includes(sessionId)) made.push(roomId);
  }
  return made;
}

describe('a task’s room', () => {
  test('T2: is private, in the Space, with the operators in it, and what waited for it follows in order', async () => {
    const bot = stage.start();
    await bot.ready;
    const { sessionId, turnId } = await openTaskWithRoom();
    const roomId = await stage.operator.room('⏳ Check the disks');
    const space = await stage.operator.room('Nomos');
    const word = await stage.operator.message(roomId, 'On it.');
    expect(await stage.operator.bodies(roomId, stage.bot.userId)).toEqual([
      '> check the disks',
      'Check the disks',
      'On it.',
    ]);
    const turn = await stage.database.read.turn.findUnique({ where: { id: turnId } });
    const root = await stage.operator.message(roomId, '> check the disks');
    expect(turn?.rootEvent).toBe(root.event_id);
    expect(word.content['m.relates_to']).toMatchObject({
      rel_type: 'm.thread',
      event_id: root.event_id,
    });

    // The last thing that is set in a new room.
    await stage.operator.event(roomId, (event) => event.type === 'm.room.pinned_events');
    const state = (await stage.operator.history(roomId)).filter(
      (event) => event.state_key !== undefined,
    );
    const content = (type: string, key = '') =>
      state.findLast((event) => event.type === type && event.state_key === key)?.content;
    expect(content('m.room.create')).toMatchObject({ 'org.nomos': { session: sessionId } });
    expect(content('m.room.join_rules')).toEqual({ join_rule: 'invite' });
    expect(content('m.room.power_levels')).toMatchObject({
      users: { [stage.bot.userId]: 100, [stage.operator.userId]: 50 },
      invite: 50,
    });
    expect(content('m.space.parent', space)).toMatchObject({ canonical: true });
    expect(content('m.room.encryption')).toBeUndefined();
    const card = await stage.operator.message(roomId, 'Check the disks');
    expect(content('m.room.pinned_events')).toEqual({ pinned: [card.event_id] });
    await stage.operator.event(
      space,
      (event) => event.type === 'm.space.child' && event.state_key === roomId,
    );

    const session = await stage.database.read.session.findUnique({ where: { id: sessionId } });
    expect(session?.roomId).toBe(roomId);
    const told = await stage.database.read.event.findFirst({
      where: { type: 'session.changed', sessionId, data: { path: ['what'], equals: 'room' } },
    });
    expect(told?.data).toEqual({ what: 'room', roomId });
    await stage.eventually('the sync knows it as this task’s', async () => {
      const room = await stage.database.read.matrixRoom.findUnique({ where: { roomId } });
      return room?.kind === 'task' && room.sessionId === sessionId;
    });
  });

  test.each(['outbox.before_put', 'outbox.after_put', 'outbox.before_mark'])(
    'T2, R5: is made once when the bot is killed at %s',
    async (point) => {
      const { sessionId } = await openTaskWithRoom();
      await runUntilKilled(stage, point);
      const bot = stage.start();
      await bot.ready;
      const roomId = await stage.operator.room('⏳ Check the disks');
      await stage.operator.message(roomId, 'On it.');
      expect(await roomsOf(sessionId)).toEqual([roomId]);
    },
  );

  test('R5: is made once when the answer of the homeserver is lost', async () => {
    const proxy = await HomeserverProxy.open(stage.homeserverUrl);
    const bot = stage.start({ homeserverUrl: proxy.url });
    await bot.ready;
    let lost = false;
    proxy.rule = (request) => {
      if (!request.path.endsWith('/createRoom') || lost) return 'pass';
      lost = true;
      return 'lose answer';
    };
    const { sessionId } = await openTaskWithRoom();
    const roomId = await stage.operator.room('⏳ Check the disks');
    await stage.operator.message(roomId, 'On it.');
    expect(lost).toBe(true);
    expect(await roomsOf(sessionId)).toEqual([roomId]);
    await bot.stop();
    await proxy.close();
  });

  test('R5: is made once when a limit comes between its making and its being written down', async () => {
    const proxy = await HomeserverProxy.open(stage.homeserverUrl);
    const bot = stage.start({ homeserverUrl: proxy.url });
    await bot.ready;
    let lost = false;
    let limits = 0;
    proxy.rule = (request) => {
      if (request.path.endsWith('/createRoom') && !lost) {
        lost = true;
        return 'lose answer';
      }
      if (lost && request.path.endsWith('/members') && limits < 2) {
        limits++;
        return {
          status: 429,
          body: { errcode: 'M_LIMIT_EXCEEDED', error: 'Too many.', retry_after_ms: 200 },
        };
      }
      return 'pass';
    };
    const { sessionId } = await openTaskWithRoom();
    const roomId = await stage.operator.room('⏳ Check the disks');
    await stage.operator.message(roomId, 'On it.');
    expect(limits).toBe(2);
    expect(await roomsOf(sessionId)).toEqual([roomId]);
    await bot.stop();
    await proxy.close();
  });

  test('R10: a limit on invitations holds up this task alone', async () => {
    const proxy = await HomeserverProxy.open(stage.homeserverUrl);
    const bot = stage.start({ homeserverUrl: proxy.url });
    await bot.ready;
    const lobby = await stage.operator.room('Nomos lobby');
    let limited = true;
    proxy.rule = (request) =>
      limited && request.path.endsWith('/createRoom')
        ? {
            status: 429,
            body: { errcode: 'M_LIMIT_EXCEEDED', error: 'Too many.', retry_after_ms: 60_000 },
          }
        : 'pass';
    const { sessionId } = await openTaskWithRoom();
    await stage.eventually('the room is limited', async () =>
      proxy.seen.some((request) => request.path.endsWith('/createRoom')),
    );
    await stage.write((unit) =>
      sendMessage(unit, { to: { room: asId<RoomId>(lobby) }, message: text('meanwhile') }),
    );
    await stage.operator.message(lobby, 'meanwhile');
    limited = false;
    await stage.write(({ db }) => db.matrixOutbox.updateMany({ data: { notBefore: null } }));
    const roomId = await stage.operator.room('⏳ Check the disks');
    expect(await roomsOf(sessionId)).toEqual([roomId]);
    await bot.stop();
    await proxy.close();
  });

  test('T2: an operator whom nobody can invite keeps no other out', async () => {
    const nobody = '@nobody:elsewhere.invalid' as typeof stage.operator.userId;
    await stage.start({ operators: operatorsOf(nobody, stage.operator.userId) }).ready;
    const { sessionId } = await openTaskWithRoom();
    const roomId = await stage.operator.room('⏳ Check the disks');
    await stage.operator.message(roomId, 'On it.');
    expect(await roomsOf(sessionId)).toEqual([roomId]);
  });
});
