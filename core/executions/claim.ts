import type { Database, Unit } from '../db/database.ts';
import type { Execution } from '../db/rows.ts';
import { requestApproval } from '../approvals/request.ts';
import { faultPoint } from '../faults.ts';
import { resolveTarget, targetShape, TargetError, type ResolvedTarget } from '../graph/targets.ts';
import { blastShape } from '../graph/blast-radius.ts';
import type { EntityId, ExecutionId, SessionId, TurnId } from '../ids.ts';
import { leases } from '../leases.ts';
import { roleCovers, type Role } from '../operators.ts';
import { assess } from '../policy/assess.ts';
import { coveringGrant, grantStands } from '../policy/grants.ts';
import { isPaused } from '../policy/pause.ts';
import { stricter, type Risk } from '../policy/risk.ts';
import type { RuleVerdict } from '../policy/rules.ts';
import { addNote } from '../tasks/messages.ts';
import { lockSession } from '../tasks/lock.ts';
import { quoted } from '../text/label.ts';
import { refreshStatus } from '../tasks/status.ts';
import { turnInBatch } from './batch/gate.ts';
import { tellRest, wakeForEnd } from './finish.ts';
import { commandHash, subjectHash } from './hash.ts';
import { findTwin } from './judge.ts';
import { coveredHash } from './preview.ts';
import { lockExecution, transition, type ExecutionChange } from './states.ts';

/** Which grant lets something run, and the moment at which it did. */
type ByGrant = Pick<ExecutionChange, 'grantId'> & { startedAt: Date };

/** A worker has the row, or why not: somebody else has it, it waits for a person again, or it may not run any more. */
export type ClaimResult =
  | { kind: 'claimed'; execution: Execution }
  | { kind: 'not_due' }
  | { kind: 'asked_again' }
  | { kind: 'revoked'; why: string }
  | { kind: 'dropped'; why: string };

/**
 * Claims a queued execution for a worker. Everything that let it run is checked once more in this transaction, by the
 * database's clock: approval or grant, the hash of what was shown, the target, the rules, the kill switch (A16, A19, R1).
 * A permission that ended meanwhile sends it back to wait for a person; a target that changed revokes it.
 */
export async function claimExecution(
  database: Database,
  id: ExecutionId,
  owner: string,
): Promise<ClaimResult> {
  const row = await database.read.execution.findUnique({
    where: { id },
    select: { sessionId: true, status: true },
  });
  if (row?.status !== 'queued') return { kind: 'not_due' };
  const result = await database.write(async (unit): Promise<ClaimResult> => {
    if (row.sessionId !== null) await lockSession(unit, row.sessionId as SessionId);
    const execution = await lockExecution(unit, id);
    if (execution?.status !== 'queued') return { kind: 'not_due' };
    const turn = await turnInBatch(unit, execution);
    if (turn.kind === 'later') return { kind: 'not_due' };
    if (turn.kind === 'never') return drop(unit, execution, turn.why);
    const verdict = await judgeAgain(unit, execution);
    if (typeof verdict === 'string') return revoke(unit, execution, verdict);
    const allowed = await stillAllowed(unit, execution, verdict);
    if (allowed === false) return askAgain(unit, execution, verdict);
    await transition(
      unit,
      execution,
      'queued',
      'running',
      { actor: 'system', data: { worker: owner, hash: execution.commandHash } },
      // By a grant it starts when that was looked at: what comes after may be after its end (R14).
      { leaseOwner: owner, ...(allowed === true ? {} : allowed) },
    );
    if (execution.sessionId !== null) await refreshStatus(unit, execution.sessionId as SessionId);
    await faultPoint('execution.before_claim_commit');
    return { kind: 'claimed', execution: { ...execution, status: 'running', leaseOwner: owner } };
  });
  await faultPoint('execution.claimed');
  return result;
}

/** Keeps a claim alive. False means that the row is no longer this worker's. */
export async function renewExecutionLease(
  database: Database,
  id: ExecutionId,
  owner: string,
): Promise<boolean> {
  const count = await database.read.$executeRaw`
    UPDATE executions SET lease_until = clock_timestamp() + ${leases().leaseMs} * interval '1 millisecond'
    WHERE id = ${id}::uuid AND status = 'running' AND lease_owner = ${owner}`;
  return count > 0;
}

