/** What a walk knows where it stands: variables, parameters, input, and how deep it is. */
import { HOLE, isKnown, shown } from '../model.ts';
import type { Arg, Finding, HoleKind, Input } from '../model.ts';
import type { Numbers } from './expressions.ts';
import { staticOutput } from './literals.ts';
import { outputOf } from './outputs.ts';
import type { Registry } from './outputs.ts';
import type { ParsedScript, SyntaxNode } from './parse.ts';
import type { Values } from './variables.ts';
import type { Lookup } from './words.ts';

/** Deepest nesting of shells, wrappers and substitutions that is followed. */
export const MAX_DEPTH = 40;

/** A file that a command runs. */
export interface ScriptUse {
  /** As it can be opened from the login's home directory: absolute, or relative to it. Undefined when that is not known. */
  path: string | undefined;
  /** As it stands in the command, for people. */
  shown: string;
  /** Which program takes it for a script; empty when it is run by itself. */
  program: string;
  /** Why its content cannot be looked at, whatever is there. */
  why?: string;
}

/** What all walks of one verdict share. */
export interface Session {
  registry: Registry;
  /** Commands looked at so far. */
  commands: number;
  /** Places that relative paths may start from. */
  directories: Set<string>;
  /** Set when it went to a place of which not all is known. */
  strayed?: true;
  /** Literal texts that went into files, by the file's path. */
  written: Map<string, string[]>;
  /** Files that the command runs, by their path. */
  scripts: Map<string, ScriptUse>;
  /** Danger already looked for, by the text it was looked for in: nested wrappers look at the same text again and again. */
  suspected: Map<string, readonly Finding[]>;
}

/** Variables that the shell sets to a plain word by itself. */
const OWN_IDS = /^(HOSTNAME|USER|LOGNAME|BASH_VERSION|HOSTTYPE|OSTYPE)$/;
const OWN_NUMBERS = /^(EUID|UID|PPID|RANDOM|SECONDS|LINENO|BASHPID|EPOCHSECONDS)$/;

/** A file's name for looking it up: `./s.sh` is `s.sh`. */
const fileKey = (path: string): string => path.replace(/^(\.\/+)+/, '');

/** Where a script is, seen from home: where the command has gone to by then is known for one `cd` at most. */
function scriptUse(file: Arg, program: string, { directories, strayed }: Session): ScriptUse {
  const told = { shown: shown(file), program };
  if (!isKnown(file) || file.splits)
    return { ...told, path: undefined, why: 'its name is only known when it runs' };
  const value = file.value.replace(/^(\.\/+)+/, '');
  const [, went, ...more] = directories;
  const fixed = /^[/~]/.test(value);
  const base = fixed || went === undefined || went === '~' ? '' : `${went.replace(/\/+$/, '')}/`;
  const path = `${base}${value}`.replace(/^~\/+/, '');
  const known = fixed || (more.length === 0 && strayed !== true);
  if (!known || path.startsWith('~'))
    return { ...told, path: undefined, why: 'its directory is only known when it runs' };
  return /^[!-~]([ -~]*[!-~])?$/.test(path)
    ? { ...told, path }
    : { ...told, path: undefined, why: 'its name has unusual characters' };
}

/** The state of one walk, and the answers that words need. */
export class Scope implements Lookup {
  readonly findings: Finding[] = [];
  protected readonly session: Session;
  protected readonly depth: number;
  protected values: Values = new Map();
  /** Variables that stand for one of their values while a command is judged. */
  protected readonly bound = new Map<string, string>();
  /** Loop variables of the loops that the walk is inside of. */
  protected readonly loops = new Set<string>();
  protected readonly functions = new Map<string, SyntaxNode>();
  protected parameters: readonly Arg[] | undefined;
  /** What `$0` is, when the source was given one. */
  protected zero: Arg | undefined;
  protected input: Input;
  /** True inside a container or guest. */
  protected foreign = false;
  /** True where files are not those of the target: in a container or guest of it, or on another machine. */
  protected away = false;
  /** True while danger is looked for in text that may not be run at all. */
  protected guessing = false;

