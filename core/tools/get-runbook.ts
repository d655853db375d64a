import { z } from 'zod';
import { allowedWords } from '../knowledge/runbook-parameters.ts';
import { fillRunbook } from '../knowledge/runbook-plan.ts';
import { findRunbook } from '../knowledge/runbooks.ts';
import { defineTool } from './tool.ts';

/** One runbook, as it is written or with values (K10). */
export const getRunbookTool = defineTool({
  name: 'get_runbook',
  description:
    'One runbook: what it takes and its steps. With parameters: the steps filled in, each with the call that does it. To follow it, put it before the operator by propose_plan with runbook and the same parameters, then make the calls in order.',
  kind: 'read',
  input: z.strictObject({
    name: z.string().trim().min(1).max(120).describe('As list_runbooks has it.'),
    parameters: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('Values by name, such as {"target": "host:web-1"}.'),
  }),
  async handler({ db }, { name, parameters }) {
    const { runbook } = await findRunbook(db, name);
    const takes = Object.entries(runbook.parameters).map(([key, parameter]) => ({
      name: key,
      takes: allowedWords(parameter),
      ...(parameter.default === undefined ? { required: true } : { default: parameter.default }),
      description: parameter.description,
    }));
    const head = { name: runbook.slug, title: runbook.title, summary: runbook.summary };
    if (parameters === undefined) {
      return { ok: true, value: { ...head, parameters: takes, steps: runbook.steps } };
    }
    const filled = await fillRunbook(db, runbook, parameters);
    return { ok: true, value: { ...head, parameters: filled.values, steps: filled.steps } };
  },
});
