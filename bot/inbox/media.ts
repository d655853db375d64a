import type { Reader } from '../../core/db/database.ts';
import type { MatrixInbox } from '../../core/db/rows.ts';
import { clearShape } from '../crypto/unseal.ts';
import { eventShape } from '../matrix/events.ts';
import { mediaSource } from '../media/source.ts';

/** Where recordings, pictures and files are taken in: what people say to each other elsewhere is not for a model to hear. */
const MEDIA_ROOMS: ReadonlySet<string> = new Set(['lobby', 'direct', 'task']);

/** The content of an event that brings a recording, a picture or a file to be read (C16); undefined for any other. */
export async function mediaContent(
  db: Reader,
  row: MatrixInbox,
): Promise<Record<string, unknown> | undefined> {
  const inner = messageOf(row);
  if (inner === undefined || mediaSource(inner) === undefined) return undefined;
  const room = await db.matrixRoom.findUnique({ where: { roomId: row.roomId } });
  return room !== null && MEDIA_ROOMS.has(room.kind) ? inner : undefined;
}

// What cannot be understood is for the handler to fail at, where it is counted and told (R12).
function messageOf(row: MatrixInbox): Record<string, unknown> | undefined {
  if (row.clear !== null) {
    const clear = clearShape.safeParse(row.clear);
    return clear.data?.type === 'm.room.message' ? clear.data.content : undefined;
  }
  return row.type === 'm.room.message' ? eventShape.safeParse(row.event).data?.content : undefined;
}
