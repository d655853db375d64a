import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Reader, Unit } from '../db/database.ts';
import type { Approval, PlanStep } from '../db/rows.ts';
import type { ApprovalId, PassId, SessionId, TurnId } from '../ids.ts';
import { taskGrant } from '../policy/grants.ts';
import { isPaused } from '../policy/pause.ts';
import { requestApproval } from './request.ts';
import { wordedPlan, type WordedStep } from './worded-plan.ts';

const planShape = z.strictObject({
  version: z.literal(1),
  steps: z.array(
    z.strictObject({ seq: z.int(), title: z.string(), detail: z.string().nullable() }),
  ),
});

/** A step as an approval of a plan covers it. */
export type CoveredStep = z.output<typeof planShape>['steps'][number];

/** The steps that an approval of kind `plan` covers, in order; none for any other approval. */
export function coveredSteps(approval: Pick<Approval, 'plan'>): CoveredStep[] {
  return approval.plan === null ? [] : planShape.parse(approval.plan).steps;
}

/** What an approval of a plan covers (A16): its steps with their numbers, titles and details, in order. */
export function planHash(steps: readonly CoveredStep[]): string {
  const bound = steps.map(({ seq, title, detail }) => [seq, title, detail]);
  return createHash('sha256').update(JSON.stringify(bound)).digest('hex');
}

/** Where a plan was proposed. */
export interface PlanPlace {
  sessionId: SessionId;
  turnId: TurnId;
  passId: PassId | null;
}

/** What became of offering a plan: it waits for a decision, or the task's grant lets its changes run already. */
export type PlanOffer =
  | { kind: 'waiting'; approvalId: ApprovalId; expiresAt: Date }
  | { kind: 'granted'; until: Date };

/**
 * Puts a plan before the operator (A11): an approval over the steps that are still to be done. Nothing is asked while the
 * task's grant is open, since approving would give no more than that. An older offer of this task ends with it.
 */
export async function offerPlan(
  unit: Unit,
  place: PlanPlace,
  steps: ReadonlyArray<Pick<PlanStep, 'seq' | 'title' | 'detail' | 'status'>>,
): Promise<PlanOffer> {
  await cancelPlanOffers(unit, place.sessionId, 'a new plan took its place');
  const grant = (await isPaused(unit.db)) ? null : await taskGrant(unit, place.sessionId);
  if (grant !== null) return { kind: 'granted', until: grant.expiresAt };
  return { kind: 'waiting', ...(await requestPlanApproval(unit, place, steps)) };
}

/** Opens the approval of a plan, over its pending steps. */
export async function requestPlanApproval(
  unit: Unit,
  place: PlanPlace,
  steps: ReadonlyArray<Pick<PlanStep, 'seq' | 'title' | 'detail' | 'status'>>,
): Promise<{ approvalId: ApprovalId; expiresAt: Date }> {
  const covered = steps
    .filter(({ status }) => status === 'pending')
    .map(({ seq, title, detail }) => ({ seq, title, detail }));
  return requestApproval(unit, {
    ...place,
    risk: 'config_mutation',
    subjectHash: planHash(covered),
    plan: { version: 1, steps: covered },
  });
}

/** Ends the offers of plans of a task that still wait, in one turn's pass or in all. The caller holds the task's lock. */
export async function cancelPlanOffers(
  unit: Unit,
  sessionId: SessionId,
  reason: string,
  passId?: PassId,
): Promise<void> {
  const open = await unit.db.approval.findMany({
    where: {
      sessionId,
      kind: 'plan',
      status: 'pending',
      ...(passId === undefined ? {} : { passId }),
    },
    select: { id: true },
  });
  for (const { id } of open) {
    await unit.db.approval.update({ where: { id }, data: { status: 'cancelled', reason } });
    unit.emit({ type: 'approval.decided', sessionId, refId: id, data: { status: 'cancelled' } });
    unit.audit({
      actor: 'system',
      action: 'approval.cancelled',
      sessionId,
      subject: id,
      data: { reason },
    });
  }
}

/** A plan that an operator may assent to although no card of it waits. */
export type SpokenPlan = PlanPlace & { passId: PassId } & (
    | {
        /** Steps that `propose_plan` stored and that are still to be done. */ worded: false;
        steps: PlanStep[];
      }
    | {
        /** Steps that stand only in the answer's words, to be stored when they are approved. */ worded: true;
        steps: WordedStep[];
      }
  );

/**
 * The plan that a "proceed" is about where nothing waits (A11): the last pass of the turn (without one: of the task) ended in words
 * after it had proposed the plan that is still the task's, or its words themselves tell a plan and ask whether to begin. Null for
 * anything else, so that a "yes" to any other answer is a message and no more.
 */
export async function spokenPlan(
  db: Reader,
  sessionId: SessionId,
  turnId?: TurnId,
): Promise<SpokenPlan | null> {
  const last = await db.pass.findFirst({
    where: { sessionId, startedAt: { not: null }, ...(turnId === undefined ? {} : { turnId }) },
    orderBy: [{ startedAt: 'desc' }, { seq: 'desc' }],
    select: { id: true, turnId: true, state: true, answer: true },
  });
  if (last?.state !== 'done' || last.answer === null || last.answer === '') return null;
  const busy = await db.pass.count({
    where: { turnId: last.turnId, state: { in: ['queued', 'running'] } },
  });
  if (busy > 0) return null;
  const place = { sessionId, turnId: last.turnId as TurnId, passId: last.id as PassId };
  const call = await db.toolCall.findFirst({
    where: { sessionId, name: 'propose_plan', state: 'done' },
    orderBy: { seq: 'desc' },
    select: { passId: true },
  });
  if (call?.passId === last.id) {
    const steps = await db.planStep.findMany({
      where: { sessionId, status: 'pending' },
      orderBy: { seq: 'asc' },
    });
    return steps.length === 0 ? null : { ...place, steps, worded: false };
  }
  const steps = wordedPlan(last.answer);
  return steps === null ? null : { ...place, steps, worded: true };
}
