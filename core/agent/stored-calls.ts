import { randomInt } from 'node:crypto';
import { z } from 'zod';

/** The tool calls of an answer as they are kept with its message. */
export const storedCalls = z.array(
  z.strictObject({ id: z.string(), name: z.string(), arguments: z.string() }),
);

/** See `storedCalls`. */
export type StoredCall = z.infer<typeof storedCalls>[number];

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789';

/**
 * An id for a tool call. Models' own ids repeat from answer to answer, and some endpoints take only nine letters and
 * digits: these are such, and unique enough within a task.
 */
export function newCallId(): string {
  return Array.from({ length: 9 }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}
