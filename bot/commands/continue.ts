import { asId, type SessionId } from '../../core/ids.ts';
import { resumeTask } from '../../core/tasks/resume.ts';
import { answerTo } from '../cards/replies.ts';
import { resumptionWords } from '../handlers/resume.ts';
import { TASK_ARGUMENT, type Command } from './command.ts';

/** `!continue`: ▶️ by other means (C9). */
export const continueCommand: Command = {
  name: 'continue',
  takes: [TASK_ARGUMENT],
  does: 'Goes on with a task that was paused or looks stuck.',
  needs: 'approver',
  async run({ context: { unit, operator }, turnId, args, task }) {
    const session = await task();
    const outcome = await resumeTask(unit, {
      sessionId: asId<SessionId>(session.id),
      turnId: args['task'] === undefined ? turnId : undefined,
      by: operator.userId,
    });
    return answerTo(resumptionWords(outcome) ?? '▶️ Going on.');
  },
};
