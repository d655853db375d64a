import type { Unit } from '../db/database.ts';
import type { PlanStep, PlanStepStatus } from '../db/rows.ts';
import { NomosError } from '../errors.ts';
import { newId, type ExecutionId, type SessionId } from '../ids.ts';
import { lockSession } from './lock.ts';
import { refreshStatus } from './status.ts';

/** What the agent may set a step to. `replaced` comes only from a new plan, and is final. */
export const STEP_STATUSES = ['running', 'done', 'failed', 'skipped', 'blocked'] as const;
/** One of the above. */
export type StepStatus = (typeof STEP_STATUSES)[number];

const CLOSING: readonly PlanStepStatus[] = ['done', 'failed', 'skipped', 'blocked'];

/** A plan cannot be changed as asked: the message says which step stands in the way. */
export class PlanError extends NomosError {
  constructor(message: string, fields: Record<string, unknown> = {}) {
    super('plan_conflict', 'model', message, { fields });
  }
}

/**
 * Stores the whole ordered plan (K1). Nothing of the old one started yet: it is replaced. Otherwise the steps still
 * pending become `replaced`, and the new ones follow after the highest number, as the next generation.
 */
export async function proposePlan(
  unit: Unit,
  sessionId: SessionId,
  steps: ReadonlyArray<{ title: string; detail?: string | undefined }>,
): Promise<PlanStep[]> {
  await lockSession(unit, sessionId);
  const old = await unit.db.planStep.findMany({ where: { sessionId }, orderBy: { seq: 'asc' } });
  const current = old.filter((step) => step.status !== 'replaced');
  const started = current.some((step) => step.status !== 'pending');
  const generation = old.reduce((highest, step) => Math.max(highest, step.generation), 0);
  if (!started) {
    await unit.db.planStep.deleteMany({ where: { sessionId, status: 'pending' } });
  } else {
    await unit.db.planStep.updateMany({
      where: { sessionId, status: 'pending' },
      data: { status: 'replaced', updatedAt: new Date() },
    });
  }
  const kept = started ? old : old.filter((step) => step.status === 'replaced');
  const highest = kept.reduce((most, step) => Math.max(most, step.seq), 0);
  const rows = steps.map((step, index) => ({
    id: newId(),
    sessionId,
    generation: started || current.length === 0 ? generation + 1 : generation,
    seq: highest + index + 1,
    title: step.title,
    detail: step.detail ?? null,
  }));
  await unit.db.planStep.createMany({ data: rows });
  unit.emit({ type: 'plan.changed', sessionId, refId: sessionId });
  await refreshStatus(unit, sessionId);
  return unit.db.planStep.findMany({
    where: { sessionId, status: { not: 'replaced' } },
    orderBy: { seq: 'asc' },
  });
}

/**
 * Sets a step's status (K2). A step cannot be closed while an earlier one of the current generation is still pending.
 * Returns the status that it has now. Throws `PlanError` that names the step in the way.
 */
export async function updatePlanStep(
  unit: Unit,
  args: {
    sessionId: SessionId;
    seq: number;
    status: StepStatus;
    note?: string | undefined;
    executionId?: ExecutionId | undefined;
  },
): Promise<StepStatus> {
  await lockSession(unit, args.sessionId);
  const steps = await unit.db.planStep.findMany({
    where: { sessionId: args.sessionId },
    orderBy: { seq: 'asc' },
  });
  const step = steps.find((candidate) => candidate.seq === args.seq);
  if (step === undefined) {
    const numbers = steps.filter((s) => s.status !== 'replaced').map((s) => s.seq);
    throw new PlanError(
      numbers.length === 0
        ? 'There is no plan yet: call propose_plan first.'
        : `There is no step ${args.seq}; the plan has ${numbers.join(', ')}.`,
    );
  }
  if (step.status === 'replaced') {
    throw new PlanError(`Step ${args.seq} ("${step.title}") belongs to a plan that was replaced.`);
  }
  if (CLOSING.includes(args.status)) {
    const earlier = steps.find(
      (s) => s.seq < step.seq && s.generation === step.generation && s.status === 'pending',
    );
    if (earlier !== undefined) {
      throw new PlanError(
        `Step ${args.seq} cannot be ${args.status} while step ${earlier.seq} ("${earlier.title}") is still pending: do it, or set it to skipped, first.`,
        { seq: args.seq, pending: earlier.seq },
      );
    }
  }
  const status = args.status === 'running' ? await standing(unit, args.executionId) : args.status;
  await unit.db.planStep.update({
    where: { id: step.id },
    data: {
      status,
      updatedAt: new Date(),
      ...(args.note === undefined ? {} : { note: args.note }),
      ...(args.executionId === undefined ? {} : { executionId: args.executionId }),
    },
  });
  unit.emit({
    type: 'plan.changed',
    sessionId: args.sessionId,
    refId: args.sessionId,
    data: { seq: args.seq },
  });
  await refreshStatus(unit, args.sessionId);
  return status;
}

/** How a step stands that an execution does: one that has ended already closes it at once (J8). */
async function standing(
  unit: Unit,
  executionId: ExecutionId | undefined,
): Promise<'running' | 'done' | 'failed'> {
  if (executionId === undefined) return 'running';
  const { status, endedAt } = await unit.db.execution.findUniqueOrThrow({
    where: { id: executionId },
    select: { status: true, endedAt: true },
  });
  if (endedAt === null) return 'running';
  return status === 'completed' ? 'done' : 'failed';
}

/** Closes the step that an execution was linked to, whether or not the agent says so (J8). */
export async function closeLinkedStep(
  unit: Unit,
  sessionId: SessionId,
  executionId: ExecutionId,
  status: 'done' | 'failed',
): Promise<void> {
  const { count } = await unit.db.planStep.updateMany({
    where: { sessionId, executionId, status: { in: ['pending', 'running'] } },
    data: { status, updatedAt: new Date() },
  });
  if (count > 0) unit.emit({ type: 'plan.changed', sessionId, refId: sessionId });
}
