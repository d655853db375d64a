import path from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { followUpgrades } from '../../bot/rooms/upgraded-rooms.ts';
import type { NomosClient } from '../../bot/matrix/client.ts';
import { asId, type RoomId, type UserId } from '../../core/ids.ts';
import { takeAlerts } from '../../core/signals/alertmanager.ts';
import { refreshHealth } from '../../core/signals/health.ts';
import { acknowledgeSignal } from '../../core/signals/operate.ts';
import { recordResult } from '../../core/signals/record-result.ts';
import { dueChecks, pruneMetrics } from '../../core/signals/sweep.ts';
import { ANN, LOBBY } from '../support/bot-world.ts';
import { SignalsWorld } from '../support/signals-world.ts';

let world: SignalsWorld;
const mask = (text: string): string => text;

beforeAll(async () => {
  world = await SignalsWorld.open();
});
afterAll(() => world[Symbol.asyncDispose]());

const FAILING = "kind: command, command: 'false', raise_after: 1, match: { target: 'host:box' }";

/** Waits until a transaction of this database waits for another one. */
async function untilOneWaits(): Promise<void> {
  await vi.waitFor(async () => {
    const waiting = await world.bot.database.read.$queryRaw<unknown[]>`
      SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    expect(waiting).toHaveLength(1);
  }, 20_000);
}

test('S2, S3: an end that is told once counts, though somebody takes the signal in hand in that moment', async () => {
  const { database } = world.bot;
  const alert = (status: string) => ({
    ...{ status, labels: { alertname: 'Down' }, startsAt: '2026-11-29T12:00:00Z' },
    fingerprint: 'ab12',
  });
  await takeAlerts({ database, mask }, [alert('firing')], 'token:hook');
  const { id } = await database.read.signal.findFirstOrThrow({
    where: { key: 'alertmanager:ab12' },
  });
  let told: Promise<unknown> = Promise.resolve();
  await world.bot.write(async (unit) => {
    await acknowledgeSignal(unit, id, ANN);
    told = takeAlerts({ database, mask }, [alert('resolved')], 'token:hook');
    await untilOneWaits();
  });
  expect(await told).toMatchObject({ resolved: 1 });
  expect(await database.read.signal.findUniqueOrThrow({ where: { id } })).toMatchObject({
    state: 'resolved',
    changedBy: 'token:hook',
  });
});

test('S1: two checks of one machine that end in the same moment both count for its health', async () => {
  const { database } = world.bot;
  await world.checks(`name: a, severity: critical, ${FAILING}`, `name: b, ${FAILING}`);
  await database.read.$executeRaw`UPDATE checks SET lease_owner = 'w'`;
  const [a, b] = await database.read.check.findMany({ orderBy: { name: 'asc' } });
  if (a === undefined || b === undefined) throw new Error('no checks');
  const seen = { value: null, detail: 'well', metrics: [] };
  let other: Promise<boolean> = Promise.resolve(false);
  await world.bot.write(async (unit) => {
    await unit.db.$executeRaw`
      UPDATE checks SET status = 'fail', checked_at = clock_timestamp() WHERE id = ${a.id}::uuid`;
    await refreshHealth(unit, a.entityId);
    other = recordResult(database, { id: b.id, owner: 'w', seen: { ...seen, status: 'ok' } });
    await untilOneWaits();
  });
  expect(await other).toBe(true);
  const where = { entityId: a.entityId };
  expect(await database.read.entityStatus.findUniqueOrThrow({ where })).toMatchObject({
    health: 'down',
  });
});

test('S1, R12: a check that breaks waits for its next time, and the checks of a busy host are not handed over', async () => {
  const { database } = world.bot;
  await world.checks(...['a', 'b', 'c'].map((name) => `name: ${name}, ${FAILING}`));
  const rows = await database.read.check.findMany({
    where: { goneAt: null },
    orderBy: { name: 'asc' },
  });
  const [first] = rows;
  if (first === undefined) throw new Error('no checks');
  await database.read.$executeRaw`UPDATE checks SET next_at = clock_timestamp() - interval '1 ms'`;
  expect(await dueChecks(database)).toHaveLength(3);

  await database.read.check.update({ where: { id: first.id }, data: { parameters: { odd: 1 } } });
  await expect(world.run(first.id)).rejects.toThrow();
  expect(await database.read.check.findUniqueOrThrow({ where: { id: first.id } })).toMatchObject({
    leaseOwner: null,
  });
  expect((await dueChecks(database)).map(({ id }) => id)).not.toContain(first.id);

  await database.read.$executeRaw`
    UPDATE checks SET lease_until = clock_timestamp() + interval '1 minute' WHERE name IN ('a', 'b')`;
  expect(await dueChecks(database)).toEqual([]);
  await database.read.$executeRaw`UPDATE checks SET lease_until = NULL WHERE name = 'a'`;
  expect((await dueChecks(database)).map(({ id }) => id)).toEqual([rows[2]?.id]);
});

test('S2, C14: a signal that is open is shown anew where the lobby is upgraded to, and taps there count', async () => {
  const { bot } = world;
  const flag = path.join(world.sshd.home, 'broken');
  await world.checks(
    `name: file, kind: command, command: test ! -e ${flag}, raise_after: 1, match: { target: 'host:box' }`,
  );
  const signal = await world.raise();
  expect(world.cards().at(-1)?.roomId).toBe(LOBBY);
  const room = asId<RoomId>('!lobby-2:example.org');
  const botUserId = asId<UserId>('@nomos:example.org');
  await bot.database.read.matrixRoom.create({
    data: { roomId: room, kind: 'other', membership: 'join', state: { v: 1 } },
  });
  await bot.database.read.matrixRoom.update({
    where: { roomId: LOBBY },
    data: { replacedBy: room },
  });
  await followUpgrades({
    database: bot.database,
    client: {
      doRequest: () => Promise.resolve({ joined: { [botUserId]: {}, [ANN]: {} } }),
    } as unknown as NomosClient,
    botUserId,
    isOperator: (userId) => userId === ANN,
    signal: world.shutdown.signal,
  });
  await bot.settle();
  const card = bot.shown.findLast(({ cardKey }) => cardKey?.startsWith('signal:') === true);
  expect(card?.roomId).toBe(room);
  await bot.tap(room, card?.eventId ?? '', '👀');
  expect((await signal()).state).toBe('acknowledged');
});

test('S1: all figures that are too old go, however many a big fleet has made since the last time', async () => {
  const { database } = world.bot;
  const box = await database.read.entity.findUniqueOrThrow({ where: { slug: 'host:box' } });
  await database.read.$executeRaw`
    INSERT INTO metrics (entity_id, name, value, at)
    SELECT ${box.id}::uuid, 'old', n, clock_timestamp() - interval '31 days' FROM generate_series(1, 20_001) n`;
  await database.read.$executeRaw`
    INSERT INTO metrics (entity_id, name, value, at) VALUES (${box.id}::uuid, 'new', 1, clock_timestamp())`;
  expect(await pruneMetrics(database)).toBe(20_001);
  const left = await database.read.metric.findMany({ where: { name: { in: ['old', 'new'] } } });
  expect(left.map(({ name }) => name)).toEqual(['new']);
});
