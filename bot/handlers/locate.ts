import type { Reader } from '../../core/db/database.ts';
import type { MatrixCard } from '../../core/db/rows.ts';
import { asId, type MatrixEventId, type SessionId, type TurnId } from '../../core/ids.ts';
import type { KnownRoom } from '../inbox/types.ts';
import { roomLane, sessionLane } from '../outbox/rows.ts';
import { rowContent } from '../outbox/rows.ts';

/**
 * The bot's own card that stands in this room under this event id. Only what the bot itself wrote down counts: nothing that
 * an event says about itself is believed (A2, Z2).
 */
export async function cardAt(
  db: Reader,
  room: KnownRoom,
  eventId: MatrixEventId,
): Promise<MatrixCard | null> {
  const card = await db.matrixCard.findUnique({ where: { eventId } });
  return card === null || !lanesOf(room).includes(card.lane) ? null : card;
}

/** The turn that an event of this room belongs to: its root, a message in it, or anything that the bot said in it. */
export async function turnAt(
  db: Reader,
  room: KnownRoom,
  eventId: MatrixEventId,
): Promise<TurnId | null> {
  const { sessionId } = room;
  if (sessionId === null) return null;
  const root = await db.turn.findUnique({ where: { rootEvent: eventId } });
  if (root !== null) return root.sessionId === sessionId ? asId<TurnId>(root.id) : null;
  const message = await db.message.findUnique({ where: { eventId } });
  if (message !== null)
    return message.sessionId === sessionId ? asId<TurnId>(message.turnId) : null;
  const card = await cardAt(db, room, eventId);
  if (card !== null) return card.turnId === null ? null : asId<TurnId>(card.turnId);
  return turnOfSaid(db, sessionId, eventId);
}

/** The turn of something that the bot said once and that is no card. */
async function turnOfSaid(
  db: Reader,
  sessionId: SessionId,
  eventId: MatrixEventId,
): Promise<TurnId | null> {
  const row = await db.matrixOutbox.findFirst({
    where: { eventId, lane: sessionLane(sessionId), kind: { in: ['send', 'upload'] } },
    select: { kind: true, content: true },
  });
  const shape = row?.kind === 'upload' ? rowContent.upload : rowContent.send;
  const sent = row === null ? undefined : shape.safeParse(row.content);
  const thread = sent?.success === true ? sent.data.thread : undefined;
  if (thread === undefined) return null;
  if ('turnId' in thread) return asId<TurnId>(thread.turnId);
  const turn = await db.turn.findUnique({ where: { rootEvent: thread.rootEvent } });
  return turn === null ? null : asId<TurnId>(turn.id);
}

/** The task that an event of the lobby (or of a direct chat) belongs to: the request that opened it, or the bot's link to it. */
export async function taskAt(
  db: Reader,
  room: KnownRoom,
  eventId: MatrixEventId,
): Promise<SessionId | null> {
  const card = await cardAt(db, room, eventId);
  if (card !== null) return card.kind === 'lobby' ? asId<SessionId>(card.refId) : null;
  const message = await db.message.findUnique({ where: { eventId }, select: { sessionId: true } });
  return message === null ? null : asId<SessionId>(message.sessionId);
}

/** The lanes in which the bot's own messages to a room stand. */
export function lanesOf(room: KnownRoom): string[] {
  const own = roomLane(room.roomId);
  return room.sessionId === null ? [own] : [own, sessionLane(room.sessionId)];
}
