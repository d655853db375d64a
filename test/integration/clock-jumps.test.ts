import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { closeGrants } from '../../core/policy/grants.ts';
import { closeEndedGrants } from '../../core/policy/ended-grants.ts';
import { settleAfterClockJump } from '../../core/clock-jumps.ts';
import { finishExecution } from '../../core/executions/finish.ts';
import { claimExecution } from '../../core/executions/claim.ts';
import { sweepIdle } from '../../core/tasks/idle.ts';
import { decide } from '../../core/approvals/decide.ts';
import type { RunEnd } from '../../core/executions/ports.ts';
import type { ApprovalId, ExecutionId } from '../../core/ids.ts';
import { ann, CoreWorld, type TestTask } from '../support/core-world.ts';

// The database's clock is set back by an hour: what it had set is an hour further away now.
const HOUR = '1 hour';

let world: CoreWorld;
let task: TestTask;
beforeEach(async () => {
  world = await CoreWorld.open();
  task = await world.task();
});
afterEach(async () => {
  vi.useRealTimers();
  await world[Symbol.asyncDispose]();
});

const NOTHING = { bytes: new Uint8Array(), totalBytes: 0, droppedBytes: 0, gapAt: undefined };
const DONE: RunEnd = {
  kind: 'exited',
  exitCode: 0,
  stdout: NOTHING,
  stderr: NOTHING,
  durationMs: 1,
  shell: undefined,
};

/** A change that was asked for, approved (which opens the grant of the task), and is queued. */
async function approved(command = 'touch /x'): Promise<ExecutionId> {
  await world.request(task, 'host:a', command);
  const approval = await world.database.read.approval.findFirstOrThrow({
    where: { status: 'pending' },
  });
  await world.database.write((unit) =>
    decide(unit, {
      approvalId: approval.id as ApprovalId,
      verdict: 'approve',
      operator: ann,
      means: 'tap',
      eventId: '$yes',
    }),
  );
  const row = await world.database.read.execution.findFirstOrThrow({ where: { command } });
  return row.id as ExecutionId;
}

const secondsLeft = async (table: 'grants' | 'approvals'): Promise<number> => {
  const rows =
    table === 'grants'
      ? await world.database.read.$queryRaw<
          [{ left: number }]
        >`SELECT extract(epoch FROM expires_at - clock_timestamp())::float8 AS left FROM grants`
      : await world.database.read.$queryRaw<
          [{ left: number }]
        >`SELECT extract(epoch FROM expires_at - clock_timestamp())::float8 AS left FROM approvals`;
  return rows[0].left;
};

test('R14: a grant that came to its end stays closed when the clock is set back, and the next change asks again', async () => {
  await approved();
  const { read } = world.database;
  await read.$executeRaw`UPDATE grants SET expires_at = clock_timestamp() - interval '1 ms'`;
  expect(await closeEndedGrants(world.database)).toBe(1);
  await read.$executeRaw`UPDATE grants SET expires_at = expires_at + ${HOUR}::text::interval`;
  const next = await world.request(task, 'host:a', 'touch /y');
  expect(next.kind).toBe('waiting');
  expect(
    await read.auditEntry.findMany({ where: { action: 'grant.ended' }, select: { actor: true } }),
  ).toEqual([{ actor: 'system' }]);
  expect(await closeEndedGrants(world.database)).toBe(0);
});

