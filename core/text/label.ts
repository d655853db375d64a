const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * One line of at most `maxCharacters` characters as a person counts them (an emoji with its skin
 * tone is one; C3: labels have 60). White space of any kind becomes single spaces. What is cut ends
 * with `…`, which counts, at the end of a word if one ends in the last third. Throws a RangeError
 * if `maxCharacters` is below 1 or not a whole number.
 */
export function cutLabel(text: string, maxCharacters = 60): string {
  if (!Number.isSafeInteger(maxCharacters) || maxCharacters < 1) {
    throw new RangeError(
      `maxCharacters must be a whole number of at least 1, not ${maxCharacters}`,
    );
  }
  const line = text.replace(/\s+/gu, ' ').trim();
  const kept: string[] = [];
  for (const { segment } of graphemes.segment(line)) {
    kept.push(segment);
    if (kept.length > maxCharacters)
      return shorten(kept.slice(0, maxCharacters - 1), segmentAt(kept, maxCharacters - 1));
  }
  return line;
}

/**
 * Words of others (the agent's own, an operator's, a target's) inside what Nomos tells the agent: one line, in quotes, so that
 * they cannot pass for words of Nomos (L10).
 */
export function quoted(text: string, maxCharacters = 160): string {
  // Enough for any label, whatever the length of the text.
  return JSON.stringify(cutLabel(text.slice(0, maxCharacters * 16), maxCharacters));
}

function segmentAt(segments: readonly string[], index: number): string {
  return segments[index] ?? '';
}

function shorten(kept: readonly string[], next: string): string {
  if (next === ' ') return `${kept.join('')}…`;
  const space = kept.lastIndexOf(' ');
  const end = space >= Math.ceil((kept.length * 2) / 3) ? space : kept.length;
  return `${kept.slice(0, end).join('').trimEnd()}…`;
}
