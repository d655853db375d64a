import { withdraw } from '../../core/approvals/withdraw.ts';
import { asId, type ApprovalId, type SessionId, type TurnId } from '../../core/ids.ts';
import { completeTask } from '../../core/tasks/complete.ts';
import { redactMessage } from '../../core/tasks/messages.ts';
import { answerTo } from '../cards/replies.ts';
import { rich } from '../cards/rich.ts';
import { answer, type HandlerContext } from './context.ts';

/**
 * Something was taken back: the ✅ or the words that approved (A7), or a message that asked for work (T13). Only what its own
 * sender takes back counts: a moderator who clears a room decides nothing.
 */
export async function onRedaction(context: HandlerContext): Promise<void> {
  const { unit, event, operator } = context;
  if (event.redacts === null) return;
  const stored = await unit.db.matrixInbox.findUnique({
    where: { eventId: event.redacts },
    select: { sender: true, roomId: true },
  });
  if (stored?.sender !== operator.userId || stored.roomId !== event.room.roomId) return;

  const approval = await unit.db.approval.findFirst({
    where: {
      OR: [{ decidedEvent: event.redacts }, { votes: { some: { eventId: event.redacts } } }],
    },
    select: { id: true, turnId: true, status: true },
  });
  if (approval !== null) {
    const { kind } = await withdraw(unit, {
      approvalId: asId<ApprovalId>(approval.id),
      operator,
      eventId: event.redacts,
    });
    if (kind === 'too_late' && approval.status === 'approved') {
      await answer(
        context,
        answerTo(rich`Too late to take it back: it has started. 🛑 on its card cancels it.`),
        { turnId: approval.turnId === null ? undefined : asId<TurnId>(approval.turnId) },
      );
    }
    return;
  }
  const outcome = await redactMessage(unit, { eventId: event.redacts, sender: operator.userId });
  if (outcome === 'cancelled') await endIfNothingIsLeft(context);
}

/** A task whose only request was taken back before anything began has nothing to do. */
async function endIfNothingIsLeft({ unit, event, operator }: HandlerContext): Promise<void> {
  const message = await unit.db.message.findUnique({
    where: { eventId: event.redacts ?? '' },
    select: { sessionId: true },
  });
  if (message === null) return;
  const { sessionId } = message;
  const [messages, begun] = await Promise.all([
    unit.db.message.count({ where: { sessionId, role: 'operator', redactedAt: null } }),
    unit.db.pass.count({ where: { sessionId, startedAt: { not: null } } }),
  ]);
  if (messages > 0 || begun > 0) return;
  await completeTask(unit, {
    sessionId: asId<SessionId>(sessionId),
    outcome: 'failure',
    summary: 'The request was taken back before it began.',
    by: operator.userId,
  });
}
