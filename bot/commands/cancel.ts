import { requestCancel } from '../../core/executions/cancel.ts';
import { isFinal } from '../../core/executions/states.ts';
import { asId, type ExecutionId } from '../../core/ids.ts';
import { answerTo } from '../cards/replies.ts';
import { rich } from '../cards/rich.ts';
import { label } from '../cards/words.ts';
import { sessionOf } from '../handlers/context.ts';
import { CommandError, type Command } from './command.ts';

/** `!cancel`: 🛑 on an execution's card by other means (X5). */
export const cancelCommand: Command = {
  name: 'cancel',
  takes: [{ name: 'id', what: 'the id that the command’s card shows', required: true }],
  does: 'Ends a command on its target, or drops it before it starts.',
  needs: 'approver',
  async run({ context: { unit, event, operator }, args }) {
    const shortId = (args['id'] ?? '').toLowerCase();
    const sessionId = sessionOf(event);
    const found = await unit.db.execution.findMany({
      where: { shortId, ...(sessionId === undefined ? {} : { sessionId }) },
      orderBy: { createdAt: 'desc' },
      take: 5,
      select: { id: true, status: true, purpose: true, targetSlug: true },
    });
    const open = found.filter((execution) => !isFinal(execution.status));
    const [one] = open;
    if (open.length > 1) {
      throw new CommandError(
        `More than one command has the id “${shortId.slice(0, 20)}”.`,
        'Tap 🛑 on its card, or use !cancel in the task’s room.',
      );
    }
    if (one === undefined) {
      throw new CommandError(
        found.length > 0
          ? `The command “${shortId.slice(0, 20)}” has ended already.`
          : `There is no command “${shortId.slice(0, 20)}”.`,
        '!status shows what runs.',
      );
    }
    const result = await requestCancel(unit, {
      executionId: asId<ExecutionId>(one.id),
      by: operator.userId,
    });
    // It ended between the look and the word.
    if (result === 'already_ended') {
      throw new CommandError(
        `The command “${shortId.slice(0, 20)}” has ended already.`,
        'Its card shows how.',
      );
    }
    const what = `${label(one.purpose)} on ${label(one.targetSlug, 40)}`;
    return answerTo(
      result === 'requested'
        ? rich`🛑 Ending it on its target: ${what}.`
        : rich`🛑 Cancelled before it started: ${what}.`,
    );
  },
};
