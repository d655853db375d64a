import type { Approval } from '../../core/db/rows.ts';
import { sessionOf } from '../handlers/context.ts';
import { giveWord } from '../handlers/verdict.ts';
import { CommandError, type Command, type CommandCall } from './command.ts';

const ID = { name: 'id', what: 'the id that the card shows', required: true } as const;

/** `!approve`: a tap by other means. What is destructive still needs the typed confirmation (A3). */
export const approveCommand: Command = {
  name: 'approve',
  takes: [ID],
  does: 'Approves what waits under this id; not what is destructive.',
  needs: 'approver',
  async run(call) {
    await giveWord(call.context, await pendingApproval(call), {
      verdict: 'approve',
      means: 'command',
      words: `!approve ${call.args['id'] ?? ''}`,
    });
    return undefined;
  },
};

/** `!deny`. */
export const denyCommand: Command = {
  name: 'deny',
  takes: [ID, { name: 'reason', what: 'why; the agent reads it', required: false, rest: true }],
  does: 'Denies what waits under this id.',
  needs: 'approver',
  async run(call) {
    await giveWord(call.context, await pendingApproval(call), {
      verdict: 'deny',
      means: 'command',
      words: `!deny ${call.args['id'] ?? ''}`,
      reason: call.args['reason'],
    });
    return undefined;
  },
};

/** The approval that an id on a card stands for: in a task's room among its own, else among all. */
async function pendingApproval({ context, args }: CommandCall): Promise<Approval> {
  const shortId = (args['id'] ?? '').toLowerCase();
  const sessionId = sessionOf(context.event);
  const found = await context.unit.db.approval.findMany({
    where: {
      ...(sessionId === undefined ? {} : { sessionId }),
      OR: [{ shortId }, { executions: { some: { shortId } } }],
    },
    orderBy: { createdAt: 'desc' },
    take: 5,
  });
  const pending = found.filter((approval) => approval.status === 'pending');
  const [one] = pending.length > 0 ? pending : found;
  if (pending.length > 1) {
    throw new CommandError(
      `More than one thing has the id “${shortId.slice(0, 20)}”.`,
      'Decide on its card, or use the command in the task’s room.',
    );
  }
  if (one === undefined) {
    throw new CommandError(
      `Nothing has the id “${shortId.slice(0, 20)}”.`,
      '!approvals lists what waits, with its ids.',
    );
  }
  return one;
}
