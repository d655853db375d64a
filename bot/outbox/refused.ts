import type { Database } from '../../core/db/database.ts';
import type { MatrixOutbox } from '../../core/db/rows.ts';
import { asId, type RoomId } from '../../core/ids.ts';
import { roomStateShape, saveRoom } from '../rooms/room-state.ts';

const SESSION = 'session:';
/** What the bot sets in the rooms themselves; other state is of people and of the Space. */
const OWN: ReadonlySet<string> = new Set(['m.room.name', 'm.room.pinned_events']);

/**
 * Says, once per room and in it, that the homeserver does not let the bot set its name and pinned card any more: somebody
 * lowered its power level. What it may no longer say there is told elsewhere, by `tellNotSaid`.
 */
export async function tellRefused(
  database: Database,
  row: MatrixOutbox,
  why: string,
): Promise<void> {
  if (row.kind !== 'state' || row.eventType === null || !OWN.has(row.eventType)) return;
  if (!row.lane.startsWith(SESSION)) return;
  await database.write(async (unit) => {
    const session = await unit.db.session.findUnique({
      where: { id: row.lane.slice(SESSION.length) },
      select: { roomId: true },
    });
    const roomId = session?.roomId ?? null;
    if (roomId === null) return;
    const room = await unit.db.matrixRoom.findUnique({ where: { roomId } });
    if (room === null || roomStateShape.parse(room.state).toldPowerless === true) return;
    await saveRoom(unit, asId<RoomId>(roomId), { state: { toldPowerless: true } });
    unit.emit({
      type: 'error.raised',
      data: {
        code: 'room_refused',
        message: `I may not set the name and the pinned card of this room any more (${why}).`,
        hint: 'Raise my power level in the room’s settings to that of a moderator (50). Until then the name may be out of date; all else works.',
        fault: 'operator',
        retry: false,
        roomId,
      },
    });
  });
}
