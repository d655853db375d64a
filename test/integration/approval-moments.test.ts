import { expect, test } from 'vitest';
import { decide } from '../../core/approvals/decide.ts';
import { offerPlan } from '../../core/approvals/plan.ts';
import { waitingApprovals } from '../../core/approvals/waiting.ts';
import { withdraw } from '../../core/approvals/withdraw.ts';
import { requestBatch } from '../../core/executions/batch/request.ts';
import { claimExecution } from '../../core/executions/claim.ts';
import { finishExecution } from '../../core/executions/finish.ts';
import { unfit } from '../../core/executions/remote/ends.ts';
import { requestExecution } from '../../core/executions/request.ts';
import { type SeenScript } from '../../core/executions/scripts.ts';
import { asId, type ApprovalId, type ExecutionId } from '../../core/ids.ts';
import { closeEndedGrants } from '../../core/policy/ended-grants.ts';
import { closeGrants } from '../../core/policy/grants.ts';
import { setPaused } from '../../core/policy/pause.ts';
import { reopenAfter } from '../../core/policy/reopen.ts';
import { lockSession } from '../../core/tasks/lock.ts';
import { proposePlan } from '../../core/tasks/plan.ts';
import { setGoal } from '../../core/tasks/status.ts';
import { queuePass } from '../../core/tasks/turns.ts';
import { CoreWorld, ann, type TestTask } from '../support/core-world.ts';

/** An operator says yes to what waits in a task. */
async function yes(world: CoreWorld, task: TestTask, kind = 'execution'): Promise<void> {
  const waiting = await waitingApprovals(world.database.read, { sessionId: task.sessionId });
  const approvalId = asId<ApprovalId>(waiting.find((one) => one.kind === kind)?.id ?? '');
  await world.database.write((unit) =>
    decide(unit, { approvalId, verdict: 'approve', operator: ann, means: 'tap' }),
  );
}

test('A13, P7: of two queued commands that are the same, both are dealt with when what allowed them ends: neither claim fails', async () => {
  await using world = await CoreWorld.open();
  const task = await world.task();
  await world.request(task, 'host:a', 'touch /srv/opener');
  await yes(world, task);
  const one = await world.request(task, 'host:a', 'systemctl restart nginx');
  const two = await world.request(task, 'host:a', 'systemctl restart nginx');
  expect([one.kind, two.kind]).toEqual(['queued', 'queued']);
  await world.database.write((unit) => setPaused(unit, true, ann.userId));
  expect(await claimExecution(world.database, one.executionId, 'w')).toMatchObject({
    kind: 'asked_again',
  });
  expect(await claimExecution(world.database, two.executionId, 'w')).toMatchObject({
    kind: 'revoked',
  });
  expect(await waitingApprovals(world.database.read, { sessionId: task.sessionId })).toHaveLength(
    1,
  );
});

test('A13, X13: the rest of a batch whose grant ended is asked for although the same command waits on one of its targets already', async () => {
  await using world = await CoreWorld.open();
  const task = await world.task();
  await world.request(task, 'host:a', 'touch /srv/opener');
  await yes(world, task);
  const { executions } = await world.database.write((unit) =>
    requestBatch(unit, {
      ...{ ...task, passId: null, toolCallId: null, canary: true },
      ...{ targets: ['host:a', 'host:b', 'lxc:c'], command: 'touch /srv/x', purpose: 'a test' },
    }),
  );
  const [canary, second, third] = executions as [ExecutionId, ExecutionId, ExecutionId];
  expect((await claimExecution(world.database, canary, 'w')).kind).toBe('claimed');
  await world.database.write((unit) =>
    closeGrants(unit, { sessionId: task.sessionId, reason: 'revoked', by: ann.userId }),
  );
  const twin = await world.request(task, 'host:b', 'touch /srv/x');
  expect(twin.kind).toBe('waiting');
  await world.database.read.execution.update({
    where: { id: canary },
    data: { status: 'completed', endedAt: new Date() },
  });
  expect((await claimExecution(world.database, third, 'w')).kind).toBe('asked_again');
  expect((await claimExecution(world.database, second, 'w')).kind).toBe('revoked');
  const [of2, of3] = await Promise.all(
    [second, third].map((id) => world.database.read.execution.findUniqueOrThrow({ where: { id } })),
  );
  expect([of2?.status, of3?.status]).toEqual(['revoked', 'pending_approval']);
});

