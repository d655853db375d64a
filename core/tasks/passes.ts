import { noSql, sql, type Database, type Unit } from '../db/database.ts';
import { eachAlone } from '../db/each-alone.ts';
import type { Pass } from '../db/rows.ts';
import { faultPoint } from '../faults.ts';
import type { PassId, SessionId, TurnId } from '../ids.ts';
import { leases } from '../leases.ts';
import { lockSession } from './lock.ts';
import { refreshStatus } from './status.ts';
import { queuePass } from './turns.ts';

/** A pass that was begun so often and never ended takes its worker down: it is given up, and the operator is told. */
export const MAX_PASS_ATTEMPTS = 5;

/**
 * Claims the task's oldest queued pass for a worker (T4). Null when the task has one running already, or none is due. A pass
 * that finds nothing to read, because an earlier one took it in, ends here without a model call.
 */
export async function claimPass(
  database: Database,
  sessionId: SessionId,
  owner: string,
): Promise<Pick<Pass, 'id' | 'attempt'> | null> {
  const pass = await database.write(async (unit) => {
    const session = await lockSession(unit, sessionId);
    if (session.archivedAt !== null) {
      await closeQueued(unit, sessionId);
      return null;
    }
    const running = await unit.db.pass.findFirst({
      where: { sessionId, state: 'running' },
      select: { id: true },
    });
    if (running !== null) return null;
    for (;;) {
      const next = await duePass(unit, sessionId);
      if (next === null) return null;
      if (next.attempt === 0 && !(await hasUnread(unit, next.turnId))) {
        await closePass(unit, next, 'done');
        continue;
      }
      await unit.db.$executeRaw`
        UPDATE passes SET state = 'running', lease_owner = ${owner}, attempt = attempt + 1,
          started_at = coalesce(started_at, clock_timestamp()),
          lease_until = clock_timestamp() + ${leases().leaseMs} * interval '1 millisecond'
        WHERE id = ${next.id}::uuid`;
      unit.emit({ type: 'pass.started', sessionId, refId: next.id });
      await refreshStatus(unit, sessionId);
      return { id: next.id, attempt: next.attempt + 1 };
    }
  });
  await faultPoint('pass.claimed');
  return pass;
}

/** A task that was put away has nothing left to do: what died before that would wait in its queue for ever. */
async function closeQueued(unit: Unit, sessionId: SessionId): Promise<void> {
  const queued = await unit.db.pass.findMany({ where: { sessionId, state: 'queued' } });
  for (const pass of queued) await closePass(unit, pass, 'cancelled');
}

async function duePass(unit: Unit, sessionId: SessionId): Promise<Pass | null> {
  const rows = await unit.db.$queryRaw<Array<{ id: string }>>`
    SELECT id FROM passes
    WHERE session_id = ${sessionId}::uuid AND state = 'queued'
      AND (not_before IS NULL OR not_before <= clock_timestamp())
    ORDER BY seq LIMIT 1`;
  const id = rows[0]?.id;
  return id === undefined ? null : unit.db.pass.findUnique({ where: { id } });
}

const OPERATOR = ['operator'] as const;
const ANYONE = ['operator', 'note'] as const;

async function hasUnread(
  unit: Unit,
  turnId: string,
  roles: ReadonlyArray<(typeof ANYONE)[number]> = ANYONE,
): Promise<boolean> {
  const unread = await unit.db.message.findFirst({
    where: { turnId, takenInAt: null, role: { in: [...roles] } },
    select: { id: true },
  });
  return unread !== null;
}

/** Keeps a pass alive. False means that it is no longer this worker's: stop at once. */
export async function renewPassLease(
  database: Database,
  passId: PassId,
  owner: string,
): Promise<boolean> {
  const count = await database.read.$executeRaw`
    UPDATE passes SET lease_until = clock_timestamp() + ${leases().leaseMs} * interval '1 millisecond'
    WHERE id = ${passId}::uuid AND state = 'running' AND lease_owner = ${owner}`;
  return count > 0;
}

/**
 * Ends a running pass. What came in after its last look, in this turn, gets a pass of its own; after a stop only what an
 * operator said. Does nothing when the pass is no longer running. The caller may hold the task's lock already.
 */
