import { type Unit, sql } from '../../core/db/database.ts';
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
  // A row given up may have arrived all the same; one that was replaced before it left cannot have.
  const [row] = await unit.db.$queryRaw<Array<{ kind: string; card_key: string | null }>>(sql`
    UPDATE matrix_outbox SET state = 'sent', event_id = ${eventId}, sent_at = now(), error = NULL
    WHERE txn_id = ${txnId} AND state IN ('pending', 'failed') RETURNING kind::text, card_key`);
  if (row === undefined) return false;
  const { kind, card_key: cardKey } = row;
  if (eventId === null || cardKey === null) return true;
  if (kind !== 'send' && kind !== 'upload') return true;
  await unit.db.matrixCard.updateMany({ where: { cardKey, eventId: null }, data: { eventId } });
  if (cardKey.startsWith(TURN_CARD)) {
    await setTurnRoot(unit, asId<TurnId>(cardKey.slice(TURN_CARD.length)), eventId);
  }
  return true;
}