test('P7, R14: no grant that is opened in the moment in which the kill switch is thrown outlives it', async () => {
  await using world = await CoreWorld.open();
  const { database } = world;
  const task = await world.task();
  await world.request(task, 'host:a', 'systemctl restart nginx');
  const [approval] = await waitingApprovals(database.read);
  const approvalId = asId<ApprovalId>(approval?.id ?? '');
  let thrown = Promise.resolve(false);
  await database.write(async (unit) => {
    await decide(unit, { approvalId, verdict: 'approve', operator: ann, means: 'tap' });
    // Another operator throws it before this is committed.
    let done = false;
    thrown = database.write((other) => setPaused(other, true, ann.userId));
    void thrown.finally(() => (done = true));
    await expect
      .poll(async () => {
        const [row] = await database.read.$queryRaw<Array<{ count: bigint }>>`
          SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
          WHERE NOT l.granted AND a.datname = current_database()`;
        return done || (row?.count ?? 0n) > 0n;
      })
      .toBe(true);
  });
  expect(await thrown).toBe(true);
  await database.write((unit) => setPaused(unit, false, ann.userId));
  expect(await database.read.grant.count({ where: { closedAt: null } })).toBe(0);
  expect((await world.request(task, 'host:a', 'systemctl restart other')).kind).toBe('waiting');
});

test('A16, A11: a plan’s ✅ lets no script run that was found changed in this task: that asks for a yes of its own', async () => {
  await using world = await CoreWorld.open();
  const { database } = world;
  const task = await world.task();
  const script = (sha256: string): SeenScript => ({
    ...{ shown: '/srv/x.sh', path: '/srv/x.sh', program: 'bash', why: null, text: 'true' },
    sha256: sha256.repeat(64),
  });
  const passId = await database.write((unit) => queuePass(unit, { ...task, cause: 'message' }));
  const ask = (sha256: string) =>
    database.write((unit) =>
      requestExecution(unit, {
        ...{ ...task, passId, toolCallId: null, target: 'host:a', purpose: 'a test' },
        ...{ command: 'bash /srv/x.sh', scripts: [script(sha256)] },
      }),
    );
  const first = await ask('a');
  await database.read.approval.updateMany({ data: { status: 'approved' } });
  await database.read.execution.update({
    where: { id: first.executionId },
    data: { status: 'failed', errorCode: 'ssh_script_changed' },
  });
  const second = await ask('b');
  expect(second.kind).toBe('waiting');
  await database.write(async (unit) => {
    const steps = await proposePlan(unit, task.sessionId, [{ title: 'Run it' }]);
    await offerPlan(unit, { ...task, passId }, steps);
  });
  await yes(world, task, 'plan');
  expect(
    await database.read.execution.findUniqueOrThrow({ where: { id: second.executionId } }),
  ).toMatchObject({ status: 'pending_approval' });
});

test('J3, X13: the rest of a batch goes on by the grant that was opened again at the end of its canary', async () => {
  await using world = await CoreWorld.open();
  const { database } = world;
  const task = await world.task();
  await database.write((unit) => setGoal(unit, task.sessionId, 'get it done'));
  await world.request(task, 'host:a', 'touch /srv/opener');
  await yes(world, task);
  const opener = await database.read.execution.findFirstOrThrow();
  await database.read.execution.update({ where: { id: opener.id }, data: { status: 'completed' } });
  const { executions } = await database.write((unit) =>
    requestBatch(unit, {
      ...{ ...task, passId: null, toolCallId: null, canary: true },
      ...{ targets: ['host:a', 'host:b'], command: 'touch /srv/x', purpose: 'a test' },
    }),
  );
  const [canary, rest] = executions as [ExecutionId, ExecutionId];
  expect((await claimExecution(database, canary, 'w')).kind).toBe('claimed');
  // It runs for longer than the grant.
  await database.read.$executeRaw`UPDATE grants SET expires_at = clock_timestamp()`;
  const nothing = { bytes: new Uint8Array(), totalBytes: 0, droppedBytes: 0, gapAt: undefined };
  const out = { stdout: nothing, stderr: nothing, durationMs: 1, shell: undefined };
  await finishExecution(database, {
    ...{ id: canary, owner: 'w', mask: (text) => text },
    end: { kind: 'exited', exitCode: 0, ...out },
  });
  expect(await database.read.auditEntry.count({ where: { action: 'grant.reopened' } })).toBe(1);
  expect((await claimExecution(database, rest, 'w')).kind).toBe('claimed');
  const row = await database.read.execution.findUniqueOrThrow({
    where: { id: rest },
    include: { grant: true },
  });
  expect(row.grant).toMatchObject({ closedAt: null });
  expect(row.grant?.expiresAt.getTime()).toBeGreaterThan(row.startedAt?.getTime() ?? Infinity);
});