export async function endPass(
  unit: Unit,
  args: {
    passId: PassId;
    state: 'done' | 'failed' | 'cancelled';
    error?: { code: string; message: string } | undefined;
  },
): Promise<boolean> {
  const found = await unit.db.pass.findUniqueOrThrow({ where: { id: args.passId } });
  const sessionId = found.sessionId as SessionId;
  await lockSession(unit, sessionId);
  const pass = await unit.db.pass.findUniqueOrThrow({ where: { id: args.passId } });
  if (pass.state !== 'running') return false;
  await closePass(unit, pass, args.state, args.error);
  const session = await unit.db.session.update({
    where: { id: sessionId },
    data: { lastActivityAt: new Date(), lastAgentAt: new Date() },
  });
  // After a stop only an operator's own words go on; what Nomos had to tell is read with them (T5).
  const roles = args.state === 'cancelled' ? OPERATOR : ANYONE;
  if (session.endedAt === null && (await hasUnread(unit, pass.turnId, roles))) {
    await queuePass(unit, { sessionId, turnId: pass.turnId as TurnId, cause: 'message' });
  }
  await refreshStatus(unit, sessionId);
  return true;
}

async function closePass(
  unit: Unit,
  pass: Pass,
  state: 'done' | 'failed' | 'cancelled',
  error?: { code: string; message: string },
): Promise<void> {
  const said = error === undefined ? noSql : sql`, error = ${JSON.stringify(error)}::jsonb`;
  await unit.db.$executeRaw`
    UPDATE passes SET state = ${state}::pass_state, ended_at = clock_timestamp(),
      lease_owner = NULL, lease_until = NULL${said}
    WHERE id = ${pass.id}::uuid`;
  unit.emit({ type: 'pass.ended', sessionId: pass.sessionId, refId: pass.id, data: { state } });
}

/**
 * Puts passes back into the queue whose worker went away: they are taken up from their rows (design 4). One that was
 * begun too often fails, with an error that the operator sees. Returns the tasks that have something to run again.
 */
export async function requeueLostPasses(database: Database): Promise<SessionId[]> {
  const lost = await database.read.$queryRaw<Array<{ id: PassId; session_id: SessionId }>>`
    SELECT id, session_id FROM passes
    WHERE state = 'running' AND (lease_until IS NULL OR lease_until < clock_timestamp())`;
  const requeued: SessionId[] = [];
  await eachAlone(database, 'lost pass', lost, async ({ id, session_id: sessionId }) =>
    database.write(async (unit) => {
      await lockSession(unit, sessionId);
      const rows = await unit.db.$queryRaw<Array<{ attempt: number }>>`
        SELECT attempt FROM passes
        WHERE id = ${id}::uuid AND state = 'running' AND (lease_until IS NULL OR lease_until < clock_timestamp())`;
      const attempt = rows[0]?.attempt;
      if (attempt === undefined) return false;
      if (attempt >= MAX_PASS_ATTEMPTS) {
        await giveBackResults(unit, id);
        await endPass(unit, {
          passId: id,
          state: 'failed',
          error: {
            code: 'pass_lost',
            message: `The work was begun ${attempt} times and never ended.`,
          },
        });
        unit.emit({
          type: 'error.raised',
          sessionId,
          refId: id,
          data: {
            code: 'pass_lost',
            fault: 'system',
            message: `The work was begun ${attempt} times and its process ended each time.`,
            hint: 'Look at the log of the jobs process, then send a message to go on.',
            retry: true,
          },
        });
        return true;
      }
      await unit.db.pass.update({
        where: { id },
        data: { state: 'queued', leaseOwner: null, leaseUntil: null },
      });
      unit.emit({ type: 'pass.queued', sessionId, refId: id });
      requeued.push(sessionId);
      return true;
    }),
  );
  return requeued;
}

/** Results that a call had taken and not told before its process ended: nobody makes that call again, so a note tells them (R7). */
async function giveBackResults(unit: Unit, passId: PassId): Promise<void> {
  await unit.db.$executeRaw`
    UPDATE executions SET continuation = 'due', continued_at = NULL, result_taken_at = NULL
    WHERE continuation = 'woken' AND result_taken_at IS NOT NULL
      AND tool_call_id IN (SELECT id FROM tool_calls WHERE pass_id = ${passId}::uuid AND state = 'running')`;
}
