/**
 * A copy of a JSON value that PostgreSQL's jsonb can hold: NUL and lone surrogates, which it refuses, become U+FFFD. One
 * such character in one event must not stop a whole sync from being stored (R12).
 */
export function storable(value: unknown): unknown {
  if (typeof value === 'string') return storableText(value);
  if (Array.isArray(value)) return value.map(storable);
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [storableText(key), storable(inner)]),
    );
  }
  return value;
}

/** The same for one text. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD');
}
