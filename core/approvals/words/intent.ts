import { readAssent } from './assent.ts';
import { readConfirmation } from './confirmation.ts';
import { lexiconOf, type Lexicon } from './lexicon.ts';
import { LANGUAGES, type Language } from './lists.ts';
import { beginsWithNegation, negatesAt, onlyRefuses, startsWithQuestion } from './negation.ts';
import { parse } from './parse.ts';
import type { Reference } from './reference.ts';
import { tokenize } from './tokens.ts';

export { LANGUAGES, type Language } from './lists.ts';
export type { Reference } from './reference.ts';

/** What a message says about the thing that waits. Decided by word lists alone (A5). */
export interface Intent {
  /** The whole message approves a non-destructive execution, a plan, or what else waits (A4). */
  readonly assent: boolean;
  /** The whole message is a typed confirmation for a destructive execution (A3). */
  readonly confirm: boolean;
  /** A negation, refusal or delay stands somewhere in it. Never together with the two above. */
  readonly negation: boolean;
  /** It begins with a negation: as a reply to a waiting card it denies it (A17). */
  readonly denial: boolean;
  /** It speaks of a part, or of something else: grant nothing and ask (A5). */
  readonly partial: boolean;
  /** It holds a condition, a time or a doubt: "if", "after 6pm", "maybe". */
  readonly conditional: boolean;
  /** It asks something. */
  readonly question: boolean;
  /** It is nothing but assent, denial or confirmation, politeness aside (T15). */
  readonly bare: boolean;
  /** The words after "I confirm", as written, politeness left out; '' if none (A6). */
  readonly confirmRest: string;
  /** What it names; absent if nothing. Only set where `assent` or `confirm` is true. */
  readonly reference?: Reference;
}

const NOTHING: Intent = {
  assent: false,
  confirm: false,
  negation: false,
  denial: false,
  partial: false,
  conditional: false,
  question: false,
  bare: false,
  confirmRest: '',
};

/** More characters than any approval or refusal has. */
const LONGEST_DECISION = 2000;

/**
 * Reads what an operator's message says (A4, A5, A17). A message approves or confirms only if every
 * word of it is in the lists and none of them negates, limits, doubts or asks: a word that is not
 * known costs the approval, so text that was not foreseen never gives one. Each language is read
 * with English and by itself, so that a word of one cannot be taken for a word of another. Of a
 * message over 2,000 characters only the beginning is read, and it never approves.
 * Takes the body as `cleanBody` (clean.ts) leaves it.
 */
export function readIntent(text: string, languages: readonly Language[] = ['en']): Intent {
  const others = LANGUAGES.filter((language) => language !== 'en' && languages.includes(language));
  const sets: readonly Language[][] = others.length === 0 ? [[]] : others.map((other) => [other]);
  const beginning = text.slice(0, LONGEST_DECISION);
  const readings = sets.map((set) => readWith(beginning, lexiconOf(set)));
  const some = (says: (reading: Intent) => boolean): boolean => readings.some(says);

  const negation = some((reading) => reading.negation);
  const question = some((reading) => reading.question);
  if (!negation && !question && text.length <= LONGEST_DECISION) {
    const approving = readings.filter((reading) => reading.assent);
    const chosen = approving.find((reading) => reading.confirm) ?? approving[0];
    if (chosen !== undefined) return chosen;
  }
  return {
    ...NOTHING,
    negation,
    question,
    denial: some((reading) => reading.denial),
    partial: some((reading) => reading.partial),
    conditional: some((reading) => reading.conditional),
    bare: text.length <= LONGEST_DECISION && some((reading) => reading.denial && reading.bare),
  };
}

function readWith(text: string, lexicon: Lexicon): Intent {
  const cut = tokenize(text, lexicon.languages, lexicon.isKnown);
  const items = parse(cut.tokens, lexicon);
  const question = cut.question || startsWithQuestion(cut.tokens, items, lexicon);
  const base: Intent = {
    ...NOTHING,
    question,
    partial: items.some((item) => item.kind === 'partial'),
    conditional: items.some((item) => item.kind === 'condition'),
  };
  if (cut.tokens.some((_, at) => negatesAt(cut.tokens, at, lexicon))) {
    const denial = beginsWithNegation(cut.tokens, items, lexicon, question);
    return { ...base, negation: true, denial, bare: denial && !question && onlyRefuses(items) };
  }
  if (question || base.partial || base.conditional || cut.hidden || cut.quoted) return base;
  if (items.length === 0) return base;

  const confirmation = readConfirmation(items, cut);
  if (confirmation) return { ...base, ...confirmation, assent: true, confirm: true, bare: true };
  const assent = readAssent(items);
  return assent ? { ...base, ...assent, assent: true, bare: true } : base;
}
