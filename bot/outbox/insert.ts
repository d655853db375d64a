import { randomUUID } from 'node:crypto';
import type { JsonInput, Unit } from '../../core/db/database.ts';
import {
  type MatrixEventId,
  type RoomId,
  type SessionId,
  type TurnId,
  asId,
} from '../../core/ids.ts';
import { safeJson } from '../../core/text/safe.ts';
import { maskMessage } from './mask-message.ts';
import type { MessageContent } from './relations.ts';
import {
  type EventRef,
  type Lane,
  type RowContent,
  type ThreadRef,
  roomLane,
  sessionLane,
} from './rows.ts';

/**
 * How urgent a row is. Lower goes first when the homeserver holds the bot back, and may overtake edits in its own lane;
 * new messages of a lane always keep their order.
 */
export const PRIORITY = {
  /** A person is needed or waits for it: approvals, questions, errors, final answers, refusals. */
  person: 0,
  /** What follows a decision: an execution's card, a task's card, room names. */
  state: 5,
  /** Progress that a newer version replaces. */
  progress: 9,
} as const;

/** C1: a card is edited at most once in this time. */
export const CARD_PACE_MS = 2_000;
/** C13: a streamed answer is edited at most once in this time. */
export const ANSWER_PACE_MS = 1_000;
/** The largest file that an upload row takes. */
export const MAX_FILE_BYTES = 8 * 1024 * 1024;

/** Where a row goes: a task's room (which may not be there yet), or any other room. */
export type Destination = { session: SessionId } | { room: RoomId };

/** Which thread: that of a turn (its root may not have been sent yet), or of a known root. */
export type InThread = { turnId: TurnId } | { rootEvent: MatrixEventId };

/** Which event: a known one, or a card's (which may not have been sent yet). */
export type AtEvent = { event: MatrixEventId } | { card: string };

/** A card's place in the domain. */
export interface CardIdentity {
  /** Fixed and unique, for instance `execution:<id>`. A card `turn:<turn id>` becomes that turn's root when sent. */
  key: string;
  /** For instance `execution`, `task`, `progress`. */
  kind: string;
  /** The id of the row that the card shows. */
  refId: string;
  sessionId?: SessionId | undefined;
  turnId?: TurnId | undefined;
}

/** A row before it is written. */
export interface NewRow {
  lane: Lane;
  kind: 'send' | 'edit' | 'react' | 'redact' | 'state' | 'upload' | 'room';
  eventType?: string;
  stateKey?: string;
  content: Record<string, unknown>;
  cardKey?: string | null;
  targetEvent?: string | null;
  priority: number;
  /** Milliseconds before it may be tried, by the database's clock. Default: none. */
  afterMs?: number;
}

/** Writes a row with a transaction id of its own, and gives the id. */
export async function insert(unit: Unit, row: NewRow): Promise<string> {
  const txnId = randomUUID();
  await unit.db.matrixOutbox.createMany({
    data: {
      lane: row.lane,
      kind: row.kind,
      eventType: row.eventType ?? null,
      stateKey: row.stateKey ?? null,
      content: safeJson(row.content) as JsonInput,
      cardKey: row.cardKey ?? null,
      targetEvent: row.targetEvent ?? null,
      priority: row.priority,
      txnId,
    },
  });
  if (row.afterMs !== undefined) {
    await unit.db.$executeRaw`
      UPDATE matrix_outbox SET not_before = now() + ${row.afterMs} * interval '1 millisecond'
      WHERE txn_id = ${txnId}`;
  }
  return txnId;
}

/** A room that belongs to a task is always reached by the task's lane, so that its order is one. */
export async function laneOf(unit: Unit, to: Destination): Promise<Lane> {
  if ('session' in to) return sessionLane(to.session);
  const session = await unit.db.session.findUnique({
    where: { roomId: to.room },
    select: { id: true },
  });
  return session === null ? roomLane(to.room) : sessionLane(asId<SessionId>(session.id));
}

/**
 * Drops the edits of a card that have not left yet. One that was tried may be in the room already, so it keeps its row
 * until that is known.
 */
export async function supersedeEdits(unit: Unit, cardKey: string): Promise<void> {
  await unit.db.matrixOutbox.updateMany({
    where: { cardKey, kind: 'edit', state: 'pending', firstTriedAt: null },
    data: { state: 'superseded' },
  });
}

/** A message in the form that a row keeps. */
export function messageOf(given: MessageContent): RowContent<'send'>['message'] {
  const message = maskMessage(given);
  return {
    msgtype: message.msgtype,
    body: message.body,
    ...(message.formatted_body === undefined ? {} : { formatted_body: message.formatted_body }),
    mentions: [...message.mentions],
  };
}

/** Where a new message stands, in the form that a row keeps. */
export function placed(args: { thread?: InThread | undefined; replyTo?: AtEvent | undefined }): {
  thread?: ThreadRef;
  replyTo?: EventRef;
} {
  return {
    ...(args.thread === undefined ? {} : { thread: args.thread }),
    ...(args.replyTo === undefined ? {} : { replyTo: args.replyTo }),
  };
}

/** The columns of a row that name an event. */
export function pointedAt(target: AtEvent): { cardKey: string | null; targetEvent: string | null } {
  return 'event' in target
    ? { cardKey: null, targetEvent: target.event }
    : { cardKey: target.card, targetEvent: null };
}
