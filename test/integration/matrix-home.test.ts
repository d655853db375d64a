import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { BotOptions } from '../../bot/bot.ts';
import { sendMessage } from '../../bot/outbox/enqueue.ts';
import { Projector } from '../../bot/projector/projector.ts';
import { type Stage, openStage, operatorsOf, runUntilKilled } from '../support/test-bot.ts';

let stage: Stage;
beforeEach(async () => (stage = await openStage()));
afterEach(() => stage.close());

/** The rooms that the bot account is in, by what their creation content says of their purpose. */
async function madeRooms(): Promise<string[]> {
  const headers = { authorization: `Bearer ${stage.bot.accessToken}` };
  const api = `${stage.homeserverUrl}/_matrix/client/v3`;
  const joined = (await (await fetch(`${api}/joined_rooms`, { headers })).json()) as {
    joined_rooms: string[];
  };
  return Promise.all(
    joined.joined_rooms.map(async (roomId) => {
      const url = `${api}/rooms/${encodeURIComponent(roomId)}/state/m.room.create`;
      const create = (await (await fetch(url, { headers })).json()) as Record<string, unknown>;
      return JSON.stringify(create['org.nomos']);
    }),
  );
}

describe('Space and lobby', () => {
  test('T1: made at the first start with every operator invited, found again at the next', async () => {
    const first = stage.start();
    await first.ready;
    const space = await stage.operator.room('Nomos');
    const lobby = await stage.operator.room('Nomos lobby');
    const child = await stage.operator.event(
      space,
      (event) => event.type === 'm.space.child' && event.state_key === lobby,
    );
    expect(child.content['via']).toEqual([stage.bot.userId.split(':').slice(1).join(':')]);
    await first.stop();

    await stage.start().ready;
    expect((await madeRooms()).toSorted()).toEqual(['{"home":"lobby"}', '{"home":"space"}']);
  });

  test('T1: found again by a bot whose database is new', async () => {
    const first = stage.start();
    await first.ready;
    await first.stop();
    await stage.write(async ({ db }) => {
      await db.matrixRoom.deleteMany();
      await db.matrixState.deleteMany();
    });
    await stage.start().ready;
    expect(await madeRooms()).toHaveLength(2);
    expect(await stage.database.read.matrixRoom.count({ where: { kind: 'lobby' } })).toBe(1);
  });

  test.each(['rooms.home_made', 'rooms.home_made#2'])(
    'T1, R5: not made twice when the bot is killed at %s',
    async (point) => {
      await runUntilKilled(stage, point);
      await stage.start().ready;
      expect((await madeRooms()).toSorted()).toEqual(['{"home":"lobby"}', '{"home":"space"}']);
    },
  );

  test('R5, C17: the lobby gets one welcome card, pinned, however often the bot starts', async () => {
    const welcomed = async (lobby: string) =>
      (await stage.operator.history(lobby)).filter(({ content }) =>
        String(content['body']).startsWith('Write here what you want done'),
      );
    const projector: BotOptions['projector'] = (parts) =>
      new Projector({ ...parts, timeZone: 'UTC', streaming: false }).run(parts.signal);
    const first = stage.start({ projector });
    await first.ready;
    const lobby = await stage.operator.room('Nomos lobby');
    const pinned = await stage.operator.event(
      lobby,
      (event) => event.type === 'm.room.pinned_events',
    );
    const [card] = await welcomed(lobby);
    expect(pinned.content['pinned']).toEqual([card?.event_id]);
    expect(String(card?.content['body'])).toContain('!help');
    await first.stop();
    const second = stage.start({
      projector,
      onEvent: async (unit, event) => {
        const message = { msgtype: 'm.text' as const, body: 'it is up again', mentions: [] };
        await sendMessage(unit, { to: { room: event.room.roomId }, message });
      },
    });
    await second.ready;
    await stage.operator.say(lobby, 'hello');
    await stage.operator.message(lobby, 'it is up again');
    expect(await welcomed(lobby)).toHaveLength(1);
  });

  test('T1: an operator who is new in the configuration is invited at the next start', async () => {
    const bea = await stage.person('bea');
    const first = stage.start();
    await first.ready;
    await stage.operator.room('Nomos lobby');
    await first.stop();
    await stage.start({ operators: operatorsOf(stage.operator.userId, bea.userId) }).ready;
    expect(await bea.room('Nomos lobby')).toBe(await stage.operator.room('Nomos lobby'));
  });

  test('T1: an operator whom nobody can invite keeps no other from coming in', async () => {
    const nobody = '@nobody:elsewhere.invalid' as typeof stage.operator.userId;
    await stage.start({ operators: operatorsOf(nobody, stage.operator.userId) }).ready;
    await stage.operator.room('Nomos lobby');
    await stage.operator.room('Nomos');
    expect(await madeRooms()).toHaveLength(2);
  });
});
