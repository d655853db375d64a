import type { Unit } from '../db/database.ts';
import { NotFoundError } from '../errors.ts';
import type { ExecutionId, SessionId } from '../ids.ts';
import { lockSession } from '../tasks/lock.ts';
import { refreshStatus } from '../tasks/status.ts';
import { wakeForEnd } from './finish.ts';
import { isFinal, lockExecution, transition } from './states.ts';

/** What a request to cancel came to. `requested`: it runs, and its worker was told to end it on the target (X5). */
export type CancelResult = 'cancelled' | 'requested' | 'already_ended';

/** Cancels an execution: at once when it has not started, else through the worker that runs it. */
export async function requestCancel(
  unit: Unit,
  args: { executionId: ExecutionId; by: string },
): Promise<CancelResult> {
  const found = await unit.db.execution.findUnique({
    where: { id: args.executionId },
    select: { sessionId: true },
  });
  if (found === null) throw new NotFoundError('execution', args.executionId);
  if (found.sessionId !== null) await lockSession(unit, found.sessionId as SessionId);
  const execution = await lockExecution(unit, args.executionId);
  if (execution === null || isFinal(execution.status)) return 'already_ended';
  if (execution.status === 'running') {
    if (execution.cancelRequestedAt === null) {
      await unit.db.execution.update({
        where: { id: execution.id },
        data: { cancelRequestedAt: new Date(), cancelRequestedBy: args.by },
      });
      unit.audit({
        actor: args.by,
        action: 'execution.cancel_requested',
        sessionId: execution.sessionId,
        subject: execution.id,
      });
      unit.emit({
        type: 'execution.cancel_requested',
        sessionId: execution.sessionId,
        refId: execution.id,
      });
    }
    return 'requested';
  }
  await transition(
    unit,
    execution,
    execution.status,
    'cancelled',
    { actor: args.by },
    {
      error: 'It was cancelled before it started.',
    },
  );
  await closeEmptyApproval(unit, execution.approvalId, execution.sessionId);
  if (execution.continuation === 'due') {
    const ended = await unit.db.execution.findUniqueOrThrow({ where: { id: execution.id } });
    await wakeForEnd(unit, ended);
  }
  if (execution.sessionId !== null) await refreshStatus(unit, execution.sessionId as SessionId);
  return 'cancelled';
}

/** An approval whose last execution was cancelled waits for nothing any more. */
async function closeEmptyApproval(
  unit: Unit,
  approvalId: string | null,
  sessionId: string | null,
): Promise<void> {
  if (approvalId === null) return;
  const left = await unit.db.execution.count({ where: { approvalId, status: 'pending_approval' } });
  if (left > 0) return;
  const { count } = await unit.db.approval.updateMany({
    where: { id: approvalId, status: 'pending' },
    data: { status: 'cancelled', reason: 'its command was cancelled' },
  });
  if (count > 0) {
    unit.emit({
      type: 'approval.decided',
      sessionId,
      refId: approvalId,
      data: { status: 'cancelled' },
    });
  }
}
