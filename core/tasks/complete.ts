import type { Unit } from '../db/database.ts';
import type { ExecutionStatus, SessionOutcome } from '../db/rows.ts';
import { transition } from '../executions/states.ts';
import type { SessionId } from '../ids.ts';
import { learnFromTask } from '../knowledge/learn.ts';
import { closeGrants } from '../policy/grants.ts';
import { settleSignalsOf } from '../signals/operate.ts';
import { lockSession } from './lock.ts';

/** What ending a task took with it. */
export interface Completion {
  ended: boolean;
  cancelled: number;
  stillRunning: number;
}

const OPEN = [
  'pending_approval',
  'approved',
  'queued',
] as const satisfies readonly ExecutionStatus[];

/** The outcome that a model's word stands for; one that is not known becomes partial (T6). */
export function readOutcome(word: string): SessionOutcome {
  const folded = word.trim().toLowerCase();
  return folded === 'success' || folded === 'failure' ? folded : 'partial';
}

/**
 * Ends a task (T10): cancels its open executions and approvals, marks every one of them as not to be continued, closes
 * its grants and questions. Commands that run already go on to their end, without waking the task. Does nothing to a task
 * that has ended.
 */
export async function completeTask(
  unit: Unit,
  args: { sessionId: SessionId; outcome: SessionOutcome; summary: string; by: string },
): Promise<Completion> {
  const session = await lockSession(unit, args.sessionId);
  if (session.endedAt !== null) return { ended: false, cancelled: 0, stillRunning: 0 };
  const cancelled = await cancelOpen(unit, args.sessionId, args.by, 'the task ended');
  const stillRunning = await unit.db.execution.count({
    where: { sessionId: args.sessionId, status: 'running' },
  });
  await unit.db.execution.updateMany({
    where: { sessionId: args.sessionId, continuation: { in: ['awaited', 'due'] } },
    data: { continuation: 'suppressed' },
  });
  await closeGrants(unit, { sessionId: args.sessionId, reason: 'the task ended', by: args.by });
  await cancelQuestions(unit, args.sessionId);
  if (args.outcome === 'success') await learnFromTask(unit, session);
  const status = args.outcome === 'failure' ? 'failed' : 'done';
  await unit.db.session.update({
    where: { id: args.sessionId },
    data: {
      status,
      outcome: args.outcome,
      summary: args.summary,
      endedAt: new Date(),
      lastActivityAt: new Date(),
    },
  });
  unit.emit({
    type: 'session.changed',
    sessionId: args.sessionId,
    refId: args.sessionId,
    data: { what: 'status', from: session.status, to: status },
  });
  unit.emit({
    type: 'session.ended',
    sessionId: args.sessionId,
    refId: args.sessionId,
    data: { outcome: args.outcome },
  });
  await settleSignalsOf(unit, args.sessionId, args.outcome === 'success');
  unit.audit({
    actor: args.by,
    action: 'task.ended',
    sessionId: args.sessionId,
    subject: `task:${session.shortId}`,
    data: { outcome: args.outcome, cancelled, stillRunning },
  });
  return { ended: true, cancelled, stillRunning };
}

/** Cancels what has not started yet, with the approvals that it waited for. The caller holds the task's lock. */
export async function cancelOpen(
  unit: Unit,
  sessionId: SessionId,
  by: string,
  reason: string,
): Promise<number> {
  const open = await unit.db.execution.findMany({
    where: { sessionId, status: { in: [...OPEN] } },
    orderBy: { createdAt: 'asc' },
  });
  let cancelled = 0;
  for (const execution of open) {
    const moved = await transition(
      unit,
      execution,
      execution.status,
      'cancelled',
      { actor: by, data: { reason } },
      { error: reason },
    );
    if (moved) cancelled++;
  }
  const approvals = await unit.db.approval.findMany({
    where: { sessionId, status: 'pending' },
    select: { id: true },
  });
  for (const { id } of approvals) {
    await unit.db.approval.update({ where: { id }, data: { status: 'cancelled', reason } });
    unit.emit({ type: 'approval.decided', sessionId, refId: id, data: { status: 'cancelled' } });
  }
  return cancelled;
}

async function cancelQuestions(unit: Unit, sessionId: SessionId): Promise<void> {
  const open = await unit.db.question.findMany({
    where: { sessionId, status: 'open' },
    select: { id: true },
  });
  for (const { id } of open) {
    await unit.db.question.update({ where: { id }, data: { status: 'cancelled' } });
    unit.emit({ type: 'question.cancelled', sessionId, refId: id });
  }
}
