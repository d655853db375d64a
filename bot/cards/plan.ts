import type { UserId } from '../../core/ids.ts';
import { decision, howToDecide, openUntil } from './approval.ts';
import { cardOf, fitting, type Card } from './card.ts';
import { para, rich, strong, type Rich } from './rich.ts';
import type { PlanApprovalState, StepState } from './state.ts';
import type { View } from './view.ts';
import { count, label, STEP_MARK, slug } from './words.ts';

const STEPS_MAX = 40;
const STEPS_FEW = 12;

/** The plan as a card with a decision of its own (A11): one tap approves it all but what is destructive. */
export function planCard(
  plan: PlanApprovalState,
  view: View,
  callFor: readonly UserId[] = [],
): Card {
  return fitting([STEPS_MAX, STEPS_FEW].map((most) => () => planForm(plan, view, callFor, most)));
}

function planForm(
  plan: PlanApprovalState,
  view: View,
  callFor: readonly UserId[],
  most: number,
): Card {
  const steps = currentSteps(plan.steps);
  const waits = plan.approval.status === 'pending';
  const head = waits
    ? rich`🟠 Approve the plan? ${count(steps.length, 'step')}`
    : rich`${plan.approval.status === 'approved' ? '👍' : '🚫'} Plan of ${count(steps.length, 'step')}`;
  return cardOf(
    [
      para(strong(head), decision(plan.approval, view)),
      stepLines(steps, most),
      waits
        ? para(
            rich`Approving opens this task's grant for 30 minutes. Destructive steps still ask, each by itself.`,
            openUntil(plan.approval, view),
            howToDecide(plan.approval),
          )
        : undefined,
      para(rich`id ${slug(plan.approval.shortId)}`),
    ],
    waits ? { mentions: callFor, msgtype: 'm.text' } : {},
  );
}

/** The steps of the newest plan, and what still runs of an earlier one, in order. */
export function currentSteps(steps: readonly StepState[]): StepState[] {
  const newest = newestGeneration(steps);
  return steps.filter((step) => step.generation === newest || step.status === 'running');
}

/** A line for each step with its mark. */
export function stepLines(steps: readonly StepState[], most = STEPS_MAX): Rich | undefined {
  const shown = steps
    .slice(0, most)
    .map((step) => rich`${STEP_MARK[step.status]} ${step.seq}. ${label(step.title, 80)}`);
  const rest = steps.length - shown.length;
  return para(...shown, rest > 0 ? rich`and ${count(rest, 'more step', 'more steps')}` : undefined);
}

/** Earlier generations of a plan, each shrunk to a line (C1): `plan 1, replaced, 4 steps`. */
export function earlierPlans(steps: readonly StepState[]): Rich[] {
  const newest = newestGeneration(steps);
  const lines: Rich[] = [];
  for (let generation = 1; generation < newest; generation++) {
    const of = steps.filter((step) => step.generation === generation);
    if (of.length === 0) continue;
    const done = of.filter((step) => step.status === 'done').length;
    lines.push(
      rich`plan ${generation}, replaced, ${count(of.length, 'step')}${done > 0 ? `, ${done} done` : ''}`,
    );
  }
  return lines;
}

function newestGeneration(steps: readonly StepState[]): number {
  return Math.max(0, ...steps.map((step) => step.generation));
}
