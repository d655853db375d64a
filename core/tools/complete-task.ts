import { z } from 'zod';
import { completeTask, readOutcome } from '../tasks/complete.ts';
import { NOT_WRITTEN_BACK, wroteBack } from '../tasks/written-back.ts';
import { defineTool } from './tool.ts';

/** Ends the task (T10), and warns where nothing was written back (K4). */
export const completeTaskTool = defineTool({
  name: 'complete_task',
  description:
    'Ends this task, once its goal is reached and checked, or cannot be reached. Cancels what still waits, closes its grants and posts the digest. The summary is what the operator reads: say what is now true, with figures.',
  kind: 'task',
  endsPass: true,
  input: z.strictObject({
    outcome: z.string().describe('"success", "partial" or "failure".'),
    summary: z.string().trim().min(3).max(2000),
  }),
  async handler({ unit, sessionId }, { outcome, summary }) {
    const read = readOutcome(outcome);
    const { cancelled, stillRunning } = await completeTask(unit, {
      sessionId,
      outcome: read,
      summary,
      by: 'agent',
    });
    const warning = (await wroteBack(unit.db, sessionId)) ? {} : { warning: NOT_WRITTEN_BACK };
    return {
      ok: true,
      value: { outcome: read, cancelled, still_running: stillRunning, ...warning },
    };
  },
});
