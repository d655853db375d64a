/**
 * Options as programs read them: bundled short ones, attached and separate values, `--long=value`, `--`. A list of options is a
 * list of what is allowed; everything else is a problem. Abbreviated long options are a problem as well: `--output` would be an
 * abbreviation of a listed `--output-indicator`, and an option of its own that writes.
 *
 * A specification is one string of words:
 * - `-abc` three short flags; `-n:` a short option with a value; `-i?` one with an optional attached value;
 * - `--all` a long flag; `--lines:` with a value; `--color?` with an optional value behind `=`;
 * - a value may be narrowed: `:@` names a file whose contents are read, `:#` is a number (sign, unit or decimals allowed);
 * - `-#` allows digits as an option (`head -20`);
 * - `-name`, two letters or more and listed behind `=` (`=name`, `=name:`), is a long option with one dash (`-noout`).
 */
import { HOLE, isKnown, mayBeOption, shown } from '../model.ts';
import type { Arg } from '../model.ts';

type ValueKind = 'text' | 'file' | 'number';

interface OptionSpec {
  takes: 'nothing' | 'value' | 'optional';
  value: ValueKind;
}

interface Spec {
  short: ReadonlyMap<string, OptionSpec>;
  long: ReadonlyMap<string, OptionSpec>;
  single: ReadonlyMap<string, OptionSpec>;
  digits: boolean;
}

/** An option that was understood. `name` has its dashes. */
export interface Option {
  name: string;
  value: Arg | undefined;
  reads: boolean;
}

/** A command line taken apart. `problems` says in words what was not understood. */
export interface Options {
  options: Option[];
  operands: Arg[];
  problems: string[];
}

/** How a program reads its command line. */
export interface Reading {
  /** Options end at the first operand (wrappers: what follows is another command). Default false. */
  stopAtOperand?: boolean;
  /** No option of the program can do harm, so a word that may be an unknown option is an operand. Default false. */
  anyOptionHarmless?: boolean;
  /** Every version of the program takes the word behind an option with a value for that value, whatever it begins with. Default false. */
  anyValue?: boolean;
}

const specs = new Map<string, Spec>();

