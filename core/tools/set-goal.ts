import { z } from 'zod';
import { setGoal } from '../tasks/status.ts';
import { defineTool } from './tool.ts';

/** Names the task (T8). */
export const setGoalTool = defineTool({
  name: 'set_goal',
  description:
    'Names this task by what shall be true at its end, in a few words; it becomes the name of the room. Call it first when the task is more than a question. A task with a goal ends only by complete_task.',
  kind: 'task',
  input: z.strictObject({
    goal: z.string().trim().min(3).max(120).describe('Such as "nginx on web-1 runs again".'),
  }),
  async handler({ unit, sessionId }, { goal }) {
    await setGoal(unit, sessionId, goal);
    return { ok: true, value: { goal } };
  },
});
