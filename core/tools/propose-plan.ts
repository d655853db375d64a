import { z } from 'zod';
import { cancelPlanOffers, offerPlan, type PlanOffer } from '../approvals/plan.ts';
import type { Reader } from '../db/database.ts';
import type { PlanStep } from '../db/rows.ts';
import { NomosError } from '../errors.ts';
import { MAX_STEPS } from '../knowledge/runbook-file.ts';
import { fillRunbook, type FilledStep } from '../knowledge/runbook-plan.ts';
import { findRunbook, runbookSlug } from '../knowledge/runbooks.ts';
import { proposePlan } from '../tasks/plan.ts';
import { refreshStatus } from '../tasks/status.ts';
import { formatDuration } from '../text/duration.ts';
import { defineTool } from './tool.ts';

const WRITES_BACK = /\b(update_entity_attributes|create_relationship)\b/;

const step = z.strictObject({
  title: z.string().trim().min(1).max(120),
  detail: z.string().trim().max(1000).optional(),
});

/** Stores the plan (K1), and puts it before the operator as a whole (A11). */
export const proposePlanTool = defineTool({
  name: 'propose_plan',
  description:
    'Shows the operator the whole ordered plan: give every step, each time, or a runbook with its parameters. Unless ask_approval is false the operator gets it as a card to approve by one tap. Nothing started yet: it replaces the old plan. Otherwise the open steps are replaced and these are added after them. The answer has the step numbers for update_plan_step.',
  kind: 'task',
  input: z.strictObject({
    ask_approval: z
      .boolean()
      .default(true)
      .describe(
        'Whether the operator decides on the plan as a whole, by one tap on its card; then its changes run without asking, except destructive ones. false for a plan that only looks, or whose one change asks by itself.',
      ),
    steps: z
      .array(z.union([step, z.string().trim().min(1).max(120)]))
      .max(40)
      .default([])
      .describe(
        'The steps in order, each a title or {title, detail}. With runbook: those that follow after its own.',
      ),
    runbook: z
      .strictObject({
        name: z
          .string()
          .trim()
          .min(1)
          .max(120)
          .transform((name) => runbookSlug(name)),
        parameters: z.record(z.string(), z.unknown()).default({}),
      })
      .optional()
      .describe(
        'A runbook to take the steps from, with its values: {"name": "free-disk-space", "parameters": {"target": "host:web-1"}}.',
      ),
  }),
  async handler({ unit, sessionId, turnId, passId }, { steps, runbook, ask_approval }) {
    const filled = runbook === undefined ? [] : await stepsOf(unit.db, runbook);
    const asked: PlannedStep[] = [
      ...filled,
      ...steps.map((one) => (typeof one === 'string' ? { title: one } : one)),
    ];
    checkNumber(asked.length);
    const rows = await proposePlan(unit, sessionId, asked);
    const offer = ask_approval ? await offerPlan(unit, { sessionId, turnId, passId }, rows) : null;
    if (offer === null) await cancelPlanOffers(unit, sessionId, 'a new plan took its place');
    await refreshStatus(unit, sessionId);
    const last = asked.at(-1);
    const writesBack = WRITES_BACK.test(`${last?.title ?? ''} ${last?.detail ?? ''}`);
    return {
      ok: true,
      value: {
        steps: rows.map((row) => ({ step: row.seq, status: row.status, title: row.title })),
        ...(filled.length === 0 ? {} : { calls: callsOf(rows, filled) }),
        approval: approvalWords(offer),
        ...(writesBack
          ? {}
          : {
              warning:
                'The last step names neither update_entity_attributes nor create_relationship: what this task finds out or changes should be written back.',
            }),
      },
    };
  },
});

interface PlannedStep {
  title: string;
  detail?: string | undefined;
  call?: FilledStep['call'];
}

async function stepsOf(
  db: Reader,
  { name, parameters }: { name: string; parameters: Record<string, unknown> },
): Promise<PlannedStep[]> {
  const { runbook } = await findRunbook(db, name);
  const { steps } = await fillRunbook(db, runbook, parameters);
  return steps.map(({ title, detail, call }) => ({ title, detail: detail ?? undefined, call }));
}

/** Which call does which step: the new steps are the last ones of the plan, in their order. */
function callsOf(
  rows: readonly PlanStep[],
  filled: readonly PlannedStep[],
): Record<string, unknown> {
  const first = rows.findIndex(
    (row) => row.status === 'pending' && row.generation === rows.at(-1)?.generation,
  );
  return {
    note: 'Make these calls as they are, in this order, and mark each step as it ends. What an output tells you may be a reason to leave the runbook: say so, and propose another plan.',
    by_step: filled.map(({ call }, at) => ({ step: rows[first + at]?.seq, ...call })),
  };
}

function checkNumber(many: number): void {
  if (many >= 1 && many <= MAX_STEPS) return;
  throw new NomosError(
    'plan_size',
    'model',
    many === 0
      ? 'A plan needs steps, or a runbook to take them from.'
      : `A plan has at most ${MAX_STEPS} steps; these are ${many}.`,
  );
}

function approvalWords(offer: PlanOffer | null): string {
  if (offer === null) return 'Not asked for: each change asks by itself when you call run.';
  if (offer.kind === 'granted') {
    const left = formatDuration(offer.until.getTime() - Date.now());
    return `Not needed: this task may change things without asking for ${left} more, except what is destructive. Carry the plan out now, to its end.`;
  }
  return 'The plan waits for the operator as a card with ✅ and ❌. End your answer now with what you propose, and do not call run for its changes yet: the decision wakes you.';
}