/** Takes over a running execution whose worker is gone, to re-attach to it. Null when its worker is alive or it ended. */
export async function takeOverExecution(
  database: Database,
  id: ExecutionId,
  owner: string,
): Promise<Execution | null> {
  const count = await database.read.$executeRaw`
    UPDATE executions SET lease_owner = ${owner},
      lease_until = clock_timestamp() + ${leases().leaseMs} * interval '1 millisecond'
    WHERE id = ${id}::uuid AND status = 'running' AND (lease_until IS NULL OR lease_until < clock_timestamp())`;
  return count > 0 ? database.read.execution.findUnique({ where: { id } }) : null;
}

/** How long ago an execution was started, by the database's clock. In milliseconds; 0 when it was not. */
export async function runningFor(database: Database, id: string): Promise<number> {
  const [row] = await database.read.$queryRaw<Array<{ ms: number }>>`
    SELECT coalesce(extract(epoch FROM clock_timestamp() - started_at) * 1000, 0)::float8 AS ms
    FROM executions WHERE id = ${id}::uuid`;
  return Math.max(0, row?.ms ?? 0);
}

/** The verdict of this moment, or, when something is no longer as it was shown, what that is in words. */
async function judgeAgain(unit: Unit, execution: Execution): Promise<RuleVerdict | string> {
  const stored = targetShape.parse(execution.target);
  if (commandHash(stored, execution.command) !== execution.commandHash) {
    return 'the command or its target is not what was requested';
  }
  let now: ResolvedTarget;
  try {
    now = await resolveTarget(unit.db, execution.targetSlug);
  } catch (error) {
    if (!(error instanceof TargetError)) throw error;
    return error.message;
  }
  if (commandHash(now.target, execution.command) !== execution.commandHash) {
    return `${execution.targetSlug} is reached another way now than when this was requested`;
  }
  const verdict = assess({
    command: execution.command,
    // With it what its scripts and earlier changes made of it (P4).
    declared: execution.risk,
    target: stored,
    tags: now.tags,
    blast: blastShape.parse(execution.blast),
  });
  return stricter(verdict.risk, execution.risk) === execution.risk
    ? verdict
    : `the rules changed: this is ${verdict.risk} now`;
}

/** Whether what let it run still does; of a grant which, and the moment, see `grantStands`. */
async function stillAllowed(
  unit: Unit,
  execution: Execution,
  verdict: RuleVerdict,
): Promise<boolean | ByGrant> {
  if (execution.allowedBy === 'approval') {
    if (execution.approvalId === null) return false;
    const approval = await unit.db.approval.findUnique({
      where: { id: execution.approvalId },
      include: {
        executions: {
          orderBy: [{ batchIndex: 'asc' }, { createdAt: 'asc' }],
          select: { commandHash: true, preview: true, registers: true, scripts: true },
        },
      },
    });
    if (approval?.status !== 'approved') return false;
    // The rules may want somebody else, or more people, than when it was decided.
    if (approval.needsPeople < verdict.needsPeople) return false;
    if (!roleCovers(approval.needsRole as Role, verdict.needsRole)) return false;
    return subjectHash(approval.executions.map(coveredHash)) === approval.subjectHash;
  }
  if (await isPaused(unit.db)) return false;
  if (execution.allowedBy === 'class') return execution.risk === 'read_only';
  return verdict.alwaysAsk ? false : ((await standingGrant(unit, execution)) ?? false);
}

/** The grant that lets it run now: its own, or one that the task has since, such as the one that was opened again for it (J3). */
async function standingGrant(unit: Unit, execution: Execution): Promise<ByGrant | undefined> {
  const { sessionId, risk } = execution;
  const entityId = execution.entityId as EntityId;
  if (sessionId === null) return undefined;
  const grant = await coveringGrant(unit, { sessionId: sessionId as SessionId, entityId, risk });
  if (grant === null) return undefined;
  const startedAt = await grantStands(unit, { grantId: grant.id, sessionId, entityId, risk });
  return startedAt === undefined ? undefined : { grantId: grant.id, startedAt };
}

