import { z } from 'zod';
import { asId, type ExecutionId } from '../ids.ts';
import { STEP_STATUSES, updatePlanStep } from '../tasks/plan.ts';
import { resolveExecution } from './execution-result.ts';
import { defineTool } from './tool.ts';

/** Moves a step of the plan on (K2). */
export const updatePlanStepTool = defineTool({
  name: 'update_plan_step',
  description:
    'Sets the status of one step of the plan. Steps are closed in order. A step that is linked to an execution closes by itself with it.',
  kind: 'task',
  input: z.strictObject({
    step: z.int().min(1).describe('The number that propose_plan gave it.'),
    status: z.enum(STEP_STATUSES),
    note: z.string().trim().max(500).optional().describe('What came of it, in a few words.'),
    execution_id: z.string().optional().describe('The execution that does this step.'),
  }),
  async handler({ unit, sessionId }, { step, status, note, execution_id }) {
    const execution =
      execution_id === undefined
        ? undefined
        : await resolveExecution(unit.db, sessionId, execution_id);
    const stands = await updatePlanStep(unit, {
      sessionId,
      seq: step,
      status,
      note,
      executionId: execution === undefined ? undefined : asId<ExecutionId>(execution.id),
    });
    return { ok: true, value: { step, status: stands } };
  },
});
