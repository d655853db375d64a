import { z } from 'zod';
import type { Reader } from '../../core/db/database.ts';
import type { MatrixOutbox } from '../../core/db/rows.ts';
import { NomosError } from '../../core/errors.ts';
import { type MatrixEventId, type RoomId, asId } from '../../core/ids.ts';
import type { FileKey } from '../crypto/attachment.ts';
import { MAX_CONTENT_BYTES, fitMessage } from './fit.ts';
import {
  type EventContent,
  type NomosTags,
  type Placement,
  editEvent,
  fileEvent,
  messageEvent,
  reactionEvent,
} from './relations.ts';
import { type EventRef, type RowTags, type ThreadRef, rowContent } from './rows.ts';

/** A row that can never be sent, and why. */
export class UnsendableError extends NomosError {
  constructor(code: string, message: string) {
    super(code, 'system', message);
  }
}

/** A row as a request to the homeserver. */
export type Outgoing =
  | { kind: 'event'; eventType: string; content: EventContent }
  | { kind: 'redaction'; target: MatrixEventId; reason: string | undefined }
  | { kind: 'state'; eventType: string; stateKey: string; content: EventContent };

/** A file that is to be uploaded first, and the event that follows it. */
export interface OutgoingFile {
  name: string;
  mimetype: string;
  bytes: Buffer;
  /** Set when an earlier try got that far, with the key if the file was encrypted. */
  url: string | undefined;
  key: FileKey | undefined;
  event(url: string, key: FileKey | undefined): EventContent;
}

/** The room of a lane. Throws `UnsendableError` when there is none. */
export async function roomOfLane(db: Reader, lane: string): Promise<RoomId> {
  if (lane.startsWith('room:')) return asId<RoomId>(lane.slice('room:'.length));
  const session = await db.session.findUnique({
    where: { id: lane.slice('session:'.length) },
    select: { roomId: true },
  });
  if (session === null || session.roomId === null) {
    throw new UnsendableError('no_room', `The lane ${lane} has no room.`);
  }
  return asId<RoomId>(session.roomId);
}

/**
 * Works out what a row of any kind but `upload` and `room` sends: the events that it names by card, turn or reaction are
 * looked up now. Throws `UnsendableError` when one of them was never sent.
 */
export async function resolveRow(
  db: Reader,
  row: MatrixOutbox,
  maxBytes: number = MAX_CONTENT_BYTES,
): Promise<Outgoing> {
  const tags = (own: RowTags): NomosTags => ({ txn: row.txnId, ...own });
  switch (row.kind) {
    case 'send': {
      const { message, thread, replyTo, tags: own } = rowContent.send.parse(row.content);
      const placement = await placementOf(db, thread, replyTo);
      return {
        kind: 'event',
        eventType: row.eventType ?? 'm.room.message',
        content: fitMessage(
          message,
          (fitted) => messageEvent(fitted, tags(own), placement),
          maxBytes,
        ),
      };
    }
    case 'edit': {
      const { message, tags: own } = rowContent.edit.parse(row.content);
      const original = await cardEvent(db, row.cardKey ?? '');
      return {
        kind: 'event',
        eventType: row.eventType ?? 'm.room.message',
        content: fitMessage(message, (fitted) => editEvent(fitted, tags(own), original), maxBytes),
      };
    }
    case 'react': {
      const { key } = rowContent.react.parse(row.content);
      return {
        kind: 'event',
        eventType: 'm.reaction',
        content: reactionEvent(key, tags({}), await targetOf(db, row)),
      };
    }
    case 'redact': {
      const { reason, reaction } = rowContent.redact.parse(row.content);
      const target =
        reaction === undefined ? await targetOf(db, row) : await ownReaction(db, row, reaction);
      return { kind: 'redaction', target, reason };
    }
    case 'state': {
      const content = rowContent.state.parse(row.content);
      return {
        kind: 'state',
        eventType: row.eventType ?? '',
        stateKey: row.stateKey ?? '',
        content:
          'state' in content
            ? content.state
            : { pinned: await Promise.all(content.pinCards.map((key) => cardEvent(db, key))) },
      };
    }
    default:
      throw new UnsendableError('row_kind', `A row of kind ${row.kind} is no single event.`);
  }
}

