import type { Unit } from '../../core/db/database.ts';
import { asId, type RoomId, type SessionId } from '../../core/ids.ts';
import type { StateEvent } from '../matrix/events.ts';
import { PRIORITY } from '../outbox/insert.ts';
import { setState } from '../outbox/room-rows.ts';
import { roomStateShape, saveRoom } from './room-state.ts';

/** Keeps who of the operators left a room of their own will, and forgets it when they are invited or come back. */
export async function noteLeaving(
  unit: Unit,
  roomId: RoomId,
  events: readonly StateEvent[],
  isOperator: (userId: string) => boolean,
): Promise<void> {
  const moves = events.filter(
    (event) => event.type === 'm.room.member' && isOperator(event.state_key),
  );
  if (moves.length === 0) return;
  const before = await leftOf(unit, roomId);
  const left = new Set(before);
  for (const { state_key: userId, sender, content } of moves) {
    // Whom somebody removed or banned stays outside.
    if (content['membership'] === 'leave' && sender === userId) left.add(userId);
    else left.delete(userId);
  }
  if (left.size === before.length && before.every((userId) => left.has(userId))) return;
  await saveRoom(unit, roomId, { state: { left: [...left] } });
}

/**
 * Invites those of `userIds` again who left a task's room, since something there is for them: what waits must not be invisible
 * (T2, C14). Does nothing for whoever is in the room.
 */
export async function bringBack(
  unit: Unit,
  sessionId: SessionId,
  userIds: readonly string[],
): Promise<void> {
  if (userIds.length === 0) return;
  const session = await unit.db.session.findUnique({
    where: { id: sessionId },
    select: { roomId: true, archivedAt: true },
  });
  if (session?.roomId == null || session.archivedAt !== null) return;
  const left = await leftOf(unit, asId<RoomId>(session.roomId));
  for (const userId of userIds.filter((one) => left.includes(one))) {
    await setState(unit, {
      to: { session: sessionId },
      eventType: 'm.room.member',
      stateKey: userId,
      state: { membership: 'invite' },
      priority: PRIORITY.person,
    });
  }
}

async function leftOf(unit: Unit, roomId: RoomId): Promise<readonly string[]> {
  const room = await unit.db.matrixRoom.findUnique({ where: { roomId } });
  return room === null ? [] : (roomStateShape.parse(room.state).left ?? []);
}
