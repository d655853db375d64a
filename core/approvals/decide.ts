import type { Unit } from '../db/database.ts';
import type { Approval, DecisionMeans, Execution } from '../db/rows.ts';
import { transition } from '../executions/states.ts';
import { NotFoundError } from '../errors.ts';
import { faultPoint } from '../faults.ts';
import { newId, type ApprovalId, type EntityId, type SessionId, type TurnId } from '../ids.ts';
import { roleCovers, type Operator, type Role } from '../operators.ts';
import { openGrant } from '../policy/grants.ts';
import { isPaused } from '../policy/pause.ts';
import { addNote } from '../tasks/messages.ts';
import { databaseNow, lockSession } from '../tasks/lock.ts';
import { refreshStatus } from '../tasks/status.ts';
import { expireApproval } from './expire.ts';
import { denialNote } from './notes.ts';

/** Someone's word on an approval, by whatever means it came. */
export interface Decision {
  approvalId: ApprovalId;
  verdict: 'approve' | 'deny';
  operator: Operator;
  means: DecisionMeans;
  /** The event or request that carried it, and its words: kept with the approval (A8). */
  eventId?: string | undefined;
  words?: string | undefined;
  /** Why it was denied: the agent reads it (A17). */
  reason?: string | undefined;
  /** The caller recognised a typed confirmation in `words`; nothing else approves what is destructive (A3). */
  typedConfirmation?: boolean | undefined;
}

/** What a decision came to. Exactly one of all that come is applied (A7, R3). */
export type DecisionResult =
  | { kind: 'approved'; executions: string[] }
  | { kind: 'denied' }
  | { kind: 'voted'; have: number; need: number }
  | { kind: 'already'; status: Approval['status']; by: string | null; at: Date | null }
  | { kind: 'expired' }
  | { kind: 'needs_typed' }
  | { kind: 'not_allowed'; why: string };

/**
 * The one place that approves or denies: taps, words, commands and the API all come here. Locks the task and the
 * approval, so that of several at once the first wins and the others are told who decided and when.
 */
export async function decide(unit: Unit, decision: Decision): Promise<DecisionResult> {
  const approval = await lockApproval(unit, decision.approvalId);
  if (approval.status !== 'pending') {
    return {
      kind: 'already',
      status: approval.status,
      by: approval.decidedBy,
      at: approval.decidedAt,
    };
  }
  if (approval.expiresAt <= (await databaseNow(unit))) {
    await expireApproval(unit, approval);
    return { kind: 'expired' };
  }
  const refusal = mayDecide(decision.operator, approval);
  if (refusal !== undefined) {
    unit.audit({
      actor: decision.operator.userId,
      action: 'approval.refused',
      sessionId: approval.sessionId,
      subject: approval.id,
      data: { why: refusal, means: decision.means, event: decision.eventId ?? null },
    });
    return { kind: 'not_allowed', why: refusal };
  }
  if (decision.verdict === 'deny') {
    await deny(unit, approval, decision);
    return { kind: 'denied' };
  }
  if (approval.needsTyped && decision.typedConfirmation !== true) {
    unit.emit({
      type: 'approval.hint',
      sessionId: approval.sessionId,
      refId: approval.id,
      data: { operator: decision.operator.userId },
    });
    return { kind: 'needs_typed' };
  }
  const have = await vote(unit, approval, decision);
  if (have < approval.needsPeople) {
    unit.emit({ type: 'approval.voted', sessionId: approval.sessionId, refId: approval.id });
    return { kind: 'voted', have, need: approval.needsPeople };
  }
  await faultPoint('approval.before_approve');
  return { kind: 'approved', executions: await approve(unit, approval, decision) };
}

async function lockApproval(unit: Unit, approvalId: ApprovalId): Promise<Approval> {
  const found = await unit.db.approval.findUnique({
    where: { id: approvalId },
    select: { sessionId: true },
  });
  if (found === null) throw new NotFoundError('approval', approvalId);
  if (found.sessionId !== null) await lockSession(unit, found.sessionId as SessionId);
  await unit.db.$queryRaw`SELECT id FROM approvals WHERE id = ${approvalId}::uuid FOR UPDATE`;
  return unit.db.approval.findUniqueOrThrow({ where: { id: approvalId } });
}

function mayDecide(operator: Operator, approval: Approval): string | undefined {
  if (!roleCovers(operator.role, approval.needsRole as Role)) {
    return `You are a ${operator.role}; this needs ${approval.needsRole === 'admin' ? 'an admin' : 'an approver'}.`;
  }
  return undefined;
}

