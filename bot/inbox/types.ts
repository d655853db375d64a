import type { Unit } from '../../core/db/database.ts';
import type { MatrixEventId, RoomId, SessionId, UserId } from '../../core/ids.ts';
import type { ReadMedia } from '../media/types.ts';

/**
 * What a room is to the bot: `space` holds the others; `lobby` and `direct` open tasks (T1, T2); `task` is a session's;
 * `other` is any room that an operator invited the bot into besides.
 */
export type RoomKind = 'space' | 'lobby' | 'direct' | 'task' | 'other';

/** A room as its row knows it. */
export interface KnownRoom {
  roomId: RoomId;
  kind: RoomKind;
  /** Set for `task` rooms. */
  sessionId: SessionId | null;
  encrypted: boolean;
}

/** An operator's event, stored and not yet worked on. Events of anyone else never get this far (T12). */
export interface InboxEvent {
  eventId: MatrixEventId;
  room: KnownRoom;
  /** An operator, by the configuration of this moment. */
  sender: UserId;
  /** `m.room.message`, `m.reaction` or `m.room.redaction`. */
  type: string;
  /** From outside: read it through a schema. Empty for an event that was redacted before it was seen. */
  content: Record<string, unknown>;
  /** What a redaction takes away, wherever the room version puts it. */
  redacts: MatrixEventId | null;
  /** How it was encrypted; null for one that came in clear. */
  sealed: Sealed | null;
  /** What came with it, read before it is worked on (C16). */
  media?: ReadMedia | undefined;
}

/** What encryption says of a message. */
export interface Sealed {
  /** It came from a device that its sender has signed (verified), so that no homeserver can have made it up. */
  crossSigned: boolean;
  /** Its sender's signing keys were replaced by ones that nobody has vouched for; then it counts as not signed. */
  identityChanged: boolean;
  /** What it answers or which thread it stands in is encrypted with it, and so is its sender's own word. */
  relation: boolean;
  /** It could be read only long after it was written: what is said has moved on since. */
  late: boolean;
}

/**
 * Works on one event. All it does goes through `unit`, which commits together with the event's mark: exactly once (R4).
 * It may be run again after a throw or a deadlock, so it must have no effect outside `unit`. A throw is tried 3 times in
 * all; then the event is marked failed, an error card is raised, and the room goes on (R12).
 */
export type InboxHandler = (unit: Unit, event: InboxEvent) => Promise<void>;

/** What is shown and forgotten: no message, so no row. Failures are logged and nothing else. */
export interface Ephemeral {
  /** Shows or hides typing in a room, for at most `timeoutMs` (default 30,000). */
  setTyping(roomId: RoomId, typing: boolean, timeoutMs?: number): void;
  /** Shows typing anew where it is shown: somebody joined, and homeservers tell only of what begins. */
  showAgain(roomId: RoomId): void;
}