async function askAgain(
  unit: Unit,
  execution: Execution,
  verdict: RuleVerdict,
): Promise<ClaimResult> {
  // Nobody is asked twice for the same (A13).
  const twin = await findTwin(unit, execution.sessionId as SessionId | null, execution.commandHash);
  if (twin !== null) {
    const why = `what allowed it ended, and the same command waits for the operator already as ${twin.shortId}`;
    return revoke(unit, execution, why);
  }
  const all = await notStarted(unit, execution);
  const { approvalId } = await requestApproval(unit, {
    sessionId: execution.sessionId,
    turnId: execution.turnId,
    passId: execution.passId,
    risk: all.reduce<Risk>((worst, { risk }) => stricter(worst, risk), execution.risk),
    subjectHash: subjectHash(all.map(coveredHash)),
    needsRole: verdict.needsRole,
    needsPeople: verdict.needsPeople,
  });
  for (const one of all) {
    // What waits for a person wakes the agent at its end, also if a stopped pass had left it; not a look, whose call is over.
    const look = one.continuation === 'suppressed' && one.toolCallId === null;
    const continuation = look ? one.continuation : 'due';
    await transition(
      unit,
      one,
      'queued',
      'pending_approval',
      { actor: 'system', data: { why: 'what allowed it ended before it started' } },
      { approvalId, allowedBy: null, grantId: null, continuation },
    );
  }
  if (execution.sessionId !== null) await refreshStatus(unit, execution.sessionId as SessionId);
  return { kind: 'asked_again' };
}

/**
 * What is asked for together: of a batch all that did not start yet, so that one card still decides them (X13); without those that
 * wait already under another name, which are revoked at their own turn.
 */
async function notStarted(unit: Unit, execution: Execution): Promise<Execution[]> {
  const { batchId, sessionId } = execution;
  if (batchId === null) return [execution];
  const queued = await unit.db.execution.findMany({
    where: { batchId, status: 'queued' },
    orderBy: { batchIndex: 'asc' },
  });
  const waiting = await unit.db.execution.findMany({
    where: {
      ...{ sessionId, status: 'pending_approval' },
      commandHash: { in: queued.map(({ commandHash }) => commandHash) },
    },
    select: { commandHash: true },
  });
  const twins = new Set(waiting.map(({ commandHash }) => commandHash));
  return queued.filter(({ commandHash }) => !twins.has(commandHash));
}

/** Ends an execution of a batch that is not to run after all. The batch is told as a whole. */
async function drop(unit: Unit, execution: Execution, why: string): Promise<ClaimResult> {
  await transition(
    unit,
    execution,
    'queued',
    'cancelled',
    { actor: 'system', data: { why } },
    { errorCode: 'canary_failed', error: `It did not run: ${why}.` },
  );
  if (execution.continuation === 'due') await wakeForEnd(unit, execution);
  if (execution.sessionId !== null) await refreshStatus(unit, execution.sessionId as SessionId);
  return { kind: 'dropped', why };
}

async function revoke(unit: Unit, execution: Execution, why: string): Promise<ClaimResult> {
  await transition(
    unit,
    execution,
    'queued',
    'revoked',
    { actor: 'system', data: { why } },
    {
      error: why,
      continuation: 'woken',
      continuedAt: new Date(),
    },
  );
  if (execution.sessionId !== null && execution.turnId !== null) {
    await addNote(unit, {
      sessionId: execution.sessionId as SessionId,
      turnId: execution.turnId as TurnId,
      text: `Execution ${execution.shortId} on ${execution.targetSlug} (${quoted(execution.purpose, 300)}) was REVOKED before it started: ${why}. It did not run. Look at what changed, then ask again if it is still wanted.`,
      wake: 'continuation',
      of: execution.passId,
    });
    await tellRest(unit, [execution]);
    await refreshStatus(unit, execution.sessionId as SessionId);
  }
  return { kind: 'revoked', why };
}
