import type { Language } from './lists.ts';

/** One piece of a message. */
export interface Token {
  /** In lower case, accents folded (see {@link fold}); what the lists are compared with. */
  readonly text: string;
  /** As it was written. */
  readonly raw: string;
  /**
   * `word`: letters; `name`: looks like a target, an id or a host (`lxc:old`, `web-1`, `135`);
   * `small`: a number of one or two digits; `time`: a time of day; `other`: anything else.
   */
  readonly kind: 'word' | 'name' | 'small' | 'time' | 'emoji' | 'other';
  /** A comma, full stop or line break stands before it: no phrase reaches across. */
  readonly afterBreak: boolean;
}

/** A message cut into tokens, with what its punctuation says. */
export interface Tokens {
  readonly tokens: readonly Token[];
  /** A question mark of any kind. */
  readonly question: boolean;
  /** Quotation marks, quoted lines or code: somebody else's words. */
  readonly quoted: boolean;
  /** Ends in an ellipsis: the thought is not finished. */
  readonly trailing: boolean;
  /** Characters that cannot be seen, or marks that strike a letter through. */
  readonly hidden: boolean;
}

const QUESTION = /[?¿？؟⁇⁈⁉❓❔\u037e]/u;
/** Letters that normalisation turns into ordinary ones: not what an operator types. */
const DISGUISED = /[\u212a\u212b\u1fef]/u;
const QUOTE = /["“”„‟«»‹›❝❞〝〞＂]|^[ \t]*>/mu;
const APOSTROPHES = /[’‘ʼ′＇´‛]/gu;
const INNER_BACKTICK = /(?<=\p{L})`(?=\p{L})/gu;
const PICTOGRAM = /\p{Extended_Pictographic}(?:\ufe0f|\ufe0e)?\p{Emoji_Modifier}?/gu;
// Tab, newline and carriage return are ordinary; the variation selectors of emoji are gone by then.
const HIDDEN =
  /(?![\t\n\r])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{M}\p{Default_Ignorable_Code_Point}\u2800]/gu;
const SMILE = /^(?:[:;=]'?-?[)D\]]+|x[D]+|\^_?\^|<3|\\o\/|:-?[pP])$/u;
const FROWN = /[:;=]'?-?[(|\\[]/u;
const EMPHASIS = /(?<=^|\s)[*_]{1,3}(?=[^\s*_])|(?<=[^\s*_])[*_]{1,3}(?=$|[\s.,!])/gu;
const BREAKS = '.,;:!?¿¡…()–—·';
const TIME = /^(?:\d{1,2}[:.h]\d{0,2}|\d{1,2})(?:am|pm|uhr|h)$|^\d{1,2}[:.h]\d{2}$|^\d{1,2}h$/u;
const WORD = /^\p{L}[\p{L}']*$/u;
const NAME = /^[\p{L}\p{N}][\p{L}\p{N}:._@-]*$/u;
const PATH = /^(?:\/|(?=[^\d]*\d))[\p{L}\p{N}][\p{L}\p{N}:._@/-]*$/u;
const ELISION = /^(l|d|n|j|c|qu|s|t|m)'(\p{L}.*)$/u;

/** Cuts a message into tokens. `known` says whether a word is in the lists. Linear in its length. */
export function tokenize(
  message: string,
  languages: readonly Language[],
  known: (word: string) => boolean,
): Tokens {
  const text = message
    .normalize('NFC')
    .replace(APOSTROPHES, "'")
    .replace(INNER_BACKTICK, "'")
    .replace(PICTOGRAM, (emoji) => ` ${firstCharacter(emoji)} `);
  const bare = text.replace(HIDDEN, '');
  const elisions = languages.includes('fr');

  const tokens: Token[] = [];
  let afterBreak = true;
  let quoted = QUOTE.test(message) || /`/.test(bare);
  for (const line of bare.split('\n')) {
    afterBreak = true;
    for (const chunk of line.replace(EMPHASIS, '').split(/\s+/u)) {
      if (chunk === '') continue;
      const inner = trimmed(chunk);
      if (inner.startsWith("'") || (inner.endsWith("'") && !inner.endsWith("n'"))) quoted = true;
      for (const piece of chunk.split(/(?<=[,;!…])/u)) {
        afterBreak = addPiece(tokens, piece, afterBreak, elisions, known);
      }
    }
  }
  return {
    tokens,
    question: QUESTION.test(message),
    quoted,
    trailing: /(?:…|\.\.)\s*$/u.test(bare),
    hidden: bare.length !== text.length || DISGUISED.test(message),
  };
}

