import type { Unit } from '../db/database.ts';
import type { Approval } from '../db/rows.ts';
import { tellRest } from '../executions/finish.ts';
import { transition } from '../executions/states.ts';
import type { ApprovalId, SessionId, TurnId } from '../ids.ts';
import type { Operator } from '../operators.ts';
import { closeGrants } from '../policy/grants.ts';
import { isPaused } from '../policy/pause.ts';
import { addNote } from '../tasks/messages.ts';
import { refreshStatus } from '../tasks/status.ts';
import { lockApproval } from './lock.ts';
import { planWithdrawalNote, withdrawalNote } from './notes.ts';

/** What taking back an approval came to. `nothing_left`: what it had allowed never started, and will not by it. */
export type Withdrawal = { kind: 'withdrawn' | 'too_late' | 'nothing_left' | 'not_yours' };

/**
 * Takes an approval back before its command started (A7): the executions that did not start are revoked and the grant
 * that it opened is closed. That of a plan, or of what was asked for again since, can be taken back while its grant is open:
 * what has started goes on. Only for who decided, alone or as one of
 * several, and only by taking back the very event that carried their yes.
 */
export async function withdraw(
  unit: Unit,
  args: { approvalId: ApprovalId; operator: Operator; eventId: string },
): Promise<Withdrawal> {
  const approval = await lockApproval(unit, args.approvalId);
  if (approval.status === 'pending') {
    // One of several people who are needed takes their yes back.
    const { count } = await unit.db.approvalVote.deleteMany({
      where: { approvalId: approval.id, operator: args.operator.userId, eventId: args.eventId },
    });
    if (count === 0) return { kind: 'not_yours' };
    unit.emit({ type: 'approval.voted', sessionId: approval.sessionId, refId: approval.id });
    unit.audit({
      actor: args.operator.userId,
      action: 'approval.vote_withdrawn',
      sessionId: approval.sessionId,
      subject: approval.id,
      data: { event: args.eventId },
    });
    return { kind: 'withdrawn' };
  }
  if (!(await wasTheirs(unit, approval, args))) return { kind: 'not_yours' };
  if (approval.status !== 'approved') return { kind: 'too_late' };

  await unit.db
    .$queryRaw`SELECT id FROM executions WHERE approval_id = ${approval.id}::uuid FOR UPDATE`;
  const executions = await unit.db.execution.findMany({
    where: { approvalId: approval.id, status: { in: ['approved', 'queued'] } },
    orderBy: { createdAt: 'asc' },
  });
  const plan = approval.kind === 'plan';
  // What was asked for again before it started waits for a new approval: of this one only the grant is left.
  const only =
    plan || (await unit.db.execution.count({ where: { approvalId: approval.id } })) === 0;
  // A plan that was approved while the kill switch is on has no grant; the agent was told to act on it all the same.
  const stands = async (): Promise<boolean> =>
    (await grantIsOpen(unit, args.approvalId)) ||
    (plan && (await isPaused(unit.db)) && (await isToBeActedOn(unit, approval)));
  if (executions.length === 0 && !(only && (await stands()))) {
    const started = await unit.db.execution.count({
      where: { approvalId: approval.id, startedAt: { not: null } },
    });
    return { kind: plan || started > 0 ? 'too_late' : 'nothing_left' };
  }
  for (const execution of executions) {
    await transition(
      unit,
      execution,
      execution.status,
      'revoked',
      { actor: args.operator.userId },
      {
        error: 'the approval was withdrawn',
        continuation: 'woken',
        continuedAt: new Date(),
      },
    );
  }
  await unit.db.approval.update({ where: { id: approval.id }, data: { status: 'withdrawn' } });
  unit.emit({
    type: 'approval.decided',
    sessionId: approval.sessionId,
    refId: approval.id,
    data: { status: 'withdrawn' },
  });
  unit.audit({
    actor: args.operator.userId,
    action: 'approval.withdrawn',
    sessionId: approval.sessionId,
    subject: approval.id,
    data: { event: args.eventId, revoked: executions.length },
  });
  await closeGrants(unit, {
    approvalId: args.approvalId,
    reason: 'the approval was withdrawn',
    by: args.operator.userId,
  });
  const told = plan || executions.length > 0;
  if (told && approval.sessionId !== null && approval.turnId !== null) {
    await addNote(unit, {
      sessionId: approval.sessionId as SessionId,
      turnId: approval.turnId as TurnId,
      text: plan ? planWithdrawalNote(approval.shortId) : withdrawalNote(executions),
      wake: 'decision',
      of: approval.passId,
    });
    await tellRest(unit, executions);
    await refreshStatus(unit, approval.sessionId as SessionId);
  }
  return { kind: 'withdrawn' };
}

/** Whether the event carried this person's yes: the deciding one, or that of one of the several people who were needed. */
async function wasTheirs(
  unit: Unit,
  approval: Approval,
  { operator, eventId }: { operator: Operator; eventId: string },
): Promise<boolean> {
  if (approval.decidedBy === operator.userId && approval.decidedEvent === eventId) return true;
  const votes = await unit.db.approvalVote.count({
    where: { approvalId: approval.id, operator: operator.userId, eventId },
  });
  return votes > 0;
}

/** Whether a plan was approved without a grant, in a task that goes on: what it had allowed before the switch was thrown is done. */
async function isToBeActedOn(unit: Unit, { id, sessionId }: Approval): Promise<boolean> {
  const [grants, open] = await Promise.all([
    unit.db.grant.count({ where: { approvalId: id } }),
    unit.db.session.count({ where: { id: sessionId ?? id, endedAt: null } }),
  ]);
  return grants === 0 && open > 0;
}

async function grantIsOpen(unit: Unit, approvalId: ApprovalId): Promise<boolean> {
  const rows = await unit.db.$queryRaw<Array<{ id: string }>>`
    SELECT id FROM grants
    WHERE approval_id = ${approvalId}::uuid AND closed_at IS NULL AND expires_at > clock_timestamp()`;
  return rows.length > 0;
}
