/** How {@link visible} treats spaces other than U+0020, such as the no-break space. */
export interface VisibleOptions {
  /**
   * `show` (default) writes them as escapes: a shell does not split at them, so on a card they
   * would hide that two words are one. `plain` turns them into ordinary spaces, for prose.
   */
  readonly spaces?: 'show' | 'plain';
}

// Everything that draws nothing or moves what is drawn: controls, format characters (bidi marks,
// zero-width characters, tags), lone surrogates, private use, line and paragraph separators,
// Unicode's own list of default-ignorable characters, and the blank Braille cell. Tab and newline
// are ordinary text and are left out in the callback.
const HIDDEN =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\ufffe\uffff]/gu;
const ODD_SPACE = /[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/gu;
const PICTOGRAM_END = /[\p{Extended_Pictographic}\p{Emoji_Modifier}]\ufe0f?$/u;
const PICTOGRAM_START = /^\p{Extended_Pictographic}/u;

/**
 * Shows what a reader could not see (C15): invisible, control and direction-changing characters
 * become escapes such as `‹U+200B›`. Tab and newline stay. The variation selector and the joiner
 * stay only where they hold an emoji together (`✔️`, `1️⃣`), because there they do draw something.
 */
export function visible(text: string, options: VisibleOptions = {}): string {
  const spaced =
    options.spaces === 'plain' ? text.replace(ODD_SPACE, ' ') : text.replace(ODD_SPACE, escapeOf);
  return spaced.replace(HIDDEN, (char, offset: number) => {
    if (char === '\n' || char === '\t') return char;
    return holdsEmojiTogether(spaced, char, offset) ? char : escapeOf(char);
  });
}

/** The escape of one character: `‹U+` + at least four hexadecimal digits + `›`. */
function escapeOf(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  return `‹U+${code.toString(16).toUpperCase().padStart(4, '0')}›`;
}

function holdsEmojiTogether(text: string, char: string, offset: number): boolean {
  if (char !== '\ufe0f' && char !== '\u200d') return false;
  const before = text.slice(Math.max(0, offset - 3), offset);
  const after = text.slice(offset + 1, offset + 3);
  if (char === '\ufe0f') {
    if (after.startsWith('\u20e3')) return /[0-9#*]$/.test(before);
    return !before.endsWith('\ufe0f') && PICTOGRAM_END.test(before);
  }
  return PICTOGRAM_END.test(before) && PICTOGRAM_START.test(after);
}
