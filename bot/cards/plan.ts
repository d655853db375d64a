import type { UserId } from '../../core/ids.ts';
import { decision, howToDecide, openUntil } from './approval.ts';
import { limits } from '../../core/limits.ts';
import { formatDuration } from '../../core/text/duration.ts';
import { cardOf, fitting, type Card } from './card.ts';
import { ATTACHED } from './command.ts';
import { em, para, rich, strong, type Rich } from './rich.ts';
import type { PlanApprovalState, StepState } from './state.ts';
import type { View } from './view.ts';
import { count, label, STEP_MARK, slug } from './words.ts';

const STEPS_MAX = 40;

/** How much of a plan one form of its card shows. */
interface Extent {
  readonly steps: number;
  readonly titleCharacters: number;
  /** 0: no details. */
  readonly detailCharacters: number;
}

const EXTENTS: readonly Extent[] = [
  { steps: STEPS_MAX, titleCharacters: 120, detailCharacters: 240 },
  { steps: STEPS_MAX, titleCharacters: 120, detailCharacters: 0 },
  { steps: 12, titleCharacters: 80, detailCharacters: 0 },
];

/** The plan as a card with a decision of its own (A11): one tap approves it all but what is destructive. */
export function planCard(
  plan: PlanApprovalState,
  view: View,
  callFor: readonly UserId[] = [],
): Card {
  return fitting(EXTENTS.map((extent) => () => planForm(plan, view, callFor, extent)));
}

/** The whole plan as a text file, where its card cannot show all of it (A16); undefined where it can. */
export function planFile(plan: PlanApprovalState, view: View): string | undefined {
  if (!planCard(plan, view).body.includes(ATTACHED)) return undefined;
  return plan.steps
    .map(({ seq, title, detail }) =>
      [`${seq}. ${title}`, ...(detail === null ? [] : [detail])].join('\n   '),
    )
    .join('\n');
}

function planForm(
  { steps, approval }: PlanApprovalState,
  view: View,
  callFor: readonly UserId[],
  extent: Extent,
): Card {
  const waits = approval.status === 'pending';
  const head = waits
    ? rich`🟠 Approve the plan? ${count(steps.length, 'step')}`
    : rich`${approval.status === 'approved' ? '👍' : '🚫'} Plan of ${count(steps.length, 'step')}`;
  const shown = steps.slice(0, extent.steps).map((step) => planStep(step, extent));
  const whole = shown.length === steps.length && shown.every((step) => step.whole);
  return cardOf(
    [
      para(strong(head), decision(approval, view)),
      para(...shown.flatMap(({ lines }) => lines)),
      whole ? undefined : para(rich`Not all of it is shown here; it is ${ATTACHED}.`),
      waits
        ? para(
            rich`Approving lets this task's changes run without asking for ${grantTime()}. Destructive steps still ask, each by itself.`,
            openUntil(approval, view),
            howToDecide(approval),
          )
        : undefined,
      para(rich`id ${slug(approval.shortId)}`),
    ],
    waits ? { mentions: callFor, msgtype: 'm.text' } : {},
  );
}

function planStep(
  step: PlanApprovalState['steps'][number],
  extent: Extent,
): { lines: Rich[]; whole: boolean } {
  const title = label(step.title, extent.titleCharacters);
  const lines = [rich`${step.seq}. ${title}`];
  const whole = title === label(step.title, UNCUT);
  if (step.detail === null || step.detail.trim() === '') return { lines, whole };
  if (extent.detailCharacters === 0) return { lines, whole: false };
  const detail = label(step.detail, extent.detailCharacters);
  return {
    lines: [...lines, em(detail)],
    whole: whole && detail === label(step.detail, UNCUT),
  };
}

// Longer than any title or detail that a plan may have, its hidden characters written out.
const UNCUT = 20_000;

function grantTime(): string {
  return formatDuration(limits().grantTtlMs);
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