test('R14, A1: a clock that is set back makes neither a grant nor an approval last longer than its time', async () => {
  await approved();
  const { read } = world.database;
  await read.$executeRaw`UPDATE grants SET expires_at = expires_at + ${HOUR}::text::interval`;
  await settleAfterClockJump(world.database);
  expect(await secondsLeft('grants')).toBeGreaterThan(29 * 60);
  expect(await secondsLeft('grants')).toBeLessThanOrEqual(30 * 60);

  await read.approval.deleteMany({ where: { status: 'pending' } });
  await read.$executeRaw`UPDATE grants SET closed_at = clock_timestamp()`;
  await world.request(task, 'host:a', 'touch /z');
  await read.$executeRaw`UPDATE approvals SET expires_at = expires_at + ${HOUR}::text::interval WHERE status = 'pending'`;
  await settleAfterClockJump(world.database);
  const [row] = await read.$queryRaw<[{ left: number }]>`
    SELECT extract(epoch FROM expires_at - clock_timestamp())::float8 AS left FROM approvals WHERE status = 'pending'`;
  expect(row.left).toBeLessThanOrEqual(60 * 60);
  expect(row.left).toBeGreaterThan(59 * 60);
});

test('J3, R14: a grant that ended while its command ran, and was closed by a person meanwhile, is not opened again', async () => {
  const id = await approved();
  const { read } = world.database;
  await read.session.update({
    where: { id: task.sessionId },
    data: { goal: 'Files are touched', status: 'executing' },
  });
  expect((await claimExecution(world.database, id, 'worker')).kind).toBe('claimed');
  await read.$executeRaw`UPDATE grants SET expires_at = clock_timestamp() - interval '1 ms'`;
  await closeEndedGrants(world.database);
  await world.database.write((unit) =>
    closeGrants(unit, { sessionId: task.sessionId, reason: 'revoked', by: ann.userId }),
  );
  await finishExecution(world.database, { id, owner: 'worker', mask: (text) => text, end: DONE });
  expect(await read.grant.findMany({ select: { closedReason: true } })).toEqual([
    { closedReason: 'revoked' },
  ]);
});

test('R6, R14: leases and rests that a set-back clock put an hour away end in their own time', async () => {
  const id = await approved();
  const { read } = world.database;
  await claimExecution(world.database, id, 'worker');
  await read.$executeRaw`UPDATE executions SET lease_until = lease_until + ${HOUR}::text::interval`;
  await read.$executeRaw`
    UPDATE passes SET state = 'queued', not_before = clock_timestamp() + ${HOUR}::text::interval`;
  await settleAfterClockJump(world.database);
  const [row] = await read.$queryRaw<[{ left: number }]>`
    SELECT extract(epoch FROM lease_until - clock_timestamp())::float8 AS left FROM executions`;
  expect(row.left).toBeLessThanOrEqual(30);
  expect(await read.pass.findFirstOrThrow()).toMatchObject({ notBefore: null });
});

test('J4: a worker whose clock is an hour behind does not make its task look idle', async () => {
  const { read } = world.database;
  await read.pass.updateMany({ data: { state: 'done' } });
  await read.session.update({
    where: { id: task.sessionId },
    data: { goal: 'Be well', lastActivityAt: new Date(Date.now() - 3_600_000) },
  });
  expect(await sweepIdle(world.database, { close: true })).toEqual({ nudged: 0, closed: 0 });
  await read.$executeRaw`UPDATE events SET at = at - ${HOUR}::text::interval`;
  expect(await sweepIdle(world.database, { close: true })).toEqual({ nudged: 1, closed: 0 });
});

test.each([1, -1])(
  'R14: what a worker writes whose clock is off by %i h has the time of the database all the same',
  async (hours) => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + hours * 3_600_000 });
    const second = await world.task('again');
    task = second;
    const id = await approved();
    expect((await claimExecution(world.database, id, 'worker')).kind).toBe('claimed');
    await finishExecution(world.database, { id, owner: 'worker', mask: (text) => text, end: DONE });
    const [row] = await world.database.read.$queryRaw<[{ order: boolean; near: boolean }]>`
      SELECT e.created_at <= e.queued_at AND e.queued_at <= e.started_at AND e.started_at <= e.ended_at AS order,
        e.ended_at <= clock_timestamp() AND p.created_at > clock_timestamp() - interval '10 minutes' AS near
      FROM executions e JOIN passes p ON p.session_id = e.session_id`;
    expect(row).toEqual({ order: true, near: true });
  },
);
