import { withdraw } from '../../core/approvals/withdraw.ts';
import { sql } from '../../core/db/database.ts';
import type { Approval } from '../../core/db/rows.ts';
import {
  asId,
  type ApprovalId,
  type MatrixEventId,
  type SessionId,
  type TurnId,
} from '../../core/ids.ts';
import { completeTask } from '../../core/tasks/complete.ts';
import { redactMessage } from '../../core/tasks/redact.ts';
import { answerTo } from '../cards/replies.ts';
import { rich } from '../cards/rich.ts';
import { answer, type HandlerContext } from './context.ts';
import { onCardRemoved } from './removed-card.ts';

/**
 * Something was taken back: the ✅ or the words that approved (A7), or a message that asked for work (T13). Only what its own
 * sender takes back counts: a moderator who clears a room decides nothing.
 */
export async function onRedaction(context: HandlerContext): Promise<void> {
  const { unit, event, operator } = context;
  if (event.redacts === null) return;
  if (await onCardRemoved(context, event.redacts)) return;
  const stored = await unit.db.matrixInbox.findUnique({
    where: { eventId: event.redacts },
    select: { sender: true, roomId: true },
  });
  if (stored?.sender !== operator.userId || stored.roomId !== event.room.roomId) return;

  // One message may have approved several things.
  const approvals = await unit.db.approval.findMany({
    where: {
      OR: [{ decidedEvent: event.redacts }, { votes: { some: { eventId: event.redacts } } }],
    },
    select: { id: true, turnId: true, status: true },
    orderBy: { createdAt: 'asc' },
  });
  if (approvals.length > 0) return takeBack(context, approvals, event.redacts);
  const outcome = await redactMessage(unit, { eventId: event.redacts, sender: operator.userId });
  // An edit that came too late became a message of its own; clients take it away with what it edits.
  for (const eventId of await editsOf(context, event.redacts)) {
    await redactMessage(unit, { eventId, sender: operator.userId });
  }
  if (outcome === 'cancelled') await endIfNothingIsLeft(context);
}

async function editsOf(
  { unit, event, operator }: HandlerContext,
  eventId: MatrixEventId,
): Promise<MatrixEventId[]> {
  const rows = await unit.db.$queryRaw<Array<{ event_id: MatrixEventId }>>(sql`
    SELECT i.event_id FROM messages m JOIN matrix_inbox i ON i.event_id = m.event_id
    WHERE m.role = 'operator' AND m.taken_in_at IS NULL AND i.room_id = ${event.room.roomId} AND i.sender = ${operator.userId}
      AND i.event->'content'->'m.relates_to'->>'rel_type' = 'm.replace'
      AND i.event->'content'->'m.relates_to'->>'event_id' = ${eventId}`);
  return rows.map((row) => row.event_id);
}

/** Takes back the approvals that an operator's event had given, as far as they can be, and says where it is too late (A7). */
export async function takeBack(
  context: HandlerContext,
  approvals: ReadonlyArray<Pick<Approval, 'id' | 'turnId' | 'status'>>,
  eventId: MatrixEventId,
): Promise<void> {
  const late: (typeof approvals)[number][] = [];
  for (const approval of approvals) {
    const { kind } = await withdraw(context.unit, {
      approvalId: asId<ApprovalId>(approval.id),
      operator: context.operator,
      eventId,
    });
    if (kind === 'too_late' && approval.status === 'approved') late.push(approval);
  }
  const [first] = late;
  if (first === undefined) return;
  const what = approvals.length === 1 ? 'it' : `${late.length} of ${approvals.length}`;
  await answer(
    context,
    answerTo(rich`Too late to take ${what} back: started already. 🛑 on the card cancels it.`),
    { turnId: first.turnId === null ? undefined : asId<TurnId>(first.turnId) },
  );
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
