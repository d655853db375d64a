import { z } from 'zod';
import { cancelPlanOffers, offerPlan, type PlanOffer } from '../approvals/plan.ts';
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
    'Shows the operator the whole ordered plan: give every step, each time. Unless ask_approval is false the operator gets it as a card to approve by one tap. Nothing started yet: it replaces the old plan. Otherwise the open steps are replaced and these are added after them. The answer has the step numbers for update_plan_step.',
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
      .min(1)
      .max(40)
      .describe('The steps in order, each a title or {title, detail}.'),
  }),
  async handler({ unit, sessionId, turnId, passId }, { steps, ask_approval }) {
    const asked = steps.map((one) => (typeof one === 'string' ? { title: one } : one));
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

function approvalWords(offer: PlanOffer | null): string {
  if (offer === null) return 'Not asked for: each change asks by itself when you call run.';
  if (offer.kind === 'granted') {
    const left = formatDuration(offer.until.getTime() - Date.now());
    return `Not needed: this task may change things without asking for ${left} more, except what is destructive. Carry the plan out now, to its end.`;
  }
  return 'The plan waits for the operator as a card with ✅ and ❌. End your answer now with what you propose, and do not call run for its changes yet: the decision wakes you.';
}