function compile(text: string): Spec {
  const known = specs.get(text);
  if (known) return known;
  const short = new Map<string, OptionSpec>();
  const long = new Map<string, OptionSpec>();
  const single = new Map<string, OptionSpec>();
  let digits = false;
  for (const word of text.split(/\s+/)) {
    if (word === '') continue;
    const parts = /^(--?|=)([^:?]+)(?:(:|\?)([@#]?))?$/.exec(word);
    if (!parts)
      throw new TypeError(`option specification: ${JSON.stringify(word)} is not understood`);
    const [, dashes, name = '', mark, kind] = parts;
    if (mark && dashes === '-' && name.length > 1)
      throw new TypeError(`option specification: ${word} gives a value to several letters`);
    const option: OptionSpec = {
      takes: mark === ':' ? 'value' : mark === '?' ? 'optional' : 'nothing',
      value: kind === '@' ? 'file' : kind === '#' ? 'number' : 'text',
    };
    if (dashes === '--') long.set(name, option);
    else if (dashes === '=') single.set(name, option);
    else if (name === '#') digits = true;
    else for (const letter of name) short.set(letter, option);
  }
  const spec = { short, long, single, digits };
  specs.set(text, spec);
  return spec;
}

/** Throws a TypeError when an option specification is malformed: tables are checked when they are loaded. */
export function checkSpecification(text: string): void {
  compile(text);
}

/** Takes a command line apart by the options that `text` allows. Never throws on a command line. */
export function readOptions(args: readonly Arg[], text: string, reading: Reading = {}): Options {
  const spec = compile(text);
  const result: Options = { options: [], operands: [], problems: [] };
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] as Arg;
    const word = arg.value;
    if (word === '--' && !arg.splits) {
      result.operands.push(...args.slice(at + 1));
      break;
    }
    if (mayBeOption(arg)) {
      if (!reading.anyOptionHarmless) result.problems.push(`${shown(arg)} may turn into an option`);
      result.operands.push(arg);
    } else if (word.startsWith('-') && word !== '-') {
      at += option(arg, args[at + 1], spec, reading, result);
      continue;
    } else result.operands.push(arg);
    if (reading.stopAtOperand) {
      result.operands.push(...args.slice(at + 1));
      break;
    }
  }
  return result;
}

/** Reads one option word; the answer is how many words behind it are its value. */
function option(
  arg: Arg,
  next: Arg | undefined,
  spec: Spec,
  reading: Reading,
  result: Options,
): number {
  const word = arg.value;
  const single = spec.single.get(word.slice(1).split('=')[0] as string);
  if (single) return named(arg, word.split('=')[0] as string, single, next, reading, result);
  if (word.startsWith('--')) {
    const name = word.slice(2).split('=')[0] as string;
    const found = spec.long.get(name);
    if (found) return named(arg, `--${name}`, found, next, reading, result);
    if (name.includes(HOLE) && reading.anyOptionHarmless) return 0;
    result.problems.push(`option --${shown(name)} is not known to be harmless`);
    return 0;
  }
  if (spec.digits && /^-\d+[kKmM]?$/.test(word)) return 0;
  return bundle(arg, next, spec, reading, result);
}

function named(
  arg: Arg,
  name: string,
  spec: OptionSpec,
  next: Arg | undefined,
  reading: Reading,
  result: Options,
): number {
  const equals = arg.value.indexOf('=');
  if (equals >= 0) {
    if (spec.takes === 'nothing') result.problems.push(`option ${name} takes no value`);
    else add(name, spec, { ...arg, value: arg.value.slice(equals + 1) }, result);
    return 0;
  }
  if (spec.takes !== 'value') {
    result.options.push({ name, value: undefined, reads: false });
    return 0;
  }
  return separate(name, spec, next, reading, result);
}

function bundle(
  arg: Arg,
  next: Arg | undefined,
  spec: Spec,
  reading: Reading,
  result: Options,
): number {
  const letters = [...arg.value].slice(1);
  for (let at = 0; at < letters.length; at++) {
    const letter = letters[at] as string;
    const found = spec.short.get(letter);
    if (!found) {
      if (letter === HOLE && reading.anyOptionHarmless) return 0;
      if (spec.digits && /\d/.test(letter)) continue;
      result.problems.push(`option -${shown(letter)} is not known to be harmless`);
      return 0;
    }
    if (found.takes === 'nothing') {
      result.options.push({ name: `-${letter}`, value: undefined, reads: false });
      continue;
    }
    const rest = letters.slice(at + 1).join('');
    if (rest !== '' || found.takes === 'optional') {
      add(`-${letter}`, found, rest === '' ? undefined : { ...arg, value: rest }, result);
      return 0;
    }
    return separate(`-${letter}`, found, next, reading, result);
  }
  return 0;
}

/** A value in a word of its own. Another program version may take no value there, so it must not look like an option. */
function separate(
  name: string,
  spec: OptionSpec,
  next: Arg | undefined,
  reading: Reading,
  result: Options,
): number {
  if (!next) {
    result.problems.push(`option ${name} has no value`);
    return 0;
  }
  const dashed = next.value.startsWith('-') && next.value !== '-' && !reading.anyValue;
  if (dashed && !/^-[\d.]+[a-zA-Z]*$/.test(next.value)) {
    result.problems.push(`the value of ${name} looks like an option: ${shown(next)}`);
    return 0;
  }
  add(name, spec, next, result);
  if (next.splits && mayBeOption(next))
    result.problems.push(`${shown(next)} may turn into an option`);
  return 1;
}

function add(name: string, spec: OptionSpec, value: Arg | undefined, result: Options): void {
  if (
    value &&
    spec.value === 'number' &&
    !(isKnown(value) && /^[-+]?[\d.:]+\w*$/.test(value.value))
  ) {
    const counts = value.holes.length > 0 && value.holes.every((hole) => hole.kind === 'id');
    if (!counts) result.problems.push(`the value of ${name} is not a number: ${shown(value)}`);
  }
  result.options.push({ name, value, reads: spec.value === 'file' });
}

/** All values given to an option, by any of its names. */
export function valuesOf(read: Options, ...names: string[]): Arg[] {
  return read.options.flatMap((option) =>
    names.includes(option.name) && option.value ? [option.value] : [],
  );
}

/** True when an option was given, by any of its names. */
export function has(read: Options, ...names: string[]): boolean {
  return read.options.some((option) => names.includes(option.name));
}
