/** The words that the walk over a command and the tables of command families share. */
import type { Risk } from './risk.ts';

/** One thing that speaks against "read-only", in words for the operator's card (P5). */
export interface Finding {
  risk: Risk;
  reason: string;
  /** Set when all that is wrong is that the command does not end by itself: a time limit around it mends that. */
  endless?: true;
}

/** Stands in an {@link Arg}'s value for text that is only known when the command runs. NUL cannot occur in a command. */
export const HOLE = '\0';

/**
 * What is known about the text that a hole stands for: `id` is words that neither begin with a dash nor hold a slash (process
 * ids, container names, dates), whole numbers when `number` is set; `name` is file names, which hold no slash; `paths` is file names below the given patterns; `word`
 * is one word at most, of which nothing else is known; `any` is anything.
 */
export type HoleKind =
  | { kind: 'id'; number?: true }
  | { kind: 'name' }
  | { kind: 'paths'; patterns: readonly string[] }
  | { kind: 'word' }
  | { kind: 'any' };

/** True when nothing is known of a hole that would keep it from naming any file. */
export const isOpen = (hole: HoleKind): boolean => hole.kind === 'any' || hole.kind === 'word';

/** One word of a command after quotes, braces and known variables were taken out. */
export interface Arg {
  /** The text, with a {@link HOLE} for each part that is not known. */
  value: string;
  /** True when an unquoted hole may turn the word into none or several. */
  splits: boolean;
  /** True when an unquoted `*`, `?` or `[` may turn the word into several file names. */
  glob: boolean;
  /** What is known of the holes, in order. */
  holes: readonly HoleKind[];
  /** The likeliest text when there are holes. It can only bring danger to light, never make a word harmless. */
  guess?: string;
}

/** Where a command's standard input comes from, as far as rules care. */
export interface Input {
  /** `none`: the runner's /dev/null. `text`: here-document or here-string. `pipe`: an earlier command. */
  from: 'none' | 'text' | 'file' | 'pipe';
  /** Literal texts that may arrive there. */
  texts: readonly string[];
  /** The file that was opened for it, when `from` is `file`. */
  file?: Arg;
  /** What the earlier commands of the pipe put out, one item a line. */
  output: HoleKind;
  /** Set when nothing comes through the pipe but text that stands in the command. */
  fixed?: true;
  /** Set inside a loop over `read`: what is left of the loop's input, which its commands get without being meant to. */
  rest?: true;
}

/** One simple command. */
export interface Call {
  /** The bare program name (`sed` for `/usr/bin/sed`). */
  name: string;
  args: readonly Arg[];
  input: Input;
}

/** What a rule may ask of the walk: to judge a command that the call would run. */
export interface Shell {
  /** Judges words as a command of its own. `appended`: more words that are not known follow. */
  argv(args: readonly Arg[], input: Input): Finding[];
  /** Judges a text as shell source of its own, with its positional parameters. `name`: its `$0`. */
  script(source: Arg, positional: readonly Arg[], input: Input, name?: Arg): Finding[];
  /** Looks for destructive shell source in literal text; what is harmless or unknown gives nothing. */
  suspect(texts: readonly string[]): Finding[];
  /** The same walk inside a container or guest, whose environment may hold passwords. */
  inside(): Shell;
  /** The same walk on another machine, whose files are not the target's. */
  elsewhere(): Shell;
  /** Notes that the command runs a file, as a program of its own (`''`) or as a script of the named one. */
  runs(file: Arg, program: string): void;
  /** Texts that the command wrote to a file before. */
  written(path: string): readonly string[];
  /** Notes texts that the command writes to a file. */
  write(path: string, texts: readonly string[]): void;
  /** Directories that relative paths may be relative to. */
  readonly directories: ReadonlySet<string>;
  /** Adds a directory that the command goes to; `certain` is false when only a part of its name is known, or none. */
  enter(directory: string, certain?: boolean): void;
}

/** Judges a call: no findings means read-only. */
export type Check = (call: Call, shell: Shell) => Finding[];

/** A command family's entry for one program. */
export interface Rule {
  check: Check;
  /** Words of the call are data that nothing runs (commit messages): they are not searched for danger. */
  inert?: boolean;
  /** The first word is a verb of the program's own (`pct reboot`), not a command that it might run. */
  verbs?: true;
  /** How many words at the front of each line of the output are plain ids, whatever follows them. Default 0. */
  leadingIds?: (call: Call) => number;
  /** What each line of the output is; `any` unless said. */
  output?: (call: Call) => HoleKind;
}

/** A finding that the command changes something, or may. */
export const changes = (reason: string): Finding => ({ risk: 'config_mutation', reason });

/** A finding that the command destroys or gives away what cannot be taken back (P4). */
export const destroys = (reason: string): Finding => ({ risk: 'destructive', reason });

/** A finding that the command does not end by itself, so that no answer ever comes. */
export const endless = (reason: string): Finding => ({
  risk: 'config_mutation',
  reason: `${reason} and never ends`,
  endless: true,
});

/** A wholly known word. */
export const literal = (value: string): Arg => ({ value, splits: false, glob: false, holes: [] });

/** A word of which nothing is known; `splits` when it may be none or several. */
export const unknownArg = (splits = true, kind: HoleKind = { kind: 'any' }): Arg => ({
  value: HOLE,
  splits,
  glob: false,
  holes: [kind],
});

/** True when the word's text is known to the last letter. */
export const isKnown = (arg: Arg): boolean => !arg.value.includes(HOLE) && !arg.glob;

/** True when the word may begin with a dash, or turn into words that do. */
export function mayBeOption(arg: Arg): boolean {
  const harmless = arg.holes.every((hole) => hole.kind === 'id' || hole.kind === 'paths');
  if (arg.splits && !harmless) return true;
  if (arg.value.startsWith(HOLE)) return !harmless;
  return arg.glob && /^[*?[]/.test(arg.value);
}

/** The word for people: holes as `…`, cut to 60 characters. */
export function shown(arg: Arg | string): string {
  const text = (typeof arg === 'string' ? arg : arg.value)
    .replaceAll(HOLE, '…')
    .replace(/\s+/g, ' ');
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}

/** No standard input at all. */
export const NO_INPUT: Input = { from: 'none', texts: [], output: { kind: 'any' } };

/** Words without the first that is no option. */
export function withoutVerb(args: readonly Arg[]): readonly Arg[] {
  const at = args.findIndex((arg) => !arg.value.startsWith('-'));
  return args.filter((_, place) => place !== at);
}
