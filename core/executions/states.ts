import { joinSql, noSql, sql, type Sql, type Unit } from '../db/database.ts';
import { lockRow } from '../db/lock-row.ts';
import type { Execution, ExecutionStatus } from '../db/rows.ts';
import type { ExecutionId, SessionId } from '../ids.ts';
import { leases } from '../leases.ts';
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

/** How the columns that may change together with the status are written. */
const COLUMNS = {
  allowedBy: (value) => sql`allowed_by = ${value}::allowed_by`,
  grantId: (value) => sql`grant_id = ${value}::uuid`,
  approvalId: (value) => sql`approval_id = ${value}::uuid`,
  startedAt: (value) => sql`started_at = ${value}`,
  leaseOwner: (value) => sql`lease_owner = ${value}`,
  leaseUntil: (value) => sql`lease_until = ${value}`,
  exitCode: (value) => sql`exit_code = ${value}`,
  signal: (value) => sql`signal = ${value}`,
  stdout: (value) => sql`stdout = ${value}`,
  stderr: (value) => sql`stderr = ${value}`,
  stdoutBytes: (value) => sql`stdout_bytes = ${value}`,
  stderrBytes: (value) => sql`stderr_bytes = ${value}`,
  tail: (value) => sql`tail = ${value}`,
  errorCode: (value) => sql`error_code = ${value}`,
  error: (value) => sql`error = ${value}`,
  continuation: (value) => sql`continuation = ${value}::continuation`,
  continuedAt: (value) => sql`continued_at = ${value}`,
} satisfies { [Key in keyof Execution]?: (value: Execution[Key]) => Sql };

/** The columns that may change together with the status. */
export type ExecutionChange = Partial<Pick<Execution, keyof typeof COLUMNS>>;

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
  const count = await unit.db.$executeRaw`
    UPDATE executions SET ${joinSql([sql`status = ${to}::execution_status`, ...stamps(to, change), ...written(change)])}
    WHERE id = ${execution.id}::uuid AND status = ${from}::execution_status
      ${mover.leaseOwner === undefined ? noSql : sql`AND lease_owner = ${mover.leaseOwner}`}`;
  if (count === 0) return false;
  recordMove(unit, execution, from, to, mover);
  if (isFinal(to) && execution.sessionId !== null) {
    const sessionId = execution.sessionId as SessionId;
    const how = to === 'completed' ? 'done' : 'failed';
    await closeLinkedStep(unit, sessionId, execution.id as ExecutionId, how);
  }
  return true;
}

/**
 * When a move happened, by the database's clock like all that times are compared with, whatever the worker's says (R14). What
 * starts to run is leased from then on; what waits again was not queued. `change` may know its start better.
 */
function stamps(to: ExecutionStatus, change: ExecutionChange): Sql[] {
  if (isFinal(to)) return [sql`ended_at = clock_timestamp()`];
  switch (to) {
    case 'queued':
      return [sql`queued_at = clock_timestamp()`];
    case 'pending_approval':
      return [sql`queued_at = NULL`];
    case 'running':
      return [
        ...(change.startedAt === undefined ? [sql`started_at = clock_timestamp()`] : []),
        sql`lease_until = clock_timestamp() + ${leases().leaseMs} * interval '1 millisecond'`,
      ];
    default:
      return [];
  }
}

function written(change: ExecutionChange): Sql[] {
  return Object.entries(change).map(([column, value]) => {
    const write: (value: never) => Sql = COLUMNS[column as keyof ExecutionChange];
    return write(value as never);
  });
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
  return (await lockRow(unit, 'executions', id)) ?? null;
}