/** Counts this person's yes once, and gives how many different people have said it (A15). */
async function vote(unit: Unit, approval: Approval, decision: Decision): Promise<number> {
  await unit.db.approvalVote.createMany({
    data: {
      id: newId(),
      approvalId: approval.id,
      operator: decision.operator.userId,
      means: decision.means,
      eventId: decision.eventId ?? null,
      words: decision.words ?? null,
    },
    skipDuplicates: true,
  });
  return unit.db.approvalVote.count({ where: { approvalId: approval.id } });
}

async function approve(unit: Unit, approval: Approval, decision: Decision): Promise<string[]> {
  await record(unit, approval, decision, 'approved');
  const executions = await waitingExecutions(unit, approval);
  const mover = {
    actor: decision.operator.userId,
    data: { approval: approval.id, means: decision.means, event: decision.eventId ?? null },
  };
  const started: string[] = [];
  for (const execution of executions) {
    const approved = await transition(unit, execution, 'pending_approval', 'approved', mover, {
      allowedBy: 'approval',
    });
    if (!approved) continue;
    await transition(unit, execution, 'approved', 'queued', mover, { queuedAt: new Date() });
    started.push(execution.id);
  }
  await openGrants(unit, approval, executions, decision.operator.userId);
  await afterDecision(unit, approval);
  return started;
}

/** Approving anything opens the task's grant; what is destructive also opens the one for its target (A9, A10). */
async function openGrants(
  unit: Unit,
  approval: Approval,
  executions: readonly Execution[],
  by: string,
): Promise<void> {
  if (approval.sessionId === null || (await isPaused(unit.db))) return;
  const grant = {
    sessionId: approval.sessionId as SessionId,
    approvalId: approval.id as ApprovalId,
    by,
  };
  await openGrant(unit, grant);
  if (approval.risk !== 'destructive') return;
  const targets = new Set(executions.map((execution) => execution.entityId as EntityId));
  for (const target of targets) await openGrant(unit, { ...grant, target });
}

async function deny(unit: Unit, approval: Approval, decision: Decision): Promise<void> {
  await record(unit, approval, decision, 'denied');
  const executions = await waitingExecutions(unit, approval);
  const mover = {
    actor: decision.operator.userId,
    data: { approval: approval.id, means: decision.means, event: decision.eventId ?? null },
  };
  for (const execution of executions) {
    await transition(unit, execution, 'pending_approval', 'denied', mover, {
      endedAt: new Date(),
      error: decision.reason ?? null,
      continuation: 'woken',
      continuedAt: new Date(),
    });
  }
  if (approval.sessionId !== null && approval.turnId !== null) {
    await addNote(unit, {
      sessionId: approval.sessionId as SessionId,
      turnId: approval.turnId as TurnId,
      text: denialNote(executions, decision.reason),
      wake: 'decision',
    });
  }
  await afterDecision(unit, approval);
}

async function record(
  unit: Unit,
  approval: Approval,
  decision: Decision,
  status: 'approved' | 'denied',
): Promise<void> {
  await unit.db.approval.update({
    where: { id: approval.id },
    data: {
      status,
      decidedBy: decision.operator.userId,
      decidedAt: await databaseNow(unit),
      decidedMeans: decision.means,
      decidedEvent: decision.eventId ?? null,
      decidedWords: decision.words ?? null,
      reason: decision.reason ?? null,
    },
  });
  unit.emit({
    type: 'approval.decided',
    sessionId: approval.sessionId,
    refId: approval.id,
    data: { status },
  });
  unit.audit({
    actor: decision.operator.userId,
    action: `approval.${status}`,
    sessionId: approval.sessionId,
    subject: approval.id,
    data: {
      means: decision.means,
      event: decision.eventId ?? null,
      words: decision.words ?? null,
      reason: decision.reason ?? null,
      hash: approval.subjectHash,
    },
  });
}

async function waitingExecutions(unit: Unit, approval: Approval): Promise<Execution[]> {
  return unit.db.execution.findMany({
    where: { approvalId: approval.id, status: 'pending_approval' },
    orderBy: { createdAt: 'asc' },
  });
}

async function afterDecision(unit: Unit, approval: Approval): Promise<void> {
  if (approval.sessionId === null) return;
  const sessionId = approval.sessionId as SessionId;
  await unit.db.session.update({
    where: { id: sessionId },
    data: { lastActivityAt: new Date(), nudgedAt: null, pausedReason: null },
  });
  await refreshStatus(unit, sessionId);
}
