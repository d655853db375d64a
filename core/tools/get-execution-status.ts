import { z } from 'zod';
import { executionResult, resolveExecution } from './execution-result.ts';
import { defineTool } from './tool.ts';

/** How an execution stands, with its output: also the way to read an old result again (L5). */
export const getExecutionStatusTool = defineTool({
  name: 'get_execution_status',
  description:
    'How an execution of this task stands, with its output. Use it to read an earlier result again, not to poll: the end of a running one wakes you by itself.',
  kind: 'read',
  input: z.strictObject({
    execution_id: z.string().min(1).describe('The short id that run gave.'),
  }),
  async handler({ db, sessionId }, { execution_id }) {
    const execution = await resolveExecution(db, sessionId, execution_id);
    return { ok: true, value: executionResult(execution), entity: execution.targetSlug };
  },
});
