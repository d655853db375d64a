import { shorten, type Lexicon } from './lexicon.ts';
import { isGlue, isNamed, isPassive, isYes, longestAt, type Item } from './parse.ts';
import type { Token } from './tokens.ts';

/** Refusals that stay refusals in a question: "no, why would you do that?". */
const HARD_NO = new Set(['no', 'nope', 'nein', 'non']);

/** Whether a negation, refusal or delay begins at a token. */
export function negatesAt(tokens: readonly Token[], at: number, lexicon: Lexicon): boolean {
  if (lengthAt(tokens, at, lexicon, lexicon.negations) > 0) return true;
  const text = tokens[at]?.text ?? '';
  if (text.endsWith("n't") || lexicon.negations.has(shorten(text))) return true;
  // "no-go", "yes/no": a negation inside a compound still negates.
  return (
    /[^\p{L}\p{N}']/u.test(text) &&
    text.split(/[^\p{L}\p{N}']+/u).some((part) => lexicon.negations.has(part))
  );
}

/** Whether the first words that matter open a question: "can you …", but not "está bien". */
export function startsWithQuestion(
  tokens: readonly Token[],
  items: readonly Item[],
  lexicon: Lexicon,
): boolean {
  const { at, item } = firstThatMatters(items);
  const length = lengthAt(tokens, at, lexicon, lexicon.asks);
  return length > 0 && length >= (item?.tokens.length ?? 0);
}

/**
 * Whether a message begins with a negation, so that it denies (A17). A question that only begins
 * like one ("can't we …?", "wait, what does it do?") does not; neither do "no problem" and "No. 2".
 */
export function beginsWithNegation(
  tokens: readonly Token[],
  items: readonly Item[],
  lexicon: Lexicon,
  question: boolean,
): boolean {
  const { at } = firstThatMatters(items);
  const opens =
    negatesAt(tokens, at, lexicon) ||
    lengthAt(tokens, 0, lexicon, lexicon.denialOpeners) > 0 ||
    lengthAt(tokens, at, lexicon, lexicon.denialOpeners) > 0;
  if (!opens || lengthAt(tokens, at, lexicon, lexicon.notDenials) > 0) return false;
  const [first, second] = [tokens[at], tokens[at + 1]];
  if (question) return HARD_NO.has(first?.text ?? '') && second !== undefined;
  return !(first?.text === 'no' && second?.kind === 'small');
}

/** Whether nothing is said but the refusal. */
export function onlyRefuses(items: readonly Item[]): boolean {
  return items.every(
    (item) => item.kind === 'no' || isYes(item) || isNamed(item) || isGlue(item) || isPassive(item),
  );
}

function lengthAt(
  tokens: readonly Token[],
  at: number,
  lexicon: Lexicon,
  phrases: ReadonlySet<string>,
): number {
  const look = (phrase: string): true | undefined => phrases.has(phrase) || undefined;
  return longestAt(tokens, at, lexicon, look)?.length ?? 0;
}

/** The first item that is neither politeness nor an interjection, and where its tokens begin. */
function firstThatMatters(items: readonly Item[]): { at: number; item: Item | undefined } {
  let at = 0;
  for (const item of items) {
    if (item.kind !== 'filler' && item.kind !== 'thanks') return { at, item };
    at += item.tokens.length;
  }
  return { at, item: undefined };
}
