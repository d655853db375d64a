import { z } from 'zod';
import type { Database } from '../../core/db/database.ts';
import type { MatrixOutbox } from '../../core/db/rows.ts';
import { faultPoint } from '../../core/faults.ts';
import { type MatrixEventId, type RoomId, type UserId, asId } from '../../core/ids.ts';
import { log } from '../../core/log.ts';
import type { NomosClient } from '../matrix/client.ts';
import { type MakeRoomOptions, makeTaskRoom } from '../rooms/task-room.ts';
import { markSent } from './mark.ts';
import type { ClaimedRow } from './queue.ts';
import type { EventContent } from './relations.ts';
import {
  type Outgoing,
  UnsendableError,
  isSpeech,
  resolveFile,
  resolveRow,
  roomOfLane,
} from './resolve.ts';
import { rowContent } from './rows.ts';
import { findSent } from './search.ts';

/** What delivering a row needs. */
export interface DeliverOptions extends MakeRoomOptions {
  database: Database;
  client: NomosClient;
  botUserId: UserId;
}

/**
 * Brings one claimed row into its room and marks it. Throws what the homeserver or the database answered; then nothing is
 * known but that the row was tried, and the same call with the same row finds out or does it (R5).
 */
export async function deliver(claimed: ClaimedRow, options: DeliverOptions): Promise<void> {
  const { database, client, botUserId } = options;
  const { row } = claimed;
  if (row.kind === 'room') {
    await makeTaskRoom(claimed, options);
    return;
  }
  const roomId = await roomOfLane(database.read, row.lane);
  if (isSpeech(row)) await refuseClearText(database, roomId);
  if (claimed.stale && row.kind !== 'state' && row.kind !== 'redact') {
    const found = await findSent(database, client, botUserId, roomId, row);
    if (found !== undefined) {
      log.info({ row: row.id.toString() }, 'an event that was sent long ago was found in its room');
      await mark(database, row, found);
      return;
    }
  }
  const outgoing =
    row.kind === 'upload' ? await upload(row, options) : await resolveRow(database.read, row);
  await faultPoint('outbox.before_put');
  const eventId = await put(client, roomId, row.txnId, outgoing);
  await faultPoint('outbox.after_put');
  await mark(database, row, eventId);
}

async function mark(database: Database, row: MatrixOutbox, eventId: MatrixEventId): Promise<void> {
  await database.write(async (unit) => {
    await markSent(unit, row.txnId, eventId);
    await faultPoint('outbox.before_mark');
  });
}

async function refuseClearText(database: Database, roomId: RoomId): Promise<void> {
  const room = await database.read.matrixRoom.findUnique({ where: { roomId } });
  if (room?.encrypted === true) {
    throw new UnsendableError('room_encrypted', `The room ${roomId} is encrypted.`);
  }
}

const putShape = z.looseObject({ event_id: z.string() });

async function put(
  client: NomosClient,
  roomId: RoomId,
  txnId: string,
  outgoing: Outgoing,
): Promise<MatrixEventId> {
  const room = `/_matrix/client/v3/rooms/${encodeURIComponent(roomId)}`;
  const [path, body] = requestOf(outgoing, encodeURIComponent(txnId));
  const answer = putShape.parse(await client.doRequest('PUT', `${room}${path}`, null, body));
  return asId<MatrixEventId>(answer.event_id);
}

function requestOf(outgoing: Outgoing, txn: string): [path: string, body: EventContent] {
  switch (outgoing.kind) {
    case 'event':
      return [`/send/${encodeURIComponent(outgoing.eventType)}/${txn}`, outgoing.content];
    case 'redaction': {
      const { target, reason } = outgoing;
      return [
        `/redact/${encodeURIComponent(target)}/${txn}`,
        reason === undefined ? {} : { reason },
      ];
    }
    case 'state': {
      const { eventType, stateKey, content } = outgoing;
      return [`/state/${encodeURIComponent(eventType)}/${encodeURIComponent(stateKey)}`, content];
    }
  }
}

const uploadShape = z.looseObject({ content_uri: z.string() });

/** Uploads a file unless an earlier try did, and gives the event that shows it. */
async function upload(row: MatrixOutbox, options: DeliverOptions): Promise<Outgoing> {
  const { database, client } = options;
  const file = await resolveFile(database.read, row);
  let url = file.url;
  if (url === undefined) {
    const answer = await client.doRequest(
      'POST',
      '/_matrix/media/v3/upload',
      { filename: file.name },
      file.bytes,
      undefined,
      false,
      file.mimetype,
    );
    url = uploadShape.parse(answer).content_uri;
    const content = { ...rowContent.upload.parse(row.content), url };
    await database.write(async ({ db }) =>
      db.matrixOutbox.updateMany({
        where: { id: row.id },
        data: { content },
      }),
    );
  }
  return { kind: 'event', eventType: row.eventType ?? 'm.room.message', content: file.event(url) };
}
