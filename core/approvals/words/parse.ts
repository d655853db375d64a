import { shorten, type Lexicon, type Meaning } from './lexicon.ts';
import type { Token } from './tokens.ts';

/** What one piece of a message turned out to be. */
export type Item = (Meaning | { readonly kind: 'name' | 'unknown' }) & {
  /** The tokens it was made of. */
  readonly tokens: readonly Token[];
};

/** Reads tokens from left to right, the longest phrase of the lexicon first. */
export function parse(tokens: readonly Token[], lexicon: Lexicon): readonly Item[] {
  const items: Item[] = [];
  for (let at = 0; at < tokens.length;) {
    const found = longestAt(tokens, at, lexicon, (phrase) => lexicon.meanings.get(phrase));
    if (found) {
      const meaning = loneSi(tokens, at, lexicon) ? ({ kind: 'yes' } as const) : found.value;
      items.push({ ...meaning, tokens: tokens.slice(at, at + found.length) });
      at += found.length;
    } else {
      const token = tokens[at] as Token;
      items.push({ ...single(token, lexicon), tokens: [token] });
      at += 1;
    }
  }
  return items;
}

/** The longest phrase that begins at a token and that `look` knows. No phrase crosses a break. */
export function longestAt<T>(
  tokens: readonly Token[],
  at: number,
  lexicon: Lexicon,
  look: (phrase: string) => T | undefined,
): { readonly value: T; readonly length: number } | null {
  let phrase = '';
  let best: { value: T; length: number } | null = null;
  for (let length = 1; ; length += 1) {
    const token = tokens[at + length - 1];
    if (token === undefined || (length > 1 && token.afterBreak)) break;
    phrase = length === 1 ? token.text : `${phrase} ${token.text}`;
    const value = look(phrase);
    if (value !== undefined) best = { value, length };
    if (!lexicon.beginnings.has(phrase)) break;
  }
  return best;
}

function single(token: Token, lexicon: Lexicon): { kind: 'name' | 'unknown' } | Meaning {
  if (token.kind === 'name') return { kind: 'name' };
  if (token.kind === 'small') return { kind: 'partial' };
  if (token.kind === 'time') return { kind: 'condition' };
  if (token.kind === 'word') {
    const meaning = lexicon.meanings.get(shorten(token.text));
    if (meaning?.kind === 'yes' || meaning?.kind === 'ok') return meaning;
  }
  return { kind: 'unknown' };
}

/** Spanish "si" without its accent is yes only where nothing follows it that it could condition. */
function loneSi(tokens: readonly Token[], at: number, lexicon: Lexicon): boolean {
  if (tokens[at]?.text !== 'si' || !lexicon.languages.includes('es')) return false;
  const next = tokens[at + 1];
  return next === undefined || next.afterBreak;
}

/** Approves, strongly or weakly. */
export function isYes(item: Item): boolean {
  return item.kind === 'yes' || item.kind === 'ok';
}

/** Politeness and the like: changes nothing wherever it stands. */
export function isPassive(item: Item): boolean {
  return ['filler', 'thanks', 'report'].includes(item.kind);
}

/** Names what is meant: a target, a kind of thing, an action, a number of cards. */
export function isNamed(item: Item): boolean {
  return ['name', 'service', 'noun', 'action', 'scope'].includes(item.kind);
}

/** Joins words and means nothing by itself. */
export function isGlue(item: Item): boolean {
  return item.kind === 'object' || item.kind === 'preposition';
}

/** The folded words of an item. */
export function textOf(item: Item): string {
  return item.tokens.map((token) => token.text).join(' ');
}
