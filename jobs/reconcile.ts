import { expireDueApprovals } from '../core/approvals/expire.ts';
import { remindOfWaiting } from '../core/approvals/remind.ts';
import type { Database } from '../core/db/database.ts';
import { eachAlone } from '../core/db/each-alone.ts';
import { settleAfterClockJump } from '../core/clock-jumps.ts';
import { wakeForEnd } from '../core/executions/finish.ts';
import type { ExecutionId, SessionId } from '../core/ids.ts';
import type { CrashWatch } from '../core/liveness.ts';
import { log } from '../core/log.ts';
import { closeEndedGrants } from '../core/policy/ended-grants.ts';
import { lockSession } from '../core/tasks/lock.ts';
import { closeLostCalls } from '../core/tasks/lost-calls.ts';
import { requeueLostPasses } from '../core/tasks/passes.ts';
import { runDueSchedules } from '../core/tasks/schedules.ts';
import type { Producer } from './queues.ts';

// Times of the future are of a clock that was set back since: they count as long ago.
/** How old a queued row must be before it counts as forgotten: the event's own hand-over is much faster. */
const FORGOTTEN_MS = 3_000;
/** A result that a pass waited for, which nobody took for so long, is told by a note instead. */
const UNTAKEN_MS = 60_000;

/** What a look found and set right. */
export interface Reconciled {
  executions: number;
  passes: number;
  reattached: number;
  expired: number;
  reminded: number;
  woken: number;
  scheduled: number;
}

/** What the reconciliation works with. `resume` attaches to a running execution whose worker is gone. */
export interface ReconcileDeps {
  database: Database;
  producer: Producer;
  crashes: CrashWatch;
  resume: (id: ExecutionId) => void;
  /** By the configuration of this process. */
  isOperator: (userId: string) => boolean;
}

/**
 * Sets right whatever is left over (J6), from Postgres alone: everything in Redis can be lost at any time (R8). Run at
 * start and then every few seconds; each step is conditional, so that any number of processes may do it.
 */
export async function reconcile(deps: ReconcileDeps): Promise<Reconciled> {
  const { database, producer } = deps;
  await settleAfterClockJump(database);
  await closeEndedGrants(database);
  await deps.crashes.look();
  await requeueLostPasses(database);
  await closeLostCalls(database);
  const round = Math.floor(Date.now() / 30_000).toString(36);

  const lost = await database.read.$queryRaw<Array<{ id: ExecutionId }>>`
    SELECT id FROM executions
    WHERE status = 'running' AND (lease_until IS NULL OR lease_until < clock_timestamp())`;
  for (const { id } of lost) deps.resume(id);

  const queued = await database.read.$queryRaw<Array<{ id: string }>>`
    SELECT id FROM executions
    WHERE status = 'queued'
      AND queued_at NOT BETWEEN clock_timestamp() - ${FORGOTTEN_MS} * interval '1 millisecond' AND clock_timestamp()`;
  for (const { id } of queued) await producer.execution(id, `again-${round}`);

  const passes = await database.read.$queryRaw<Array<{ id: string }>>`
    SELECT DISTINCT ON (p.session_id) p.id FROM passes p
    WHERE p.state = 'queued'
      AND p.created_at NOT BETWEEN clock_timestamp() - ${FORGOTTEN_MS} * interval '1 millisecond' AND clock_timestamp()
      AND (p.not_before IS NULL OR p.not_before <= clock_timestamp())
      AND NOT EXISTS (SELECT FROM passes r WHERE r.session_id = p.session_id AND r.state = 'running')
    ORDER BY p.session_id, p.seq`;
  for (const { id } of passes) await producer.pass(id, `again-${round}`);

  const result = {
    executions: queued.length,
    passes: passes.length,
    reattached: lost.length,
    expired: await expireDueApprovals(database),
    reminded: await remindOfWaiting(database),
    woken: await wakeUntaken(database),
    scheduled: await runDueSchedules(database, deps.isOperator),
  };
  if (Object.values(result).some((count) => count > 0)) log.info(result, 'reconciled');
  return result;
}

/** Results that a pass waited for, whose pass is gone: the agent is woken for them like for any other (R7). */
export async function wakeUntaken(database: Database): Promise<number> {
  const untaken = await database.read.$queryRaw<Array<{ id: string; session_id: SessionId }>>`
    SELECT e.id, e.session_id FROM executions e
    WHERE e.session_id IS NOT NULL
      AND e.status IN ('completed', 'failed', 'cancelled', 'unknown')
      AND NOT EXISTS (SELECT FROM executions o WHERE o.batch_id = e.batch_id
        AND o.status IN ('requested', 'pending_approval', 'approved', 'queued', 'running'))
      AND (e.continuation = 'due' OR (e.continuation = 'awaited'
        AND e.ended_at NOT BETWEEN clock_timestamp() - ${UNTAKEN_MS} * interval '1 millisecond' AND clock_timestamp()
        AND NOT EXISTS (SELECT FROM passes p WHERE p.id = e.pass_id AND p.state IN ('queued', 'running'))))`;
  return eachAlone(database, 'wake-up', untaken, async ({ id, session_id: sessionId }) =>
    database.write(async (unit) => {
      await lockSession(unit, sessionId);
      const execution = await unit.db.execution.findUniqueOrThrow({ where: { id } });
      return wakeForEnd(unit, execution);
    }),
  );
}
