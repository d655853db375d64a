import { sql, type Unit } from '../../core/db/database.ts';

/**
 * A card was removed from its room: its event is no longer the card's, so that it can be decided on nowhere until the next
 * drawing has sent it again, with its reactions.
 */
export async function forgetCard(unit: Unit, cardKey: string): Promise<void> {
  await unit.db.matrixCard.update({
    where: { cardKey },
    data: { eventId: null, contentHash: '' },
  });
  await unit.db.$executeRaw(sql`
    UPDATE matrix_outbox SET state = 'superseded'
    WHERE card_key = ${cardKey} AND (kind = 'react' OR (kind = 'edit' AND state = 'pending'))`);
}

/**
 * A card goes on under another key, and what is drawn under its key from now on is a new card, with reactions of its own.
 * Edits and reactions that have not left yet are dropped.
 */
export async function renameCard(unit: Unit, from: string, to: string): Promise<void> {
  await unit.db.matrixCard.update({ where: { cardKey: from }, data: { cardKey: to } });
  await unit.db.$executeRaw(sql`
    UPDATE matrix_outbox SET state = 'superseded'
    WHERE card_key = ${from} AND (kind = 'react' OR (kind = 'edit' AND state = 'pending'))`);
}

/** Forgets those of these cards and files that were given up, so that the next drawing sends them anew. Returns how many. */
export async function forgetGivenUp(unit: Unit, cardKeys: readonly string[]): Promise<number> {
  return unit.db.$executeRaw(sql`
    DELETE FROM matrix_cards c WHERE c.card_key = ANY(${[...cardKeys]}) AND c.event_id IS NULL
      AND EXISTS (SELECT FROM matrix_outbox o WHERE o.card_key = c.card_key AND o.kind IN ('send', 'upload') AND o.state = 'failed')
      AND NOT EXISTS (SELECT FROM matrix_outbox o WHERE o.card_key = c.card_key AND o.kind IN ('send', 'upload') AND o.state = 'pending')`);
}

/** The card whose event this was once, before it was removed; null if the bot never sent a card with it in these lanes. */
export async function formerCard(
  unit: Unit,
  lanes: readonly string[],
  eventId: string,
): Promise<string | null> {
  const row = await unit.db.matrixOutbox.findFirst({
    where: { eventId, lane: { in: [...lanes] }, kind: 'send', cardKey: { not: null } },
    select: { cardKey: true },
  });
  return row?.cardKey ?? null;
}