  constructor(
    session: Session,
    depth: number,
    parameters: readonly Arg[] | undefined,
    input: Input,
  ) {
    this.session = session;
    this.depth = depth;
    this.parameters = parameters;
    this.input = input;
  }

  get directories(): ReadonlySet<string> {
    return this.session.directories;
  }

  written(path: string): readonly string[] {
    return this.session.written.get(fileKey(path)) ?? [];
  }

  write(path: string, texts: readonly string[]): void {
    const known = texts.filter((text) => text.trim() !== '');
    if (known.length > 0)
      this.session.written.set(fileKey(path), [...this.written(path), ...known].slice(0, 64));
  }

  enter(directory: string, certain = true): void {
    if (!certain) this.session.strayed = true;
    this.session.directories.add(directory);
  }

  runs(file: Arg, program: string): void {
    // What the command writes itself is judged with it.
    if (this.guessing || this.written(file.value).length > 0) return;
    const use = scriptUse(file, program, this.session);
    const why = this.away
      ? { path: undefined, why: 'it is inside a container or on another machine' }
      : {};
    const key = `${use.path ?? use.shown}\0${this.away}`;
    if (!this.session.scripts.has(key)) this.session.scripts.set(key, { ...use, ...why });
  }

  variable(name: string): string | undefined {
    const bound = this.bound.get(name);
    if (bound !== undefined) return bound;
    if (name === 'HOME' && !this.values.has('HOME')) return '~';
    if (!/^[1-9]$/.test(name) || !this.parameters) return undefined;
    const value = this.parameters[Number(name) - 1];
    if (!value) return this.parameters.every(isKnown) ? '' : undefined;
    const before = this.parameters.slice(0, Number(name));
    return before.every(isKnown) ? value.value : undefined;
  }

  hole(name: string): HoleKind {
    if (OWN_NUMBERS.test(name)) return { kind: 'id', number: true };
    if (OWN_IDS.test(name)) return { kind: 'id' };
    const parameter = /^[1-9]$/.test(name) ? this.parameters?.[Number(name) - 1] : undefined;
    const [own] = parameter?.value === HOLE && this.steadyUpTo(Number(name)) ? parameter.holes : [];
    if (own) return own;
    return this.values.get(name)?.hole ?? { kind: 'any' };
  }

  /** True when no parameter in front of the nth may be none or several words. */
  private steadyUpTo(nth: number): boolean {
    return (this.parameters ?? []).slice(0, nth).every((arg) => !arg.splits && !arg.glob);
  }

  guess(name: string): string | undefined {
    if (name === '0') return this.zero?.guess ?? this.zero?.value;
    const known = this.values.get(name);
    return known?.guess ?? known?.texts.at(-1);
  }

  positional(): readonly Arg[] | undefined {
    return this.parameters;
  }

  substitution(script: ParsedScript): { hole: HoleKind; guess: string | undefined } {
    return {
      hole: outputOf(script, this.session.registry, this),
      guess: staticOutput(script, this),
    };
  }

  /** True when a variable can only be a whole number. */
  protected numeric(name: string): boolean {
    const known = this.values.get(name);
    if (!known) return OWN_NUMBERS.test(name);
    if (!known.plain) return false;
    const numbers = known.hole?.kind === 'id' && known.hole.number === true;
    if (known.hole ? !numbers : known.texts.length === 0) return false;
    return known.texts.every((text) => /^-?\d{1,15}$/.test(text));
  }

  /** What arithmetic may take for a number without looking. */
  protected readonly numbers: Numbers = {
    variable: (name) => this.numeric(name),
    substitution: (script) => {
      const { hole } = this.substitution(script);
      return hole.kind === 'id' && hole.number === true;
    },
  };

  /** The texts that a variable may have at a place; none at all as well, unless it has certainly been set by then. */
  protected choices(name: string, at: number): string[] {
    const known = this.values.get(name);
    const texts = [...(known?.texts ?? [])];
    const set = this.loops.has(name) || (known?.since !== undefined && at >= known.since);
    return set || texts.includes('') ? texts : [...texts, ''];
  }
}
