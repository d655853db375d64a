import type { Database } from '../../core/db/database.ts';
import { errorText } from '../../core/errors.ts';
import { type RoomId, asId } from '../../core/ids.ts';
import { log } from '../../core/log.ts';
import type { NomosClient } from '../matrix/client.ts';
import { sortFailure } from '../matrix/errors.ts';
import { persist } from '../matrix/retry.ts';
import { saveRoom } from './room-state.ts';

/**
 * Leaves the rooms of archived tasks (T11), once all that was to be said there has been said, and forgets what was said in
 * those of deleted ones. Driven by rows, so that it can be called at any time and again after a crash.
 */
export async function leaveArchivedRooms(options: {
  database: Database;
  client: NomosClient;
  signal: AbortSignal;
}): Promise<void> {
  const { database, client, signal } = options;
  const rows = await database.read.$queryRaw<Array<{ room_id: string }>>`
    SELECT r.room_id FROM matrix_rooms r LEFT JOIN sessions s ON s.room_id = r.room_id
    WHERE r.membership = 'join' AND (
      (s.archived_at IS NOT NULL AND NOT EXISTS (
        SELECT FROM matrix_outbox o WHERE o.lane = 'session:' || s.id AND o.state = 'pending'))
      OR (r.session_id IS NOT NULL AND NOT EXISTS (SELECT FROM sessions d WHERE d.id = r.session_id)))`;
  for (const { room_id: id } of rows) {
    const roomId = asId<RoomId>(id);
    try {
      await persist('leaving an archived task’s room', signal, () =>
        client.doRequest(
          'POST',
          `/_matrix/client/v3/rooms/${encodeURIComponent(roomId)}/leave`,
          null,
          {},
        ),
      );
    } catch (error) {
      signal.throwIfAborted();
      if (sortFailure(error).kind !== 'permanent') throw error;
      // It is out already, or the room is gone.
      log.warn({ roomId, error: errorText(error) }, 'an archived task’s room could not be left');
    }
    await database.write(async (unit) => saveRoom(unit, roomId, { membership: 'leave' }));
  }
  await forgetDeleted(database);
}

/** What was said in the rooms of deleted tasks, both ways, goes with their transcripts. */
async function forgetDeleted(database: Database): Promise<void> {
  const rooms = await database.read.$queryRaw<Array<{ room_id: string; session_id: string }>>`
    SELECT room_id, session_id FROM matrix_rooms r
    WHERE r.membership <> 'join' AND r.session_id IS NOT NULL
      AND NOT EXISTS (SELECT FROM sessions s WHERE s.id = r.session_id)`;
  for (const { room_id: roomId, session_id: sessionId } of rooms) {
    await database.write(async ({ db }) => {
      const lane = { in: [`session:${sessionId}`, `room:${roomId}`] };
      await db.matrixOutbox.deleteMany({ where: { lane } });
      await db.matrixCard.deleteMany({ where: { OR: [{ lane }, { sessionId }] } });
      await db.matrixInbox.deleteMany({ where: { roomId } });
      await db.matrixRoom.deleteMany({ where: { roomId } });
    });
  }
  // Those that were deleted before they had a room, or whose last cards were drawn after it was left.
  const roomless = await database.read.$queryRaw<Array<{ session_id: string }>>`
    SELECT DISTINCT c.session_id FROM matrix_cards c
    WHERE c.kind = 'name' AND NOT EXISTS (SELECT FROM sessions s WHERE s.id = c.session_id)
      AND NOT EXISTS (SELECT FROM matrix_rooms r WHERE r.session_id = c.session_id) LIMIT 100`;
  for (const { session_id: sessionId } of roomless) {
    await database.write(async ({ db }) => {
      await db.matrixOutbox.deleteMany({ where: { lane: `session:${sessionId}` } });
      await db.matrixCard.deleteMany({ where: { sessionId } });
    });
  }
}