test('J3, R14: !revoke in the moment in which a grant is opened again leaves none open', async () => {
  await using world = await CoreWorld.open();
  const { database } = world;
  const task = await world.task();
  const { sessionId } = task;
  await database.write((unit) => setGoal(unit, sessionId, 'get it done'));
  const { executionId } = await world.request(task, 'host:a', 'touch /srv/x');
  await yes(world, task);
  expect((await claimExecution(database, executionId, 'w')).kind).toBe('claimed');
  await database.read.$executeRaw`UPDATE grants SET expires_at = clock_timestamp()`;
  await closeEndedGrants(database);
  let revoked = Promise.resolve(0);
  await database.write(async (unit) => {
    const session = await lockSession(unit, sessionId);
    const execution = await unit.db.execution.findUniqueOrThrow({ where: { id: executionId } });
    expect(await reopenAfter(unit, session, execution)).toBe('reopened');
    let done = false;
    revoked = database.write((other) =>
      closeGrants(other, { sessionId, reason: 'revoked', by: ann.userId }),
    );
    void revoked.finally(() => (done = true));
    await expect
      .poll(async () => {
        const [row] = await database.read.$queryRaw<Array<{ count: bigint }>>`
          SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
          WHERE NOT l.granted AND a.datname = current_database()`;
        return done || (row?.count ?? 0n) > 0n;
      })
      .toBe(true);
  });
  await revoked;
  expect(await database.read.grant.count({ where: { closedAt: null } })).toBe(0);
});

test('X4, R6: whatever bytes a target says while it cannot run a command, the end is stored', async () => {
  await using world = await CoreWorld.open();
  const { database } = world;
  const { executionId } = await world.request(await world.task(), 'host:a', 'cat /etc/hostname');
  expect((await claimExecution(database, executionId, 'w')).kind).toBe('claimed');
  // As wsl.exe does, which a Windows host may have as its shell: UTF-16.
  const stderr = Buffer.from('no such distribution\r\n', 'utf16le').toString('latin1');
  const host = { slug: 'host:a', address: '192.0.2.1', port: 22, user: 'root' };
  const said = { begun: false, shell: undefined, final: undefined, exit: { code: 1 } };
  const error = unfit({ host }, { ...said, stderr, error: undefined });
  const end = { kind: 'not_started', error } as const;
  await finishExecution(database, { id: executionId, owner: 'w', end, mask: (text) => text });
  expect(
    await database.read.execution.findUniqueOrThrow({ where: { id: executionId } }),
  ).toMatchObject({ status: 'failed', errorCode: 'ssh_target_unfit' });
});

test('X9: a secret in what a target says while it cannot run a command is hidden from the model', async () => {
  await using world = await CoreWorld.open();
  const { database } = world;
  const { executionId } = await world.request(await world.task(), 'host:a', 'cat /etc/hostname');
  expect((await claimExecution(database, executionId, 'w')).kind).toBe('claimed');
  const host = { slug: 'host:a', address: '192.0.2.1', port: 22, user: 'root' };
  const error = unfit(
    { host },
    {
      ...{ begun: false, shell: undefined, final: undefined, exit: { code: 1 }, error: undefined },
      stderr: 'profile: cannot reach postgres://app:hunter22@db/app',
    },
  );
  const end = { kind: 'not_started', error } as const;
  const mask = (text: string): string => text.replaceAll('hunter22', '***');
  await finishExecution(database, { id: executionId, owner: 'w', end, mask });
  const row = await database.read.execution.findUniqueOrThrow({ where: { id: executionId } });
  expect(row.error).toContain('app:***@db');
});

test('A7, P7: the ✅ of a plan that was given while Nomos is paused can be taken back, and the agent hears of it', async () => {
  await using world = await CoreWorld.open();
  const { database } = world;
  const task = await world.task();
  await database.write((unit) => setPaused(unit, true, ann.userId));
  const offer = await database.write(async (unit) => {
    const steps = await proposePlan(unit, task.sessionId, [{ title: 'Restart nginx' }]);
    return offerPlan(unit, { ...task, passId: null }, steps);
  });
  const approvalId = offer.kind === 'waiting' ? offer.approvalId : null;
  if (approvalId === null) throw new Error('it does not wait');
  const eventId = '$yes';
  await database.write((unit) =>
    decide(unit, { approvalId, verdict: 'approve', operator: ann, means: 'tap', eventId }),
  );
  expect(
    await database.write((unit) => withdraw(unit, { approvalId, operator: ann, eventId })),
  ).toEqual({
    kind: 'withdrawn',
  });
  const [note] = await database.read.message.findMany({
    where: { role: 'note' },
    orderBy: { seq: 'desc' },
    take: 1,
  });
  expect(note?.text).toContain('WITHDREW the approval of the plan');
});
