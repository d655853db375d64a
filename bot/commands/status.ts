import { taskCard } from '../cards/task.ts';
import { taskState } from '../projector/load-task.ts';
import { TASK_ARGUMENT, type Command } from './command.ts';

/** `!status`: the task card as it stands now. */
export const statusCommand: Command = {
  name: 'status',
  takes: [TASK_ARGUMENT],
  does: 'Shows how a task stands: plan, what waits, what runs.',
  needs: 'viewer',
  async run({ context: { unit, view }, task }) {
    return taskCard(await taskState(unit.db, await task(), view), view);
  },
};
