/** A part of a text that must not be shown: from `start` to before `end`, in UTF-16 units. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** What stands for a secret. */
export const MASK = '[masked]';

/** In order; those that overlap or touch are one, empty ones are gone. */
export function merge(ranges: readonly Range[]): readonly Range[] {
  const sorted = ranges
    .filter(({ start, end }) => end > start)
    .toSorted((a, b) => a.start - b.start);
  const merged: Range[] = [];
  for (const range of sorted) {
    const last = merged.at(-1);
    if (last !== undefined && range.start <= last.end) {
      if (range.end > last.end) merged[merged.length - 1] = { start: last.start, end: range.end };
    } else merged.push(range);
  }
  return merged;
}

/** The text with {@link MASK} for every range. The ranges are in order and do not overlap. */
export function replace(text: string, ranges: readonly Range[]): string {
  if (ranges.length === 0) return text;
  const parts: string[] = [];
  let at = 0;
  for (const { start, end } of ranges) {
    parts.push(text.slice(at, start), MASK);
    at = end;
  }
  parts.push(text.slice(at));
  return parts.join('');
}
