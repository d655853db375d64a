/**
 * A text as one word of a POSIX shell: between single quotes, where nothing means anything but the quote itself (Z3). Throws a
 * RangeError for a NUL, which no command line can carry.
 */
export function shellWord(text: string): string {
  if (text.includes('\0')) throw new RangeError('a shell word cannot contain a NUL character');
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
