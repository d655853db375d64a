import { z } from 'zod';
import type { Database } from '../../core/db/database.ts';
import type { MatrixOutbox } from '../../core/db/rows.ts';
import { faultPoint } from '../../core/faults.ts';
import { type MatrixEventId, type RoomId, type UserId, asId } from '../../core/ids.ts';
import { log } from '../../core/log.ts';
import type { RoomCrypto } from '../crypto/crypto.ts';
import type { NomosClient } from '../matrix/client.ts';
import { type MakeRoomOptions, makeTaskRoom } from '../rooms/task-room.ts';
import { MAX_CONTENT_BYTES, MAX_SEALED_BYTES } from './fit.ts';
import { markSent } from './mark.ts';
import type { ClaimedRow } from './queue.ts';
import type { EventContent } from './relations.ts';
import { type Outgoing, UnsendableError, isSpeech, resolveRow, roomOfLane } from './resolve.ts';
import { findSent } from './search.ts';
import { upload } from './upload.ts';

/** What delivering a row needs. */
export interface DeliverOptions extends MakeRoomOptions {
  database: Database;
  client: NomosClient;
  botUserId: UserId;
  /** Without it nothing is said in encrypted rooms. */
  crypto?: RoomCrypto | undefined;
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
  const secret = isSpeech(row) && (await isEncrypted(database, roomId));
  if (secret && (options.crypto === undefined || options.crypto.lost !== undefined)) {
    throw cannotEncrypt(roomId);
  }
  if (claimed.stale && row.kind !== 'state' && row.kind !== 'redact') {
    const found = await findSent(database, client, botUserId, roomId, row);
    if (found !== undefined) {
      log.info({ row: row.id.toString() }, 'an event that was sent long ago was found in its room');
      await mark(database, row, found);
      return;
    }
  }
  const outgoing = await outgoingOf(row, roomId, secret, options);
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

async function isEncrypted(database: Database, roomId: RoomId): Promise<boolean> {
  const room = await database.read.matrixRoom.findUnique({ where: { roomId } });
  return room?.encrypted === true;
}

function cannotEncrypt(roomId: RoomId): UnsendableError {
  return new UnsendableError(
    'room_encrypted',
    `The room ${roomId} is encrypted, and the bot cannot encrypt.`,
  );
}

const sealedShape = z.strictObject({ v: z.literal(1), content: z.record(z.string(), z.unknown()) });

/**
 * What a row sends. In an encrypted room that is a ciphertext, made as late as this and written beside the row before it
 * leaves: every later try sends the same bytes (R5).
 */
async function outgoingOf(
  row: MatrixOutbox,
  roomId: RoomId,
  secret: boolean,
  options: DeliverOptions,
): Promise<Outgoing> {
  const { database, crypto } = options;
  if (row.sealed !== null) {
    const { content } = sealedShape.parse(row.sealed);
    return { kind: 'event', eventType: 'm.room.encrypted', content };
  }
  const outgoing =
    row.kind === 'upload'
      ? await upload(row, secret, options)
      : await resolveRow(database.read, row, secret ? MAX_SEALED_BYTES : MAX_CONTENT_BYTES);
  if (!secret || outgoing.kind !== 'event') return outgoing;
  if (crypto === undefined) throw cannotEncrypt(roomId);
  const content = {
    ...(await crypto.seal(roomId, outgoing.eventType, outgoing.content)),
    // In clear as well, so that the event can be found again without its key.
    'org.nomos': { txn: row.txnId },
  };
  await database.write(async ({ db }) =>
    db.matrixOutbox.updateMany({
      where: { id: row.id },
      data: { sealed: { v: 1, content: content } },
    }),
  );
  await faultPoint('outbox.sealed');
  return { kind: 'event', eventType: 'm.room.encrypted', content };
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
