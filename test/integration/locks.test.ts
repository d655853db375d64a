import { expect, test } from 'vitest';
import { verifyAudit } from '../../core/audit/verify.ts';
import { lockRow } from '../../core/db/lock-row.ts';
import { CoreWorld } from '../support/core-world.ts';

test('R3: a row that is locked is what the client reads, column for column', async () => {
  await using world = await CoreWorld.open();
  const { database } = world;
  const task = await world.task();
  await world.request(task, 'host:a', 'systemctl restart nginx');
  const execution = await database.read.execution.findFirstOrThrow();
  const approval = await database.read.approval.findFirstOrThrow();
  const session = await database.read.session.findUniqueOrThrow({ where: { id: task.sessionId } });
  await database.write(async (unit) => {
    expect(await lockRow(unit, 'sessions', session.id)).toEqual(session);
    expect(await lockRow(unit, 'executions', execution.id)).toEqual(execution);
    expect(await lockRow(unit, 'approvals', approval.id)).toEqual(approval);
    expect(await lockRow(unit, 'approvals', session.id)).toBeUndefined();
  });
});

test('R3: who waited for a lock sees the row as the one before left it', async () => {
  await using world = await CoreWorld.open();
  const { database } = world;
  const { sessionId } = await world.task();
  const held = Promise.withResolvers<void>();
  const free = Promise.withResolvers<void>();
  const first = database.write(async (unit) => {
    await lockRow(unit, 'sessions', sessionId);
    held.resolve();
    await free.promise;
    await unit.db.session.update({ where: { id: sessionId }, data: { goal: 'changed' } });
  });
  await held.promise;
  const second = database.write(async (unit) => lockRow(unit, 'sessions', sessionId));
  const waits = async (): Promise<boolean> => {
    const [row] = await database.read.$queryRaw<Array<{ count: bigint }>>`
      SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
      WHERE NOT l.granted AND a.datname = current_database()`;
    return row !== undefined && row.count > 0n;
  };
  await expect.poll(waits).toBe(true);
  free.resolve();
  await first;
  expect((await second)?.goal).toBe('changed');
});

test('R15: entries of one unit are chained in their order', async () => {
  await using world = await CoreWorld.open();
  const { database } = world;
  const actions = ['test.one', 'test.two', 'test.three'];
  await database.write(async (unit) => {
    for (const action of actions) unit.audit({ actor: 'system', action });
  });
  expect((await verifyAudit(database)).broken).toBeNull();
  const rows = await database.read.auditEntry.findMany({ orderBy: { id: 'desc' }, take: 3 });
  const [three, two, one] = rows;
  expect([one?.action, two?.action, three?.action]).toEqual(actions);
  expect([two?.prevHash, three?.prevHash]).toEqual([one?.hash, two?.hash]);
});
