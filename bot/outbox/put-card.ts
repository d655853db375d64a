import { createHash } from 'node:crypto';
import type { Unit } from '../../core/db/database.ts';
import { safeJson } from '../../core/text/safe.ts';
import { bringBack } from '../rooms/bring-back.ts';
import {
  type AtEvent,
  CARD_PACE_MS,
  type CardIdentity,
  type Destination,
  type InThread,
  PRIORITY,
  insert,
  laneOf,
  messageOf,
  placed,
  supersedeEdits,
} from './insert.ts';
import type { MessageContent } from './relations.ts';
import type { Lane, RowContent } from './rows.ts';

/**
 * Shows a card in its newest form: sends it when it is new (or when its first message never left), edits it when its
 * content changed, does nothing otherwise. What has not left yet is replaced, be it an edit or the first message itself: where
 * the homeserver limits the bot, that saves an event (R10). Writes `matrix_cards` too.
 * `thread`, `replyTo` and `to` count for the first message only. Says what it did: `reworded` is a first message that leaves in
 * its newest form, so that it still rings where that calls somebody; `edited` rings nobody.
 */
export async function putCard(
  unit: Unit,
  args: {
    to: Destination;
    card: CardIdentity;
    message: MessageContent;
    thread?: InThread | undefined;
    replyTo?: AtEvent | undefined;
    /** Default `PRIORITY.state`. */
    priority?: number | undefined;
    /** Least time between two edits of this card, default `CARD_PACE_MS`; the first edit goes at once. */
    paceMs?: number | undefined;
    /** Marks the card as in its last form. */
    closed?: boolean | undefined;
  },
): Promise<'sent' | 'reworded' | 'edited' | 'unchanged'> {
  const { card } = args;
  const message = messageOf(args.message);
  const contentHash = createHash('sha256').update(JSON.stringify(message)).digest('hex');
  const known = await unit.db.matrixCard.findUnique({ where: { cardKey: card.key } });
  const closed = args.closed ?? known?.closed ?? false;
  if (known?.contentHash === contentHash && known.closed === closed) return 'unchanged';

  const sent = known !== null && (known.eventId !== null || (await isOnItsWay(unit, card.key)));
  const lane = sent ? (known.lane as Lane) : await laneOf(unit, args.to);
  const now = new Date();
  const fields = {
    lane,
    kind: card.kind,
    refId: card.refId,
    sessionId: card.sessionId ?? null,
    turnId: card.turnId ?? null,
    contentHash,
    closed,
    updatedAt: now,
  };
  await unit.db.matrixCard.upsert({
    where: { cardKey: card.key },
    create: { cardKey: card.key, ...fields },
    update: fields,
    select: { cardKey: true },
  });
  if (known?.contentHash === contentHash) return 'unchanged';

  const tags = { card: card.key, kind: card.kind, ref: card.refId };
  const priority = args.priority ?? PRIORITY.state;
  if (sent) {
    if (await reworded(unit, card.key, message, priority)) return 'reworded';
    await supersedeEdits(unit, card.key);
    const content: RowContent<'edit'> = {
      v: 1,
      message,
      tags,
      paceMs: args.paceMs ?? CARD_PACE_MS,
    };
    await insert(unit, {
      lane,
      kind: 'edit',
      eventType: 'm.room.message',
      content,
      cardKey: card.key,
      priority,
    });
    return 'edited';
  }
  if ('session' in args.to) await bringBack(unit, args.to.session, message.mentions);
  const content: RowContent<'send'> = { v: 1, message, tags, ...placed(args) };
  await insert(unit, {
    lane,
    kind: 'send',
    eventType: 'm.room.message',
    content,
    cardKey: card.key,
    priority,
  });
  return 'sent';
}

/** Gives a first message that was not tried yet its newest form. Whether there was one. */
async function reworded(
  unit: Unit,
  cardKey: string,
  message: RowContent<'send'>['message'],
  priority: number,
): Promise<boolean> {
  const words = JSON.stringify(safeJson(message));
  const changed = await unit.db.$executeRaw`
    UPDATE matrix_outbox SET content = jsonb_set(content, '{message}', ${words}::jsonb), priority = ${priority}
    WHERE card_key = ${cardKey} AND kind = 'send' AND state = 'pending' AND first_tried_at IS NULL`;
  return changed > 0;
}

/**
 * Whether a card whose row shows no event is in its room, or will be. It may have arrived since the row was read: then no
 * send waits any more, and the row, read again, has its event. Sent a second time, the first message would stay for good.
 */
async function isOnItsWay(unit: Unit, cardKey: string): Promise<boolean> {
  const pending = await unit.db.matrixOutbox.count({
    where: { cardKey, kind: { in: ['send', 'upload'] }, state: 'pending' },
  });
  if (pending > 0) return true;
  const now = await unit.db.matrixCard.findUnique({
    where: { cardKey },
    select: { eventId: true },
  });
  return now !== null && now.eventId !== null;
}
