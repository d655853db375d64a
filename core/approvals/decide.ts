import type { Unit } from '../db/database.ts';
import type { Approval, DecisionMeans } from '../db/rows.ts';
import { faultPoint } from '../faults.ts';
import { newId, type ApprovalId } from '../ids.ts';
import { roleCovers, type Operator, type Operators, type Role } from '../operators.ts';
import { databaseNow } from '../tasks/lock.ts';
import { approve, deny } from './carry-out.ts';
import { expireApproval } from './expire.ts';
import { lockApproval } from './lock.ts';

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
  /**
   * Whether all that an approval covers has been shown where the words or the tap came from (A16): nobody approves by them
   * what could not be seen. Left out by a caller that has shown it itself, as the API does.
   */
  isShown?: ((approvalId: ApprovalId) => Promise<boolean>) | undefined;
  /**
   * Who is an operator now: where several people are needed, a yes counts only while whoever said it may still decide (A15).
   * Left out: every yes counts.
   */
  operators?: Pick<Operators, 'roleOf'> | undefined;
}

/** What a decision came to. Exactly one of all that come is applied (A7, R3). */
export type DecisionResult =
  | { kind: 'approved'; executions: string[] }
  | { kind: 'denied' }
  | { kind: 'voted'; have: number; need: number; again: boolean }
  | { kind: 'already'; status: Approval['status']; by: string | null; at: Date | null }
  | { kind: 'expired' }
  | { kind: 'needs_typed' }
  | { kind: 'not_shown' }
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
  if ((await decision.isShown?.(approval.id as ApprovalId)) === false) {
    return { kind: 'not_shown' };
  }
  const { have, again } = await vote(unit, approval, decision);
  if (have < approval.needsPeople) {
    unit.emit({ type: 'approval.voted', sessionId: approval.sessionId, refId: approval.id });
    return { kind: 'voted', have, need: approval.needsPeople, again };
  }
  await faultPoint('approval.before_approve');
  return { kind: 'approved', executions: await approve(unit, approval, decision) };
}

function mayDecide(operator: Operator, approval: Approval): string | undefined {
  if (!roleCovers(operator.role, approval.needsRole as Role)) {
    return `You are ${operator.role === 'viewer' ? 'a viewer' : 'an approver'}; this needs ${approval.needsRole === 'admin' ? 'an admin' : 'an approver'}.`;
  }
  return undefined;
}

/** Counts this person's yes once, and gives how many different people have said it (A15). */
async function vote(
  unit: Unit,
  approval: Approval,
  decision: Decision,
): Promise<{ have: number; again: boolean }> {
  const { count } = await unit.db.approvalVote.createMany({
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
  if (count > 0 && approval.needsPeople > 1) {
    unit.audit({
      actor: decision.operator.userId,
      action: 'approval.voted',
      sessionId: approval.sessionId,
      subject: approval.id,
      data: {
        means: decision.means,
        event: decision.eventId ?? null,
        words: decision.words ?? null,
        hash: approval.subjectHash,
      },
    });
  }
  // They may decide: that was seen to before.
  if (approval.needsPeople === 1) return { have: 1, again: count === 0 };
  const votes = await unit.db.approvalVote.findMany({
    where: { approvalId: approval.id },
    select: { operator: true },
  });
  const have = votes.filter(({ operator }) => {
    if (decision.operators === undefined) return true;
    const role = decision.operators.roleOf(operator);
    return role !== undefined && roleCovers(role, approval.needsRole as Role);
  }).length;
  return { have, again: count === 0 };
}
