import { noSql, sql, type Database, type Unit } from '../db/database.ts';
import { eachAlone } from '../db/each-alone.ts';
import type { Pass, Session } from '../db/rows.ts';
import { wakeForEnd } from '../executions/finish.ts';
import { faultPoint } from '../faults.ts';
import type { PassId, SessionId, TurnId } from '../ids.ts';
import { leases } from '../leases.ts';
import { cutLabel } from '../text/label.ts';
import { lockSession } from './lock.ts';
import { isStoppedTask, setGoing } from './reopen.ts';
import { refreshStatus } from './status.ts';
import { MAX_PASS_ATTEMPTS, OF_A_PERSON, queuePass } from './turns.ts';

/** So much of why a task is paused is kept. */
export const PAUSED_CHARACTERS = 200;

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
      await closePasses(unit, sessionId);
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
      if (session.endedAt !== null && !(await endsByItself(unit, next))) {
        // What an operator said or answered before the end, and nobody has read, opens the task again (T11); what Nomos had to tell
        // does not, and what was cut off in another turn is over.
        if (next.cause !== 'answer' && !(await hasUnread(unit, next.turnId, OPERATOR))) {
          await closeCalls(unit, next.id as PassId);
          await closePass(unit, next, 'cancelled');
          continue;
        }
        await setGoing(unit, session);
      }
      // Not while it is stopped: then it is the clock's words that are read (T14).
      const holds = session.endedAt === null && isStoppedTask(session);
      if (next.stopRequestedAt === null && !holds && OF_A_PERSON.has(next.cause))
        await listenAgain(unit, sessionId);
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

/**
 * Ends all passes of a task that is put away: it has nothing left to do. The worker of one that runs finds at its next write that it
 * is not its own any more, so it leaves nothing behind that waits. The caller holds the task's lock.
 */
export async function closePasses(unit: Unit, sessionId: SessionId): Promise<void> {
  const open = await unit.db.pass.findMany({
    where: { sessionId, state: { in: ['queued', 'running'] } },
  });
  for (const pass of open) {
    await closeCalls(unit, pass.id as PassId);
    await closePass(unit, pass, 'cancelled');
  }
}

/**
 * What a stop, or the end, had left running wakes the agent again at its end, now that a person goes on: its call was told so. What a
 * stopped pass had left, and has ended since, is told now. Not a look that goes before a change, which belongs to its call alone.
 */
export async function listenAgain(unit: Unit, sessionId: string): Promise<void> {
  const ended = await unit.db.$queryRaw<Array<{ id: string }>>`
    WITH again AS (
      UPDATE executions e SET continuation = 'due'
      FROM tool_calls c JOIN passes p ON p.id = c.pass_id
      WHERE e.session_id = ${sessionId}::uuid AND e.continuation = 'suppressed' AND c.id = e.tool_call_id
        AND (e.status IN ('approved', 'queued', 'running') OR (e.status IN ('completed', 'failed', 'unknown')
          AND p.stop_requested_at IS NOT NULL AND c.ended_at < e.ended_at))
      RETURNING e.id, e.status, e.short_id)
    SELECT id FROM again WHERE status NOT IN ('approved', 'queued', 'running') ORDER BY short_id`;
  for (const { id } of ended) {
    await wakeForEnd(unit, await unit.db.execution.findUniqueOrThrow({ where: { id } }));
  }
}

/** Whether a pass that is taken up has only its own end before it: it ended the task, or was stopped. */
export async function endsByItself(
  unit: Unit,
  { id, attempt, stopRequestedAt }: Pass,
): Promise<boolean> {
  if (attempt === 0) return false;
  if (stopRequestedAt !== null) return true;
  const ending = await unit.db.toolCall.findFirst({
    where: { passId: id, name: 'complete_task', state: 'done' },
    select: { id: true },
  });
  return ending !== null;
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
 * Ends a running pass. What came in after its last look, in this turn, gets a pass of its own, but not after a stop. Does nothing
 * when the pass is no longer running. The caller may hold the task's lock already.
 */
export async function endPass(
  unit: Unit,
  args: {
    passId: PassId;
    state: 'done' | 'failed' | 'cancelled';
    error?: { code: string; message: string } | undefined;
    /** It was begun as often as a pass may be: nothing goes on by itself, not even what it has not read. */
    givenUp?: boolean;
  },
): Promise<boolean> {
  const found = await unit.db.pass.findUniqueOrThrow({ where: { id: args.passId } });
  const sessionId = found.sessionId as SessionId;
  await lockSession(unit, sessionId);
  const pass = await unit.db.pass.findUniqueOrThrow({ where: { id: args.passId } });
  if (pass.state !== 'running') return false;
  if (args.givenUp === true) await closeCalls(unit, args.passId);
  await closePass(unit, pass, args.state, args.error);
  const session = await unit.db.session.update({
    where: { id: sessionId },
    data: { lastActivityAt: new Date(), lastAgentAt: new Date() },
  });
  // After a stop only what an operator says then goes on, and that has a pass of its own already; what was said before is read
  // with it (T5).
  const stopped = args.state === 'cancelled' || pass.stopRequestedAt !== null;
  if (args.givenUp === true) await waitForOperator(unit, session, args.error?.message ?? '');
  else if (!stopped && session.endedAt === null && (await hasUnread(unit, pass.turnId))) {
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
        await endPass(unit, {
          passId: id,
          state: 'failed',
          givenUp: true,
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

/** The calls of a pass that nobody takes up again: what they had taken and not told is told by a note (R7). */
async function closeCalls(unit: Unit, passId: PassId): Promise<void> {
  await unit.db.$executeRaw`
    UPDATE executions SET continuation = 'due', continued_at = NULL, result_taken_at = NULL
    WHERE continuation = 'woken' AND result_taken_at IS NOT NULL
      AND tool_call_id IN (SELECT id FROM tool_calls WHERE pass_id = ${passId}::uuid AND state = 'running')`;
  await unit.db.$executeRaw`
    UPDATE tool_calls SET success = false, ended_at = clock_timestamp(),
      state = CASE state WHEN 'running' THEN 'unknown'::tool_call_state ELSE 'failed' END
    WHERE pass_id = ${passId}::uuid AND state IN ('requested', 'running')`;
}

async function waitForOperator(unit: Unit, session: Session, why: string): Promise<void> {
  // What ran by the clock in a task that is stopped does not end the stop (T14).
  if (session.endedAt !== null || isStoppedTask(session)) return;
  await unit.db.session.update({
    where: { id: session.id },
    data: { pausedReason: cutLabel(why, PAUSED_CHARACTERS) },
  });
  unit.emit({
    type: 'session.changed',
    sessionId: session.id,
    refId: session.id,
    data: { what: 'paused' },
  });
}
