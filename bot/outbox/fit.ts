import { byteLength, headBytes } from '../../core/text/clip.ts';
import type { MessageContent } from './relations.ts';

/**
 * Most bytes of an event's content. The limit is 65,536 for the whole event in canonical JSON (Matrix 1.x, "size
 * limits"); the rest is for ids, hashes, signatures and what the homeserver adds.
 */
export const MAX_CONTENT_BYTES = 60_000;
/** The same before encryption, which makes of 3 bytes 4 and adds about 1 KiB (Megolm: base64, keys, signature). */
export const MAX_SEALED_BYTES = 44_000;
const NOTE = '\n\n[shortened: the whole text is longer than a Matrix message may be]';

/**
 * The message, shortened if need be so that the event that `build` makes of it fits (C15): first without its formatting,
 * then with its text cut and a note that says so. Never fails: a text that is cut is better than none.
 */
export function fitMessage(
  message: MessageContent,
  build: (message: MessageContent) => Record<string, unknown>,
  maxBytes: number = MAX_CONTENT_BYTES,
): Record<string, unknown> {
  const whole = build(message);
  if (jsonBytes(whole) <= maxBytes) return whole;
  const plain: MessageContent = { ...message, formatted_body: undefined };
  let event = build(plain);
  // JSON may need more bytes than the text (escapes), and an edit carries it twice: found by halving the error.
  let keep = byteLength(message.body);
  while (jsonBytes(event) > maxBytes && keep > 0) {
    const factor = maxBytes / jsonBytes(event);
    keep = Math.floor(keep * Math.min(factor, 0.95));
    event = build({ ...plain, body: headBytes(message.body, keep) + NOTE });
  }
  return event;
}

function jsonBytes(value: unknown): number {
  return byteLength(JSON.stringify(value));
}
