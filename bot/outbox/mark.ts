import type { Unit } from '../../core/db/database.ts';
import { type MatrixEventId, type TurnId, asId } from '../../core/ids.ts';
import { setTurnRoot } from '../../core/tasks/turns.ts';

const TURN_CARD = 'turn:';

/**
 * Marks a row as sent: by its transaction id, whoever learns first that the event is in the room, the sender from the
 * answer or the sync loop from the timeline. The card that it made gets its event, a turn its root. Returns whether this
 * call marked it.
 */
export async function markSent(
  unit: Unit,
  txnId: string,
  eventId: MatrixEventId | null,
): Promise<boolean> {
  const [row] = await unit.db.matrixOutbox.updateManyAndReturn({
    // A row given up may have arrived all the same; one that was replaced before it left cannot have.
    where: { txnId, state: { in: ['pending', 'failed'] } },
    data: { state: 'sent', eventId, sentAt: new Date(), error: null },
  });
  if (row === undefined) return false;
  if (eventId === null || row.cardKey === null) return true;
  if (row.kind !== 'send' && row.kind !== 'upload') return true;
  await unit.db.matrixCard.updateMany({
    where: { cardKey: row.cardKey, eventId: null },
    data: { eventId },
  });
  if (row.cardKey.startsWith(TURN_CARD)) {
    await setTurnRoot(unit, asId<TurnId>(row.cardKey.slice(TURN_CARD.length)), eventId);
  }
  return true;
}
