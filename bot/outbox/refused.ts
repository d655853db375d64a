import type { Database } from '../../core/db/database.ts';
import type { MatrixOutbox } from '../../core/db/rows.ts';
import { asId, type RoomId } from '../../core/ids.ts';
import { roomStateShape, saveRoom } from '../rooms/room-state.ts';

/** State of other people, which may be refused for reasons of theirs. */
const OTHERS: ReadonlySet<string> = new Set(['m.room.member', 'm.space.child']);

/**
 * Says, once per room, that the homeserver does not let the bot speak there, or set the room's name and pinned card: somebody
 * lowered its power level, or put it out. What cannot be said in a room is said in the lobby.
 */
export async function tellRefused(
  database: Database,
  row: MatrixOutbox,
  why: string,
): Promise<void> {
  if (row.eventType !== null && OTHERS.has(row.eventType)) return;
  const what = row.kind === 'state' ? 'state' : 'speech';
  const sessionId = row.lane.startsWith('session:') ? row.lane.slice('session:'.length) : undefined;
  const session =
    sessionId === undefined
      ? null
      : await database.read.session.findUnique({ where: { id: sessionId } });
  const roomId = session === null ? row.lane.slice('room:'.length) : session.roomId;
  if (roomId === null || (sessionId !== undefined && session === null)) return;
  await database.write(async (unit) => {
    const room = await unit.db.matrixRoom.findUnique({ where: { roomId } });
    // The lobby itself: there is no other place to say it, and the log has it.
    if (room === null || (room.kind === 'lobby' && what === 'speech')) return;
    const told = roomStateShape.parse(room.state).toldRefused ?? [];
    if (told.includes(what)) return;
    await saveRoom(unit, asId<RoomId>(roomId), { state: { toldRefused: [...told, what] } });
    const name = session === null ? `the room ${roomId}` : `the room of task ${session.shortId}`;
    unit.emit({
      type: 'error.raised',
      data: {
        code: 'room_refused',
        message:
          what === 'speech'
            ? `I may not write in ${name} any more (${why}).`
            : `I may not set the name and the pinned card of ${name} any more (${why}).`,
        hint:
          what === 'speech'
            ? 'What I had to say there is not said again: invite me again or raise my power level in its settings, then write there. !status with the task’s id tells here how it stands.'
            : 'Raise my power level in its settings to that of a moderator (50). Until then the name may be out of date; all else works.',
        fault: 'operator',
        retry: false,
        ...(what === 'state' ? { roomId } : {}),
      },
    });
  });
}