/** Adds the tokens of a piece without white space; returns whether a break follows it. */
function addPiece(
  tokens: Token[],
  piece: string,
  afterBreak: boolean,
  elisions: boolean,
  known: (word: string) => boolean,
): boolean {
  const push = (raw: string, kind: Token['kind'], breakBefore: boolean): void => {
    tokens.push({ text: fold(raw), raw, kind, afterBreak: breakBefore });
  };
  if (SMILE.test(piece)) return afterBreak;
  if (FROWN.test(piece)) {
    push(piece, 'other', afterBreak);
    return false;
  }
  if (/^[+-]1$/.test(piece) || piece === '&') {
    push(piece, 'word', afterBreak);
    return false;
  }
  if (/^\p{Extended_Pictographic}$/u.test(piece)) {
    push(piece, 'emoji', afterBreak);
    return false;
  }
  const core = trimmed(piece);
  const opens = afterBreak || BREAKS.includes(piece.charAt(0));
  const closes = BREAKS.includes(piece.slice(-1));
  if (core === '') return opens || closes || /^[-–—]+$/u.test(piece);

  const parts = core.split(/[-./]/u).map((part) => (elisions ? elided(part) : [part]));
  if (WORD.test(core) || (parts.length > 1 && parts.flat().every((part) => known(fold(part))))) {
    const breaks = !core.includes('-');
    parts.forEach(([first = '', second], index) => {
      push(first, 'word', index === 0 ? opens : breaks);
      if (second !== undefined) push(second, 'word', false);
    });
  } else push(core, kindOf(core), opens);
  return closes;
}

/** Without punctuation at either end, and without dashes at the end ("-n" stays an option). */
function trimmed(piece: string): string {
  let start = 0;
  let end = piece.length;
  while (start < end && BREAKS.includes(piece.charAt(start))) start += 1;
  while (end > start && (BREAKS.includes(piece.charAt(end - 1)) || piece[end - 1] === '-'))
    end -= 1;
  return piece.slice(start, end);
}

/** French "l'upgrade" and "qu'est" are two words. */
function elided(word: string): readonly string[] {
  const [, prefix, stem] = ELISION.exec(word.toLowerCase()) ?? [];
  return prefix === undefined || stem === undefined ? [word] : [`${prefix}'`, stem];
}

function kindOf(core: string): Token['kind'] {
  if (TIME.test(core.toLowerCase())) return 'time';
  if (/^\d{1,2}$/.test(core)) return 'small';
  return NAME.test(core) || PATH.test(core) ? 'name' : 'other';
}

/**
 * Lower case, with the accents of the four languages taken off, so that "bestätige" and
 * "bestatige" or "mañana" and "manana" are one. The Spanish "sí" keeps its accent: without it, it
 * says "if". Letters of other scripts stay what they are and so match nothing.
 */
export function fold(word: string): string {
  const lower = word.toLowerCase();
  if (lower === 'sí') return lower;
  return lower
    .replaceAll('ß', 'ss')
    .replaceAll('œ', 'oe')
    .replace(/[áàâäéèêëíìîïóòôöúùûüñç]/gu, (letter) => letter.normalize('NFD').charAt(0));
}

function firstCharacter(text: string): string {
  return String.fromCodePoint(text.codePointAt(0) ?? 0);
}
