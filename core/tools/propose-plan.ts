import { z } from 'zod';
import { proposePlan } from '../tasks/plan.ts';
import { defineTool } from './tool.ts';

const WRITES_BACK = /\b(update_entity_attributes|create_relationship)\b/;

const step = z.strictObject({
  title: z.string().trim().min(1).max(120),
  detail: z.string().trim().max(1000).optional(),
});

/** Stores the plan (K1). */
export const proposePlanTool = defineTool({
  name: 'propose_plan',
  description:
    'Shows the operator the whole ordered plan: give every step, each time. Nothing started yet: it replaces the old plan. Otherwise the open steps are replaced and these are added after them. The answer has the step numbers for update_plan_step.',
  kind: 'task',
  input: z.strictObject({
    steps: z
      .array(z.union([step, z.string().trim().min(1).max(120)]))
      .min(1)
      .max(40)
      .describe('The steps in order, each a title or {title, detail}.'),
  }),
  async handler({ unit, sessionId }, { steps }) {
    const asked = steps.map((one) => (typeof one === 'string' ? { title: one } : one));
    const rows = await proposePlan(unit, sessionId, asked);
    const last = asked.at(-1);
    const writesBack = WRITES_BACK.test(`${last?.title ?? ''} ${last?.detail ?? ''}`);
    return {
      ok: true,
      value: {
        steps: rows.map((row) => ({ step: row.seq, status: row.status, title: row.title })),
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
