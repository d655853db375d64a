import { isNoSecret, isSecretName, LONGEST_NAME, takesSecret } from './names.ts';
import { lineEnds } from './lines.ts';
import type { Range } from './ranges.ts';

type LineEnd = (from: number) => number;

/** Every name of a secret has one of these in it; the rest of the name is looked for from there. */
const HINT = /pass(?:w|p|c)|pass|pwd|secret|token|key|psk|credential|rootpw|bindpw|_pw|sessionid/gi;
const NAME_CHARACTER = /[A-Za-z0-9_.-]/;
/** Between name and value: closing quotes (maybe escaped) or brackets, then `=`, `:`, `=>` or `:=`. */
const OPERATOR = /(?:\\{0,3}["']|\])?[ \t]{0,32}(?:=>|:=|\?=|\+=|==?|:)[ \t]{0,32}/y;
/** Between an option and its value, which stands in the next word. */
const OPTION_GAP = /[ \t]{1,8}(?:\\\n[ \t]{0,16})?/y;
/** A value in quotes that stand escaped inside another string: `\"abc\"`. */
const ESCAPED_QUOTE = /\\{1,3}["']/y;
const WORD = /\S+/y;
/** What follows the last word of a line or of a field. */
const FIELD_END = /[ \t]*(?:\r?\n|$|#|[}\]])/y;
const LINE_END = /[ \t]*(?:\r?\n|$)/y;
const STRUCTURE = /^(?:[[{](?:[\s"'{[\]}]|$)|`|\$\(|-----(?:BEGIN|END))/;
/** Longer words stand in no sentence. */
const LONGEST_PROSE = 64;

/** Values whose names say that they are secret: `NAME=value`, `"name": "value"`, `--name value`. */
export function namedRanges(text: string): Range[] {
  const found: Range[] = [];
  const lineEnd = lineEnds(text);
  let done = 0;
  for (const hint of text.matchAll(HINT)) {
    if (hint.index < done) continue;
    const start = nameStart(text, hint.index);
    const end = nameEnd(text, hint.index + hint[0].length);
    done = end;
    if (end - start > LONGEST_NAME || !isSecretName(text.slice(start, end))) continue;
    const value = valueAt(text, start, end, lineEnd);
    if (value === null) continue;
    done = value.end;
    if (!isNoSecret(text.slice(value.start, value.end))) found.push(value);
  }
  return found;
}

function nameStart(text: string, from: number): number {
  let start = from;
  while (start > 0 && from - start < LONGEST_NAME && NAME_CHARACTER.test(text[start - 1] ?? ''))
    start -= 1;
  return start;
}

function nameEnd(text: string, from: number): number {
  let end = from;
  while (end < text.length && end - from < LONGEST_NAME && NAME_CHARACTER.test(text[end] ?? ''))
    end += 1;
  return end;
}

function valueAt(text: string, start: number, end: number, lineEnd: LineEnd): Range | null {
  const operator = matchAt(OPERATOR, text, end);
  if (operator !== null) {
    const from = end + operator.length;
    // A list or an object has its own names inside; a key block is told by its frame.
    if (STRUCTURE.test(text.slice(from, from + 12))) return null;
    const opening = start > 0 ? (text[start - 1] ?? '') : '';
    const closedName = /^\\{0,3}["']/.test(operator);
    // "NAME=value" whole in quotes, as in a unit file or a list of arguments.
    if (!closedName && (opening === '"' || opening === "'") && !operator.includes(' ')) {
      return { start: from, end: quoteEnd(text, from, opening, lineEnd) };
    }
    if (isQuoted(text, from)) return quotedOrWord(text, from, lineEnd);
    if (/:(?!=)/.test(operator)) return afterColon(text, from);
    const line = soleWord(text, start, from);
    return line ?? quotedOrWord(text, from, lineEnd);
  }
  const gap = takesSecret(text.slice(start, end)) ? matchAt(OPTION_GAP, text, end) : null;
  if (gap === null || gap.length === 0) return null;
  const from = end + gap.length;
  return text[from] === '-' ? null : quotedOrWord(text, from, lineEnd);
}

function isQuoted(text: string, at: number): boolean {
  return text[at] === '"' || text[at] === "'" || matchAt(ESCAPED_QUOTE, text, at) !== null;
}

/** A value in quotes, or a word of a shell. */
function quotedOrWord(text: string, from: number, lineEnd: LineEnd): Range {
  const escaped = matchAt(ESCAPED_QUOTE, text, from);
  if (escaped !== null) {
    const start = from + escaped.length;
    const line = lineEnd(start);
    const close = text.slice(start, line).indexOf(escaped);
    return { start, end: close >= 0 ? start + close : line };
  }
  const first = text[from] ?? '';
  const end = wordEnd(text, from, lineEnd);
  if (first !== '"' && first !== "'") return { start: from, end };
  const whole = quoteEnd(text, from + 1, first, lineEnd) === end - 1 && text[end - 1] === first;
  return whole ? { start: from + 1, end: end - 1 } : { start: from, end };
}

/**
 * After a colon a value is the last word of its line or of its field. Several words are prose:
 * "invalid token: unexpected end of file".
 */
function afterColon(text: string, from: number): Range | null {
  const word = matchAt(WORD, text, from) ?? '';
  const ends = matchAt(FIELD_END, text, from + word.length) !== null || /[,;}\]]$/.test(word);
  if (!ends && word.length < LONGEST_PROSE) return null;
  let end = from + word.length;
  const closing = word.includes('[') ? /[,;}]/ : /[,;}\]]/;
  while (end > from && closing.test(text[end - 1] ?? '')) end -= 1;
  return { start: from, end };
}

/** `NAME=value` alone in its line, as in an environment file: there `;`, `&` and `|` are ordinary. */
function soleWord(text: string, start: number, from: number): Range | null {
  const before = text.slice(Math.max(0, start - 16), start);
  if (!/(?:^|\n)[ \t]*(?:export )?$/.test(start < 16 ? before : `.${before}`)) return null;
  const word = matchAt(WORD, text, from) ?? '';
  const alone = matchAt(LINE_END, text, from + word.length) !== null;
  return alone && !/["'\\]/.test(word) ? { start: from, end: from + word.length } : null;
}

/** Where a word of a shell ends: quoted parts belong to it, blanks and `;&|` outside quotes end it. */
function wordEnd(text: string, from: number, lineEnd: LineEnd): number {
  let at = from;
  while (at < text.length) {
    const character = text[at] ?? '';
    if (/[\s;&|]/.test(character)) break;
    if (character === '"' || character === "'") {
      const close = quoteEnd(text, at + 1, character, lineEnd);
      if (text[close] !== character) return close;
      at = close + 1;
      if (/[,}\])]/.test(text[at] ?? '')) break;
    } else at += character === '\\' ? 2 : 1;
  }
  return Math.min(at, text.length);
}

/** Where a quoted text ends: at its quote, or at the end of the line if that never comes. */
function quoteEnd(text: string, from: number, quote: string, lineEnd: LineEnd): number {
  const limit = lineEnd(from);
  for (let at = from; at < limit; at += 1) {
    if (text[at] === '\\' && quote === '"') at += 1;
    else if (text[at] === quote) return at;
  }
  return limit;
}

function matchAt(pattern: RegExp, text: string, at: number): string | null {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? null;
}
