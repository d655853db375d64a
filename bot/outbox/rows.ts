import { z } from 'zod';
import type { RoomId, SessionId } from '../../core/ids.ts';
import { fileKeyShape } from '../crypto/attachment.ts';

/**
 * The ordering lane of a row. A lane is sent in order, lanes go side by side. A task's room has the lane of its session
 * from before it exists; any other room has its own.
 */
export type Lane = `session:${string}` | `room:${string}`;

/** The lane of a task's room. */
export function sessionLane(sessionId: SessionId): Lane {
  return `session:${sessionId}`;
}

/** The lane of a room that is no task's. */
export function roomLane(roomId: RoomId): Lane {
  return `room:${roomId}`;
}

const message = z.strictObject({
  msgtype: z.enum(['m.text', 'm.notice']),
  body: z.string(),
  formatted_body: z.string().optional(),
  mentions: z.array(z.string()),
});

const tags = z.strictObject({
  card: z.string().optional(),
  kind: z.string().optional(),
  ref: z.string().optional(),
});

// A turn's root may not have been sent yet when a row is written, so the row names the turn.
const thread = z.union([
  z.strictObject({ turnId: z.string() }),
  z.strictObject({ rootEvent: z.string() }),
]);

const eventRef = z.union([
  z.strictObject({ event: z.string() }),
  z.strictObject({ card: z.string() }),
]);

/** What `matrix_outbox.content` holds, per kind. Strict and versioned: an unknown version is refused, not guessed. */
export const rowContent = {
  send: z.strictObject({
    v: z.literal(1),
    message,
    tags,
    thread: thread.optional(),
    replyTo: eventRef.optional(),
    /** Set only on the answer that says an encrypted room cannot be read. */
    clear: z.literal(true).optional(),
  }),
  edit: z.strictObject({ v: z.literal(1), message, tags, paceMs: z.number().int().nonnegative() }),
  react: z.strictObject({ v: z.literal(1), key: z.string() }),
  redact: z.strictObject({
    v: z.literal(1),
    reason: z.string().optional(),
    /** The bot's own reaction with this key on the row's card, in place of an event. */
    reaction: z.string().optional(),
  }),
  state: z.union([
    z.strictObject({ v: z.literal(1), state: z.record(z.string(), z.unknown()) }),
    z.strictObject({ v: z.literal(1), pinCards: z.array(z.string()) }),
  ]),
  upload: z.strictObject({
    v: z.literal(1),
    file: z.strictObject({ name: z.string(), mimetype: z.string(), base64: z.string() }),
    /** Set for a picture: its size in pixels, and in words what it shows. */
    picture: z
      .strictObject({
        width: z.number().int().positive(),
        height: z.number().int().positive(),
        words: z.string(),
      })
      .optional(),
    /** The media's address once it is uploaded. */
    url: z.string().optional(),
    /** What the media was encrypted with, in an encrypted room. */
    key: fileKeyShape.optional(),
    tags,
    thread: thread.optional(),
    replyTo: eventRef.optional(),
  }),
  room: z.strictObject({
    v: z.literal(1),
    name: z.string(),
    topic: z.string().optional(),
    /** Who is invited; without it every operator. */
    invite: z.array(z.string()).optional(),
  }),
} as const;

/** The content of a row of a kind. */
export type RowContent<K extends keyof typeof rowContent> = z.infer<(typeof rowContent)[K]>;
/** The thread that a row goes into. */
export type ThreadRef = z.infer<typeof thread>;
/** The event that a row points at. */
export type EventRef = z.infer<typeof eventRef>;
/** The `org.nomos` fields that a row brings along; the transaction id is added when it is sent. */
export type RowTags = z.infer<typeof tags>;
