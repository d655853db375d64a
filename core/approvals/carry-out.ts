import type { Unit } from '../db/database.ts';
import type { Approval, Execution } from '../db/rows.ts';
import { tellRest } from '../executions/finish.ts';
import { transition } from '../executions/states.ts';
import type { ApprovalId, EntityId, PassId, SessionId, TurnId } from '../ids.ts';
import { openGrant } from '../policy/grants.ts';
import { isPaused, isPausedForGrant } from '../policy/pause.ts';
import { addNote } from '../tasks/messages.ts';
import { refreshStatus } from '../tasks/status.ts';
import type { Decision } from './decide.ts';
import { denialNote, planApprovalNote, planDenialNote } from './notes.ts';
import { cancelPlanOffers, coveredSteps } from './plan.ts';
import { releasedByPlan } from './released.ts';

/**
 * Approves what was decided on: its executions are queued, and the task's grant opens. Approving a plan also tells the agent
 * to act, and approves what the same pass left waiting as far as the grant would let it run (A11). Returns the executions
 * that start. The caller holds the locks and has checked everything.
 */
export async function approve(
  unit: Unit,
  approval: Approval,
  decision: Decision,
): Promise<string[]> {
  await record(unit, approval, decision, 'approved');
  const executions = await waitingExecutions(unit, approval.id);
  const started = await start(unit, approval, executions, decision);
  const granted = await openGrants(unit, approval, executions, decision.operator.userId);
  if (approval.kind === 'plan') started.push(...(await approvePlan(unit, approval, decision)));
  else if (granted && approval.sessionId !== null && approval.passId !== null) {
    await cancelPlanOffers(
      unit,
      approval.sessionId as SessionId,
      'the task was allowed to go on by the approval of its first change',
      approval.passId as PassId,
    );
  }
  await afterDecision(unit, approval);
  return started;
}

/** Denies what was decided on: its executions end, and the agent is told with the reason (A12, A14, A17). */
export async function deny(unit: Unit, approval: Approval, decision: Decision): Promise<void> {
  await record(unit, approval, decision, 'denied');
  const executions = await waitingExecutions(unit, approval.id);
  for (const execution of executions) {
    await transition(unit, execution, 'pending_approval', 'denied', moverOf(approval, decision), {
      error: decision.reason ?? null,
      continuation: 'woken',
      continuedAt: new Date(),
    });
  }
  await tellAgent(
    unit,
    approval,
    approval.kind === 'plan'
      ? planDenialNote(approval.shortId, coveredSteps(approval), decision.reason)
      : denialNote(executions, decision.reason),
  );
  await tellRest(unit, executions);
  await afterDecision(unit, approval);
}

async function start(
  unit: Unit,
  approval: Approval,
  executions: readonly Execution[],
  decision: Decision,
): Promise<string[]> {
  const mover = moverOf(approval, decision);
  const started: string[] = [];
  for (const execution of executions) {
    const approved = await transition(unit, execution, 'pending_approval', 'approved', mover, {
      allowedBy: 'approval',
    });
    if (!approved) continue;
    await transition(unit, execution, 'approved', 'queued', mover);
    started.push(execution.id);
  }
  return started;
}

async function approvePlan(unit: Unit, plan: Approval, decision: Decision): Promise<string[]> {
  const started: string[] = [];
  const paused = await isPaused(unit.db);
  for (const approval of paused ? [] : await releasedByPlan(unit, plan, decision)) {
    const withPlan: Decision = { ...decision, means: 'plan' };
    await record(unit, approval, withPlan, 'approved');
    const executions = await waitingExecutions(unit, approval.id);
    started.push(...(await start(unit, approval, executions, withPlan)));
  }
  const released = await unit.db.execution.findMany({
    where: { id: { in: started } },
    orderBy: { createdAt: 'asc' },
  });
  await tellAgent(
    unit,
    plan,
    planApprovalNote(plan.shortId, coveredSteps(plan), {
      words: decision.means === 'word' ? decision.words : undefined,
      released,
      paused,
    }),
  );
  return started;
}

/** Approving anything opens the task's grant; what is destructive also opens the one for its target (A9, A10). */
async function openGrants(
  unit: Unit,
  approval: Approval,
  executions: readonly Execution[],
  by: string,
): Promise<boolean> {
  if (approval.sessionId === null || (await isPausedForGrant(unit))) return false;
  const grant = {
    sessionId: approval.sessionId as SessionId,
    approvalId: approval.id as ApprovalId,
    by,
  };
  await openGrant(unit, grant);
  if (approval.risk !== 'destructive') return true;
  const targets = new Set(executions.map((execution) => execution.entityId as EntityId));
  for (const target of targets) await openGrant(unit, { ...grant, target });
  return true;
}

function moverOf(approval: Approval, decision: Decision) {
  return {
    actor: decision.operator.userId,
    data: { approval: approval.id, means: decision.means, event: decision.eventId ?? null },
  };
}

async function tellAgent(unit: Unit, approval: Approval, text: string): Promise<void> {
  if (approval.sessionId === null || approval.turnId === null) return;
  await addNote(unit, {
    sessionId: approval.sessionId as SessionId,
    turnId: approval.turnId as TurnId,
    text,
    wake: 'decision',
    of: approval.passId,
  });
}

async function record(
  unit: Unit,
  approval: Approval,
  decision: Decision,
  status: 'approved' | 'denied',
): Promise<void> {
  await unit.db.$executeRaw`
    UPDATE approvals SET status = ${status}::approval_status, decided_by = ${decision.operator.userId},
      decided_at = clock_timestamp(), decided_means = ${decision.means}::decision_means,
      decided_event = ${decision.eventId ?? null}, decided_words = ${decision.words ?? null},
      reason = ${decision.reason ?? null}
    WHERE id = ${approval.id}::uuid`;
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

async function waitingExecutions(unit: Unit, approvalId: string): Promise<Execution[]> {
  return unit.db.execution.findMany({
    where: { approvalId, status: 'pending_approval' },
    orderBy: { createdAt: 'asc' },
  });
}

async function afterDecision(unit: Unit, approval: Approval): Promise<void> {
  if (approval.sessionId === null) return;
  const sessionId = approval.sessionId as SessionId;
  await unit.db.session.updateMany({
    where: { id: sessionId },
    data: { lastActivityAt: new Date(), nudgedAt: null, pausedReason: null, failedResumes: 0 },
  });
  await refreshStatus(unit, sessionId);
}
