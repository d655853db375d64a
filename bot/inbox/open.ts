import type { Database, JsonInput, Unit } from '../../core/db/database.ts';
import type { MatrixInbox, MatrixRoom } from '../../core/db/rows.ts';
import { type MatrixEventId, type RoomId, asId } from '../../core/ids.ts';
import { log } from '../../core/log.ts';
import type { RoomCrypto } from '../crypto/crypto.ts';
import { type ClearEvent, type Unsealed, UnsealError } from '../crypto/unseal.ts';
import { readMessage } from '../handlers/content.ts';
import { sendMessage } from '../outbox/enqueue.ts';
import { knownRoom, roomStateShape, saveRoom } from '../rooms/room-state.ts';

/** So long the messages of a room wait for the key of one among them. A key is sent before its message, as a rule. */
const KEY_WAIT_MS = 10_000;
/** A key that comes so long after its message changes nothing any more. */
const LATE = '7 days';
const MOST_UNREAD = 200;

const CANNOT_READ =
  'I cannot read here: this room is encrypted, and I cannot decrypt. ' +
  'Please write to me in an unencrypted room, for instance in the Nomos lobby.';
const NO_KEY =
  '🔒 I could not read this message: its key has not reached me. If the key still comes, I take the message up then. ' +
  'Otherwise please write it again.';
const WITHHELD =
  '🔒 I could not read this message: your client keeps its key from devices that you have not verified, and mine is one. ' +
  'Allow unverified devices in this room’s security settings, then write it again.';
const UNREADABLE =
  '🔒 I could not read this message: it cannot be decrypted. Please write it again.';

/** What came of opening an encrypted event: work on it now, look again after a while, or it is dealt with. */
export type Opened = { row: MatrixInbox } | { waitMs: number } | 'dealt_with';

/**
 * Decrypts an event that is next in its room and stores what it says beside it. One whose key is not there holds the room up
 * for a while, so that order is kept; then it is set aside and its sender is told (R4: it is worked on if the key comes).
 */
export async function openSealed(
  database: Database,
  crypto: RoomCrypto,
  row: MatrixInbox,
): Promise<Opened> {
  const unsealed = await crypto.unseal(asId<RoomId>(row.roomId), row.sender, row.event);
  if (unsealed.kind === 'clear') {
    const clear = unsealed.event;
    if (await isCopy(database, row, clear)) {
      await refuseCopy(database, row);
      return 'dealt_with';
    }
    return {
      row: await database.write(async ({ db }) =>
        db.matrixInbox.update({
          where: { eventId: row.eventId },
          data: { clear: clear as JsonInput },
        }),
      ),
    };
  }
  if (unsealed.kind === 'redacted') {
    await database.write(async ({ db }) =>
      db.matrixInbox.update({ where: { eventId: row.eventId }, data: { state: 'ignored' } }),
    );
    return 'dealt_with';
  }
  // Nothing will be readable: the room's plain answer says so.
  if (crypto.lost !== undefined) return { row };
  if (unsealed.kind === 'no_key') {
    // What is kept back on purpose is not waited for.
    const waitMs = unsealed.withheld === undefined ? await restOfWait(database, row) : 0;
    if (waitMs > 0) return { waitMs };
  }
  log.warn({ eventId: row.eventId, why: unsealed.why }, 'a message could not be decrypted');
  await database.write(async (unit) => {
    const { count } = await unit.db.matrixInbox.updateMany({
      where: { eventId: row.eventId, state: 'pending' },
      data: {
        state: unsealed.kind === 'no_key' ? 'unread' : 'failed',
        error: unsealed.why,
        handledAt: new Date(),
      },
    });
    if (count > 0) await tell(unit, row, wordsFor(unsealed));
  });
  return 'dealt_with';
}

function wordsFor(unsealed: Unsealed & { kind: 'no_key' | 'unreadable' }): string {
  if (unsealed.kind === 'unreadable') return UNREADABLE;
  return unsealed.withheld === 'm.unverified' ? WITHHELD : NO_KEY;
}

/** Whether what was encrypted has come before, in another event: its sender encrypts nothing to the same bytes twice. */
async function isCopy(database: Database, row: MatrixInbox, clear: ClearEvent): Promise<boolean> {
  const found = await database.read.$queryRaw<unknown[]>`
    SELECT event_id FROM matrix_inbox WHERE clear->>'cipher' = ${clear.cipher} AND clear IS NOT NULL
      AND event_id <> ${row.eventId} LIMIT 1`;
  return found.length > 0;
}

