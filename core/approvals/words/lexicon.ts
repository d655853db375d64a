import { de } from './de.ts';
import { en } from './en.ts';
import { es } from './es.ts';
import { fr } from './fr.ts';
import { LANGUAGES, type ActionGroup, type Language, type WordList } from './lists.ts';
import { SERVICES } from './services.ts';
import { fold, tokenize } from './tokens.ts';

const LISTS: Readonly<Record<Language, WordList>> = { en, de, es, fr };

/** What a phrase means in the reading of a whole message. */
export type Meaning =
  | { readonly kind: Plain }
  | { readonly kind: 'action'; readonly group: ActionGroup }
  | { readonly kind: 'scope'; readonly scope: number | 'all' };

type Plain =
  | 'no'
  | 'partial'
  | 'condition'
  | 'confirm'
  | 'confirmAlone'
  | 'yes'
  | 'ok'
  | 'statement'
  | 'noun'
  | 'preposition'
  | 'object'
  | 'thanks'
  | 'permit'
  | 'filler'
  | 'report'
  | 'service';

/** The lists of some languages, made ready to be looked up. */
export interface Lexicon {
  readonly languages: readonly Language[];
  /** The beginnings of all phrases in any index, so that a look-up stops where none goes on. */
  readonly beginnings: ReadonlySet<string>;
  /** Phrase (tokens joined by a space) → meaning. */
  readonly meanings: ReadonlyMap<string, Meaning>;
  /** Phrases that negate. */
  readonly negations: ReadonlySet<string>;
  readonly denialOpeners: ReadonlySet<string>;
  readonly notDenials: ReadonlySet<string>;
  readonly asks: ReadonlySet<string>;
  /** Whether a word stands in any list, alone or within a phrase. */
  readonly isKnown: (word: string) => boolean;
}

// A phrase that stands in two lists means the first of these that has it, so that the cautious
// reading wins, in one language and across languages. Statements come last but for services:
// "is" or "running" only matter where no list gives them a use.
const ORDER: readonly Exclude<Plain, 'service'>[] = [
  'no',
  'partial',
  'condition',
  'confirm',
  'confirmAlone',
  'yes',
  'ok',
  'thanks',
  'permit',
  'report',
  'preposition',
  'object',
  'noun',
  'filler',
  'statement',
];

const cache = new Map<string, Lexicon>();

/** The lexicon of these languages; English is always in it. Made once per set of languages. */
export function lexiconOf(languages: readonly Language[]): Lexicon {
  const set = LANGUAGES.filter((language) => language === 'en' || languages.includes(language));
  const key = set.join();
  let lexicon = cache.get(key);
  if (lexicon === undefined) {
    lexicon = build(set);
    cache.set(key, lexicon);
  }
  return lexicon;
}

/** Takes drawn-out letters in: three and more anywhere, two at the end ("nooope", "yess"). */
export function shorten(word: string): string {
  return word.replace(/(.)\1{2,}/gu, '$1').replace(/(.)\1+$/u, '$1');
}

function build(languages: readonly Language[]): Lexicon {
  const lists = languages.map((language) => LISTS[language]);
  const words = new Set<string>();
  const beginnings = new Set<string>();
  const key = (phrase: string): string => {
    const parts = tokenize(phrase, languages, () => true).tokens.map((token) => token.text);
    for (const [index, part] of parts.entries()) {
      words.add(part);
      beginnings.add(parts.slice(0, index + 1).join(' '));
    }
    return parts.join(' ');
  };
  const keys = (pick: (list: WordList) => readonly string[]): string[] =>
    lists.flatMap(pick).map(key);

  const negations = new Set(keys((list) => list.no));
  const meanings = new Map<string, Meaning>();
  const add = (phrase: string, meaning: Meaning): void => {
    if (!meanings.has(phrase)) meanings.set(phrase, meaning);
  };
  for (const kind of ORDER) {
    for (const phrase of keys((list) => list[kind])) add(phrase, { kind });
    // Actions and counts are more exact than the nouns and articles that they are made of.
    if (kind === 'permit') addExact(lists, key, add);
  }
  for (const service of SERVICES) add(fold(service), { kind: 'service' });

  return {
    languages,
    beginnings,
    meanings,
    negations,
    notDenials: new Set(keys((list) => list.notDenials)),
    denialOpeners: new Set(keys((list) => list.denialOpeners)),
    asks: new Set(keys((list) => list.asks)),
    isKnown: (word) => words.has(word),
  };
}

function addExact(
  lists: readonly WordList[],
  key: (phrase: string) => string,
  add: (phrase: string, meaning: Meaning) => void,
): void {
  for (const list of lists) {
    for (const [phrase, scope] of Object.entries(list.count))
      add(key(phrase), { kind: 'scope', scope });
    for (const phrase of list.all) add(key(phrase), { kind: 'scope', scope: 'all' });
    for (const [group, spellings] of Object.entries(list.action)) {
      for (const spelling of spellings) {
        add(key(spelling), { kind: 'action', group: group as ActionGroup });
      }
    }
  }
}
