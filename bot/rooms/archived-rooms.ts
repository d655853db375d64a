import type { Database } from '../../core/db/database.ts';
import { errorText } from '../../core/errors.ts';
import { type RoomId, asId } from '../../core/ids.ts';
import { log } from '../../core/log.ts';
import type { NomosClient } from '../matrix/client.ts';
import { sortFailure } from '../matrix/errors.ts';
import { persist } from '../matrix/retry.ts';
import { saveRoom } from './room-state.ts';

/**
 * Leaves the rooms of archived tasks (T11), once all that was to be said there has been said. Driven by rows, so that it can
 * be called at any time and again after a crash.
 */
export async function leaveArchivedRooms(options: {
  database: Database;
  client: NomosClient;
  signal: AbortSignal;
}): Promise<void> {
  const { database, client, signal } = options;
  const rows = await database.read.$queryRaw<Array<{ room_id: string }>>`
    SELECT r.room_id FROM matrix_rooms r JOIN sessions s ON s.room_id = r.room_id
    WHERE s.archived_at IS NOT NULL AND r.membership = 'join' AND NOT EXISTS (
      SELECT FROM matrix_outbox o WHERE o.lane = 'session:' || s.id AND o.state = 'pending')`;
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
}
