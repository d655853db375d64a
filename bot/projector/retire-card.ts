import type { Approval } from '../../core/db/rows.ts';
import { asId, type SessionId, type TurnId } from '../../core/ids.ts';
import { askedAnew } from '../cards/replies.ts';
import { putCard } from '../outbox/enqueue.ts';
import { renameCard } from '../outbox/forget-card.ts';
import type { DrawContext } from './context.ts';
import { shownSession } from './draw-task.ts';
import { cardKey } from './keys.ts';
import { waitingName } from './waiting-name.ts';

/**
 * Before something that stands in its room already is asked for again: an edit rings nowhere (C14), and the card carries the taps
 * of the decision before. It becomes a line that says so, decides nothing any more, and leaves its key to a new card.
 */
export async function retireCard(
  context: DrawContext,
  approval: Pick<Approval, 'id' | 'sessionId' | 'turnId' | 'createdAt'>,
  key: string,
): Promise<void> {
  const { unit } = context;
  const card = await unit.db.matrixCard.findUnique({ where: { cardKey: key } });
  if (card === null || card.eventId === null) return;
  // This asking's own card: it was drawn for another reason before this.
  const own = { cardKey: key, kind: 'send' as const, createdAt: { gte: approval.createdAt } };
  if ((await unit.db.matrixOutbox.count({ where: own })) > 0) return;
  const session = await shownSession(context, approval.sessionId);
  if (session === undefined) return;
  const waiting = await waitingName(unit.db, session, approval.id);
  if (waiting === undefined) return;
  const former = cardKey.former(card.eventId);
  await renameCard(unit, key, former);
  await putCard(unit, {
    to: { session: asId<SessionId>(session.id) },
    card: {
      key: former,
      kind: 'former',
      refId: card.refId,
      sessionId: asId<SessionId>(session.id),
      ...(approval.turnId === null ? {} : { turnId: asId<TurnId>(approval.turnId) }),
    },
    message: askedAnew(waiting.name),
    closed: true,
  });
}
