import { randomBytes } from 'node:crypto';

declare const brand: unique symbol;
type Brand<T extends string> = string & { readonly [brand]: T };

/** Ids of rows: UUIDv7 in lower-case text form. Branded, so that one cannot be passed for another. */
export type SessionId = Brand<'session'>;
export type TurnId = Brand<'turn'>;
export type PassId = Brand<'pass'>;
export type MessageId = Brand<'message'>;
export type ToolCallId = Brand<'toolCall'>;
export type ExecutionId = Brand<'execution'>;
export type ApprovalId = Brand<'approval'>;
export type GrantId = Brand<'grant'>;
export type QuestionId = Brand<'question'>;
export type EntityId = Brand<'entity'>;

/** Ids that a homeserver gave out. Opaque and case-sensitive: never parsed, never folded. */
export type RoomId = Brand<'room'>;
export type MatrixEventId = Brand<'matrixEvent'>;
export type UserId = Brand<'user'>;

/** Any of the ids above. */
export type AnyId = Brand<string>;

/** Names the kind of an id that comes from a trusted place: a row, or a sync response. Checks nothing. */
export function asId<T extends AnyId>(value: string): T {
  return value as T;
}

/**
 * A new UUIDv7 (RFC 9562): 48 bits of Unix time in milliseconds, then random bits, so that ids sort roughly by the
 * time they were made and indexes stay dense.
 */
export function newId<T extends AnyId>(nowMs: number = Date.now()): T {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(nowMs, 0, 6);
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  const hex = bytes.toString('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join('-') as T;
}

// Without letters and digits that look alike, so that a person can read one aloud and type it on a phone.
const SHORT_ALPHABET = '23456789abcdefghjkmnpqrstuvwxyz';

/**
 * Five characters that people type and read: shown on cards, unique enough inside a room, never a key. At least one is a
 * digit, so that no word of a message can be taken for one.
 */
export function newShortId(): string {
  for (;;) {
    const id = Array.from(
      randomBytes(5),
      (byte) => SHORT_ALPHABET[byte % SHORT_ALPHABET.length],
    ).join('');
    if (/\d/.test(id)) return id;
  }
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Whether a text from outside has the form of a row id. */
export function isRowId(value: string): boolean {
  return UUID.test(value);
}
