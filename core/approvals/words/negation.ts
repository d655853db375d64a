import { squeeze, type Lexicon } from './lexicon.ts';
import { isGlue, isNamed, isPassive, isYes, longestAt, type Item } from './parse.ts';
import type { Token, Tokens } from './tokens.ts';

/** Whether a negation, refusal or delay begins at a token. */
export function negatesAt(tokens: readonly Token[], at: number, lexicon: Lexicon): boolean {
  const found = longestAt(
    tokens,
    at,
    lexicon.longest,
    (phrase) => lexicon.negations.has(phrase) || undefined,
  );
  if (found) return true;
  const { text } = tokens[at] as Token;
  if (text.endsWith("n't") || lexicon.squeezedNegations.has(squeeze(text))) return true;
  // "no-go", "yes/no": a negation inside a compound still negates.
  return (
    /[^\p{L}\p{N}']/u.test(text) &&
    text.split(/[^\p{L}\p{N}']+/u).some((part) => lexicon.negations.has(part))
  );
}

/** Whether the first word that matters opens a question. */
export function startsWithQuestion(
  tokens: readonly Token[],
  items: readonly Item[],
  lexicon: Lexicon,
): boolean {
  const at = firstThatMatters(items);
  return (
    longestAt(tokens, at, lexicon.longest, (phrase) => lexicon.asks.has(phrase) || undefined) !==
    null
  );
}

/** Index of the first token that is neither politeness nor an interjection. */
function firstThatMatters(items: readonly Item[]): number {
  let at = 0;
  for (const item of items) {
    if (item.kind !== 'filler' && item.kind !== 'thanks') break;
    at += item.tokens.length;
  }
  return at;
}

/**
 * Whether a message begins with a negation, so that it denies. A question that only begins like
 * one ("can't we …?", "wait, what does it do?") does not; neither do "no problem" and "No. 2".
 */
export function beginsWithNegation(
  cut: Tokens,
  items: readonly Item[],
  lexicon: Lexicon,
  question: boolean,
): boolean {
  const at = firstThatMatters(items);
  const isOpener = (start: number): boolean =>
    longestAt(
      cut.tokens,
      start,
      lexicon.longest,
      (phrase) => lexicon.denialOpeners.has(phrase) || undefined,
    ) !== null;
  const negates = at < cut.tokens.length && negatesAt(cut.tokens, at, lexicon);
  if (!negates && !isOpener(0) && !isOpener(at)) return false;
  const [first, second] = [cut.tokens[at]?.text ?? '', cut.tokens[at + 1]?.text ?? ''];
  if (question) return /^(?:no|nope|nein|non)$/.test(first) && second !== '';
  return !/^(?:no|n) (?:problem|problems|prob|probs|worries|worry|objection|objections|issue|issues|concerns|doubt|sweat|brainer|hay|passa|pasa|\d+)$/.test(
    `${first} ${second}`,
  );
}

/** Whether nothing is said but the refusal. */
export function onlyRefuses(items: readonly Item[]): boolean {
  return items.every(
    (item) => item.kind === 'no' || isYes(item) || isNamed(item) || isGlue(item) || isPassive(item),
  );
}
