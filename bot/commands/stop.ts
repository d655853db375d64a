import { asId, type SessionId } from '../../core/ids.ts';
import { requestStop } from '../../core/tasks/stop.ts';
import { answerTo } from '../cards/replies.ts';
import { rich } from '../cards/rich.ts';
import { TASK_ARGUMENT, type Command } from './command.ts';

/** `!stop`: ends the pass at its next step (T5). In a thread only that turn's. */
export const stopCommand: Command = {
  name: 'stop',
  takes: [TASK_ARGUMENT],
  does: 'Ends the agent’s work at its next step; in a thread only that thread’s. Commands that run go on: !cancel ends those.',
  // A brake that everyone may pull.
  needs: 'viewer',
  async run({ context: { unit, operator }, args, turnId, task }) {
    const session = await task();
    const { stopped } = await requestStop(unit, {
      sessionId: asId<SessionId>(session.id),
      turnId: args['task'] === undefined ? turnId : undefined,
      by: operator.userId,
    });
    const running = await unit.db.execution.count({
      where: { sessionId: session.id, status: 'running' },
    });
    const rest =
      running > 0
        ? rich`${running === 1 ? 'A command goes on' : `${running} commands go on`} until 🛑 or !cancel.`
        : undefined;
    return answerTo(
      stopped === 0
        ? rich`Nothing was at work here.`
        : rich`🛑 Stopping at the next step. What was done is kept.`,
      rest,
    );
  },
};
