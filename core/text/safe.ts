/** JSON as Postgres stores it. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** What stands for a NUL byte, which Postgres can keep neither in text nor in jsonb. */
export const NUL_SIGN = '\u2400';

/** Turns the chunks of a byte stream into text; a code point may be split over chunks. */
export interface TextStream {
  /** Text of the bytes so far that make whole code points. */
  write(chunk: Uint8Array): string;
  /** What was held back, as U+FFFD if it never became a code point. */
  end(): string;
}

/**
 * Text that Postgres can store, from any bytes at all (X4): they are read as UTF-8, what is none
 * becomes U+FFFD, a NUL becomes `␀`, a lone surrogate (in a string) U+FFFD. Good text is unchanged.
 */
export function safeText(input: Uint8Array | string): string {
  const text =
    typeof input === 'string'
      ? input.toWellFormed()
      : new TextDecoder('utf-8', { ignoreBOM: true }).decode(input);
  return text.includes('\0') ? text.replaceAll('\0', NUL_SIGN) : text;
}

/** {@link safeText} for a stream, such as a command's output, chunk by chunk. */
export function createTextStream(): TextStream {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  return {
    write: (chunk) => safeText(decoder.decode(chunk, { stream: true })),
    end: () => safeText(decoder.decode()),
  };
}

/**
 * A value as jsonb can store it: every string and key through {@link safeText}, what JSON cannot
 * say (undefined, functions, symbols) left out or null as `JSON.stringify` does, non-finite numbers
 * null, bigints as strings. Throws a TypeError for a value that contains itself.
 */
export function safeJson(value: unknown): Json {
  const text = JSON.stringify(value, (_key, item: unknown) => {
    if (typeof item === 'string') return safeText(item);
    if (typeof item === 'bigint') return item.toString();
    if (item !== null && typeof item === 'object' && !Array.isArray(item))
      return withSafeKeys(item);
    return item;
  });
  return text === undefined ? null : (JSON.parse(text) as Json);
}

function withSafeKeys(item: object): object {
  const keys = Object.keys(item);
  if (keys.every((key) => safeText(key) === key)) return item;
  return Object.fromEntries(Object.entries(item).map(([key, inner]) => [safeText(key), inner]));
}
