import type { MatrixCard } from '../../core/db/rows.ts';
import type { MatrixEventId, TurnId } from '../../core/ids.ts';
import { asId } from '../../core/ids.ts';
import { answerTo } from '../cards/replies.ts';
import { rich } from '../cards/rich.ts';
import { forgetCard, formerCard } from '../outbox/forget-card.ts';
import { answer, type HandlerContext } from './context.ts';
import { cardAt, lanesOf } from './locate.ts';
import { approvalOfCard } from './task-room.ts';

/**
 * An operator removed a card of the bot's. One that waits for a decision is sent again: what cannot be seen cannot be decided
 * (A16), and it must not wait unseen. Returns whether the event was a card that waits.
 */
export async function onCardRemoved(
  context: HandlerContext,
  eventId: MatrixEventId,
): Promise<boolean> {
  const { unit, event } = context;
  const card = await cardAt(unit.db, event.room, eventId);
  if (card === null) return false;
  if (card.kind === 'question') {
    const question = await unit.db.question.findUnique({ where: { id: card.refId } });
    if (question?.status !== 'open') return false;
    await forgetCard(unit, card.cardKey);
    unit.emit({ type: 'question.asked', sessionId: question.sessionId, refId: question.id });
    return true;
  }
  const approval = await approvalOfCard(context, card);
  if (approval?.status !== 'pending' || card.kind === 'reminder' || card.kind === 'hint')
    return false;
  await forgetCard(unit, card.cardKey);
  unit.emit({
    type: 'approval.requested',
    sessionId: approval.sessionId,
    refId: approval.id,
    data: { again: true },
  });
  return true;
}

/** A tap on a card that was removed: nothing is decided, and who tapped is told so. */
export async function onFormerCard(context: HandlerContext, target: MatrixEventId): Promise<void> {
  const { unit, event } = context;
  const key = await formerCard(unit, lanesOf(event.room), target);
  if (key === null) return;
  const card = await unit.db.matrixCard.findUnique({ where: { cardKey: key } });
  await answer(
    context,
    answerTo(
      rich`That card was removed from the room, so nothing was decided. What waits stands here again, as a new card.`,
    ),
    { turnId: card?.turnId == null ? undefined : asId<TurnId>(card.turnId) },
  );
}

/** A tap on a card whose matter was asked for again in a new one: likewise. */
export async function onRetiredCard(
  context: HandlerContext,
  card: MatrixCard,
  target: MatrixEventId,
): Promise<void> {
  await answer(
    context,
    answerTo(
      rich`Nothing was decided: this card was asked for again. Decide on the new card below it.`,
    ),
    {
      turnId: card.turnId === null ? undefined : asId<TurnId>(card.turnId),
      to: { event: target },
    },
  );
}
