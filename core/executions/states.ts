import type { Unit } from '../db/database.ts';
import type { Execution, ExecutionStatus } from '../db/rows.ts';
import type { ExecutionId, SessionId } from '../ids.ts';
import { closeLinkedStep } from '../tasks/plan.ts';

/**
 * Which status may follow which (design 5). Back from `queued` to `pending_approval` goes what a class or a grant had
 * allowed when the kill switch was thrown or the grant ended before the command started.
 */
export const TRANSITIONS: Readonly<Record<ExecutionStatus, readonly ExecutionStatus[]>> = {
  requested: ['pending_approval', 'queued'],
  pending_approval: ['approved', 'denied', 'revoked', 'expired', 'cancelled'],
  approved: ['queued', 'revoked', 'cancelled'],
  queued: ['running', 'pending_approval', 'revoked', 'cancelled'],
  running: ['completed', 'failed', 'cancelled', 'unknown'],
  completed: [],
  failed: [],
  denied: [],
  revoked: [],
  expired: [],
  cancelled: [],
  unknown: [],
};

/** The statuses that nothing follows. */
export const FINAL_STATUSES: readonly ExecutionStatus[] = (
  Object.keys(TRANSITIONS) as ExecutionStatus[]
).filter((status) => TRANSITIONS[status].length === 0);

/** Whether nothing can follow this status. */
export function isFinal(status: ExecutionStatus): boolean {
  return TRANSITIONS[status].length === 0;
}

/** The columns that may change together with the status. */
export type ExecutionChange = Partial<
  Pick<
    Execution,
    | 'allowedBy'
    | 'grantId'
    | 'approvalId'
    | 'queuedAt'
    | 'startedAt'
    | 'endedAt'
    | 'leaseOwner'
    | 'leaseUntil'
    | 'exitCode'
    | 'signal'
    | 'stdout'
    | 'stderr'
    | 'stdoutBytes'
    | 'stderrBytes'
    | 'tail'
    | 'errorCode'
    | 'error'
    | 'continuation'
    | 'continuedAt'
  >
>;

/** Who moves an execution, for the audit log, and what else is worth keeping there. */
export interface Mover {
  actor: string;
  data?: Record<string, unknown>;
  /** The move holds only while this worker has the lease. */
  leaseOwner?: string;
}

/**
 * Moves an execution from one status to another: the only code that writes the status. One conditional UPDATE, with its
 * event and audit entry in the same transaction; its end, whichever it is, closes the plan step that it is linked to (J8). Returns whether it moved; false means that it was no longer in `from`
 * (or no longer leased by `mover.leaseOwner`), and nothing was written.
 *
 * Throws on a transition that the table above does not have: that is a fault of the program.
 */
export async function transition(
  unit: Unit,
  execution: { id: string; sessionId: string | null; targetSlug: string },
  from: ExecutionStatus,
  to: ExecutionStatus,
  mover: Mover,
  change: ExecutionChange = {},
): Promise<boolean> {
  if (!TRANSITIONS[from].includes(to)) {
    throw new Error(`execution ${execution.id}: no way from ${from} to ${to}`);
  }
  const { count } = await unit.db.execution.updateMany({
    where: {
      id: execution.id,
      status: from,
      ...(mover.leaseOwner === undefined ? {} : { leaseOwner: mover.leaseOwner }),
    },
    data: { ...change, status: to },
  });
  if (count === 0) return false;
  await stampMove(unit, execution.id, to);
  recordMove(unit, execution, from, to, mover);
  if (isFinal(to) && execution.sessionId !== null) {
    const sessionId = execution.sessionId as SessionId;
    const how = to === 'completed' ? 'done' : 'failed';
    await closeLinkedStep(unit, sessionId, execution.id as ExecutionId, how);
  }
  return true;
}

/** When a move happened, by the database's clock like all that times are compared with, whatever the worker's says. */
async function stampMove(unit: Unit, id: string, to: ExecutionStatus): Promise<void> {
  if (to === 'queued') {
    await unit.db
      .$executeRaw`UPDATE executions SET queued_at = clock_timestamp() WHERE id = ${id}::uuid`;
  } else if (isFinal(to)) {
    await unit.db
      .$executeRaw`UPDATE executions SET ended_at = clock_timestamp() WHERE id = ${id}::uuid`;
  }
}

/** The event and the audit entry of a move; also for the first status, which an INSERT writes. */
export function recordMove(
  unit: Unit,
  execution: { id: string; sessionId: string | null; targetSlug: string },
  from: ExecutionStatus,
  to: ExecutionStatus,
  mover: Mover,
): void {
  unit.emit({
    type: 'execution.changed',
    sessionId: execution.sessionId,
    refId: execution.id,
    data: { from, to },
  });
  unit.audit({
    actor: mover.actor,
    action: `execution.${to}`,
    sessionId: execution.sessionId,
    subject: execution.id,
    data: { target: execution.targetSlug, from, ...mover.data },
  });
}

/** An execution's row, locked for the rest of the transaction. */
export async function lockExecution(unit: Unit, id: ExecutionId): Promise<Execution | null> {
  await unit.db.$queryRaw`SELECT id FROM executions WHERE id = ${id}::uuid FOR UPDATE`;
  return unit.db.execution.findUnique({ where: { id } });
}
