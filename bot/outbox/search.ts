import type { Database } from '../../core/db/database.ts';
import { type MatrixEventId, type RoomId, type UserId, asId } from '../../core/ids.ts';
import type { NomosClient } from '../matrix/client.ts';
import { eventShape, messagesShape, readEvents, txnOf } from '../matrix/events.ts';

const PAGE = 100;

/**
 * Looks for the event of a row that was tried before, when the homeserver may have forgotten the transaction id (it keeps
 * them for 30 minutes at least). Reads the room backwards to an event of the same lane that was sent before the first
 * try, so that neither a clock of the homeserver nor a guess at a length ends the search. Undefined: it is not there.
 */
export async function findSent(
  database: Database,
  client: NomosClient,
  botUserId: UserId,
  roomId: RoomId,
  row: { txnId: string; lane: string; firstTriedAt: Date | null },
): Promise<MatrixEventId | undefined> {
  const before = await database.read.matrixOutbox.findFirst({
    where: {
      lane: row.lane,
      state: 'sent',
      kind: { in: ['send', 'edit', 'react', 'upload'] },
      eventId: { not: null },
      ...(row.firstTriedAt === null ? {} : { sentAt: { lt: row.firstTriedAt } }),
    },
    orderBy: { sentAt: 'desc' },
    select: { eventId: true },
  });
  let from: string | undefined;
  for (;;) {
    const { chunk, end } = messagesShape.parse(
      await client.doRequest(
        'GET',
        `/_matrix/client/v3/rooms/${encodeURIComponent(roomId)}/messages`,
        { dir: 'b', limit: PAGE, from },
      ),
    );
    for (const event of readEvents(eventShape, chunk, roomId)) {
      if (event.sender === botUserId && txnOf(event) === row.txnId) {
        return asId<MatrixEventId>(event.event_id);
      }
      if (event.event_id === before?.eventId) return undefined;
    }
    if (end === undefined || end === from) return undefined;
    from = end;
  }
}
