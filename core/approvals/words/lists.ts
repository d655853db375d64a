/** Languages with a word list. English is always on; the others by `NOMOS_LANGUAGES`. */
export type Language = 'en' | 'de' | 'es' | 'fr';

/** All languages, English first. */
export const LANGUAGES: readonly Language[] = ['en', 'de', 'es', 'fr'];

/** What an execution does, as one word for all its spellings in all languages. */
export type ActionGroup =
  | 'restart'
  | 'reboot'
  | 'shutdown'
  | 'start'
  | 'upgrade'
  | 'install'
  | 'delete'
  | 'create'
  | 'deploy'
  | 'move'
  | 'resize'
  | 'backup'
  | 'restore'
  | 'enable'
  | 'disable'
  | 'change'
  | 'run';

/**
 * The words of one language (A5). Every entry is a word or a phrase of whole words, in lower case.
 * A message approves only if **every** word of it is in these lists, so a word that is missing
 * here can cost an approval but never give one.
 */
export interface WordList {
  /** Approve by themselves. */
  readonly yes: readonly string[];
  /** Approve, but are also said to mean "understood": not with {@link thanks} beside them. */
  readonly ok: readonly string[];
  /** The typed confirmation (A3). What is confirmed may follow. */
  readonly confirm: readonly string[];
  /** Confirms only where nothing else is said but yes: "confirm", "confirmed". */
  readonly confirmAlone: readonly string[];
  /** Refusal, delay and negation. One of these anywhere beats every yes. */
  readonly no: readonly string[];
  /** Two-word openings of a denial whose first word is not a negation: "please don't". */
  readonly denialOpeners: readonly string[];
  /** Openings with a negation in them that refuse nothing: "no problem", "not sure". */
  readonly notDenials: readonly string[];
  /** Part of what waits, or something else than what waits: "only", "but", "first", "instead". */
  readonly partial: readonly string[];
  /** Conditions, times and doubts: "if", "after", "tomorrow", "maybe". */
  readonly condition: readonly string[];
  /** Words a question begins with. */
  readonly asks: readonly string[];
  /** Leave to do something; said of a fact after "I confirm", so not part of a confirmation. */
  readonly permit: readonly string[];
  /** Politeness, address, interjections: they change nothing. */
  readonly filler: readonly string[];
  /** Thanks, praise and "I see": beside a weak yes they end a talk more often than they approve. */
  readonly thanks: readonly string[];
  /** Wishes for a report afterwards: "let me know how it went". They change nothing. */
  readonly report: readonly string[];
  /** Articles, pronouns, connecting words, and nouns for what was proposed: "the", "it", "plan". */
  readonly object: readonly string[];
  /** Prepositions that a name may follow: "on", "of". */
  readonly preposition: readonly string[];
  /** Kinds of things in a fleet: "container", "server". */
  readonly noun: readonly string[];
  /** What is done, by group. */
  readonly action: Readonly<Partial<Record<ActionGroup, readonly string[]>>>;
  /** "all of them". */
  readonly all: readonly string[];
  /** Words that say how many, with the number: "both". */
  readonly count: Readonly<Record<string, number>>;
  /** Verbs of statements: "I confirm the disk is full" confirms no command. */
  readonly statement: readonly string[];
}

/** Reads a list written as `yes | go ahead | do it`. Line breaks count as white space. */
export function phrases(text: string): readonly string[] {
  return text
    .split('|')
    .map((phrase) => phrase.trim().replace(/\s+/g, ' '))
    .filter((phrase) => phrase !== '');
}

/** The three spellings of English negated verbs: `don't`, `dont`, `don t`. */
export function negatedVerbs(...stems: readonly string[]): readonly string[] {
  return stems.flatMap((stem) => [`${stem}n't`, `${stem}nt`, `${stem}n t`]);
}