async function refuseCopy(database: Database, row: MatrixInbox): Promise<void> {
  log.error(
    { eventId: row.eventId },
    'a message came a second time in another event; it is ignored',
  );
  await database.write(async (unit) => {
    await unit.db.matrixInbox.updateMany({
      where: { eventId: row.eventId },
      data: { state: 'failed', error: 'a copy of an earlier message', handledAt: new Date() },
    });
    unit.audit({
      actor: row.sender,
      action: 'message.copied',
      subject: row.eventId,
      data: { roomId: row.roomId },
    });
  });
}

async function restOfWait(database: Database, row: MatrixInbox): Promise<number> {
  const [wait] = await database.read.$queryRaw<Array<{ ms: number }>>`
    SELECT (extract(epoch FROM received_at - now()) * 1000)::float8 + ${KEY_WAIT_MS}::float8 AS ms
    FROM matrix_inbox WHERE event_id = ${row.eventId}`;
  return wait?.ms ?? 0;
}

async function tell(unit: Unit, row: MatrixInbox, body: string): Promise<void> {
  const room = await unit.db.matrixRoom.findUniqueOrThrow({ where: { roomId: row.roomId } });
  // There the bot is spoken to only now and then, and this message was hardly for it.
  if (knownRoom(room).kind === 'other') return;
  // What it relates to stands in clear; what kind of message it is does not.
  const event = row.event as { content?: Record<string, unknown> };
  const shown = readMessage({ msgtype: 'm.text', body: '', ...event.content });
  const threadRoot = shown?.threadRoot ?? null;
  await sendMessage(unit, {
    to: { room: asId<RoomId>(row.roomId) },
    message: { msgtype: 'm.text', body, mentions: [row.sender] },
    replyTo: { event: asId<MatrixEventId>(row.eventId) },
    ...(threadRoot === null ? {} : { thread: { rootEvent: threadRoot } }),
  });
}

/**
 * Tries the messages that were set aside in these rooms, or in all, once more: their keys may have come. Those that can be
 * read now take their place in the queue again, marked as late. Gives whether there were any.
 */
export async function retryUnread(
  database: Database,
  crypto: RoomCrypto,
  roomIds: readonly RoomId[] | 'all',
): Promise<boolean> {
  const rows = await database.read.$queryRaw<Array<{ event_id: string }>>`
    SELECT event_id FROM matrix_inbox AS i
    WHERE state = 'unread' AND received_at > now() - ${LATE}::text::interval
      AND (${roomIds === 'all'} OR room_id = ANY(${roomIds === 'all' ? [] : [...roomIds]}))
      AND NOT EXISTS (SELECT FROM matrix_inbox AS r WHERE r.room_id = i.room_id AND r.sender = i.sender
        AND r.type = 'm.room.redaction'
        AND coalesce(r.event->>'redacts', r.event->'content'->>'redacts') = i.event_id)
      -- Whoever edited it was told to write it anew.
      AND NOT EXISTS (SELECT FROM matrix_inbox AS e WHERE e.room_id = i.room_id AND e.sender = i.sender AND e.state = 'done'
        AND e.event->'content'->'m.relates_to'->>'rel_type' = 'm.replace'
        AND e.event->'content'->'m.relates_to'->>'event_id' = i.event_id)
    ORDER BY position LIMIT ${MOST_UNREAD}`;
  let any = false;
  for (const { event_id: eventId } of rows) {
    const row = await database.read.matrixInbox.findUniqueOrThrow({ where: { eventId } });
    const unsealed = await unsealAgain(crypto, row);
    if (unsealed?.kind !== 'clear') continue;
    const clear: ClearEvent = { ...unsealed.event, late: true };
    if (await isCopy(database, row, clear)) {
      await refuseCopy(database, row);
      continue;
    }
    const { count } = await database.write(async ({ db }) =>
      db.matrixInbox.updateMany({
        where: { eventId, state: 'unread' },
        data: { state: 'pending', error: null, clear: clear as JsonInput },
      }),
    );
    any ||= count > 0;
  }
  return any;
}

/** An event at which the library fails keeps no other from being tried. */
async function unsealAgain(crypto: RoomCrypto, row: MatrixInbox): Promise<Unsealed | undefined> {
  try {
    return await crypto.unseal(asId<RoomId>(row.roomId), row.sender, row.event);
  } catch (error) {
    if (!(error instanceof UnsealError)) throw error;
    log.warn({ eventId: row.eventId, error: error.message }, 'still not readable');
    return undefined;
  }
}

/** Says once in an encrypted room that nothing can be read there. */
export async function sayCannotRead(unit: Unit, room: MatrixRoom): Promise<void> {
  if (roomStateShape.parse(room.state).toldEncrypted === true) return;
  const roomId = asId<RoomId>(room.roomId);
  await saveRoom(unit, roomId, { encrypted: true, state: { toldEncrypted: true } });
  await sendMessage(unit, {
    to: { room: roomId },
    message: { msgtype: 'm.text', body: CANNOT_READ, mentions: [] },
    clear: true,
  });
}