/** Works out the file of an `upload` row. */
export async function resolveFile(db: Reader, row: MatrixOutbox): Promise<OutgoingFile> {
  const { file, picture, url, key, thread, replyTo, tags } = rowContent.upload.parse(row.content);
  const placement = await placementOf(db, thread, replyTo);
  const bytes = Buffer.from(file.base64, 'base64');
  const { name, mimetype } = file;
  return {
    name,
    mimetype,
    bytes,
    url,
    key,
    event: (address, secret) =>
      fileEvent(
        { name, mimetype, sizeBytes: bytes.length, url: address, key: secret, picture },
        { txn: row.txnId, ...tags },
        placement,
      ),
  };
}

/** Whether a row says something that an encrypted room must not get in clear. */
export function isSpeech(row: MatrixOutbox): boolean {
  if (row.kind === 'send') return rowContent.send.parse(row.content).clear !== true;
  return row.kind === 'edit' || row.kind === 'upload';
}

const paceShape = z.looseObject({ paceMs: z.number() });
/** Least time between two edits of a card, as the row says. */
export function paceOf(content: unknown): number {
  const parsed = paceShape.safeParse(content);
  return parsed.success ? parsed.data.paceMs : 0;
}

async function placementOf(
  db: Reader,
  thread: ThreadRef | undefined,
  replyTo: EventRef | undefined,
): Promise<Placement> {
  return {
    threadRoot: thread === undefined ? undefined : await rootOf(db, thread),
    replyTo: replyTo === undefined ? undefined : await eventOf(db, replyTo),
  };
}

// A turn whose first message never got into the room has no thread; what is said for it is said all the same.
async function rootOf(db: Reader, thread: ThreadRef): Promise<MatrixEventId | undefined> {
  if ('rootEvent' in thread) return asId<MatrixEventId>(thread.rootEvent);
  const turn = await db.turn.findUnique({
    where: { id: thread.turnId },
    select: { rootEvent: true },
  });
  const root = turn?.rootEvent ?? undefined;
  return root === undefined ? undefined : asId<MatrixEventId>(root);
}

async function eventOf(db: Reader, ref: EventRef): Promise<MatrixEventId | undefined> {
  if ('event' in ref) return asId<MatrixEventId>(ref.event);
  const card = await db.matrixCard.findUnique({ where: { cardKey: ref.card } });
  const eventId = card?.eventId ?? undefined;
  return eventId === undefined ? undefined : asId<MatrixEventId>(eventId);
}

async function cardEvent(db: Reader, cardKey: string): Promise<MatrixEventId> {
  const eventId = await eventOf(db, { card: cardKey });
  if (eventId !== undefined) return eventId;
  throw new UnsendableError('card_not_sent', `The card ${cardKey} was never sent.`);
}

async function targetOf(db: Reader, row: MatrixOutbox): Promise<MatrixEventId> {
  return row.targetEvent === null
    ? cardEvent(db, row.cardKey ?? '')
    : asId<MatrixEventId>(row.targetEvent);
}

async function ownReaction(db: Reader, row: MatrixOutbox, key: string): Promise<MatrixEventId> {
  const reaction = await db.matrixOutbox.findFirst({
    where: {
      lane: row.lane,
      kind: 'react',
      state: 'sent',
      cardKey: row.cardKey,
      targetEvent: row.targetEvent,
      content: { path: ['key'], equals: key },
      eventId: { not: null },
    },
    orderBy: { id: 'desc' },
    select: { eventId: true },
  });
  if (reaction?.eventId != null) return asId<MatrixEventId>(reaction.eventId);
  throw new UnsendableError('reaction_not_sent', `There is no reaction ${key} to take back.`);
}
