/** Words of the shell → {@link Arg}: what is known of their text once quotes, braces and known variables are taken out. */
import { HOLE, literal, unknownArg } from '../model.ts';
import type { Arg, HoleKind } from '../model.ts';
import { expandBraces } from './braces.ts';
import { parseShell } from './parse.ts';
import type { ParameterOperation, ParsedScript, Word, WordPart } from './parse.ts';

/** What the walk knows while it reads words. */
export interface Lookup {
  /** The value of a variable or positional parameter; undefined when it is not known. */
  variable(name: string): string | undefined;
  /** What is known of a variable whose value is not. */
  hole(name: string): HoleKind;
  /** The likeliest value of a variable whose value is not known. */
  guess(name: string): string | undefined;
  /** What is known of a substitution's output. */
  substitution(script: ParsedScript): { hole: HoleKind; guess: string | undefined };
  /** The words of `$@`, when known. */
  positional(): readonly Arg[] | undefined;
}

interface Building {
  value: string;
  guess: string;
  splits: boolean;
  glob: boolean;
  holes: HoleKind[];
}

const NUMBER: HoleKind = { kind: 'id', number: true };
const ANY: HoleKind = { kind: 'any' };

/** Reads a word in a place where braces and splitting apply (arguments). */
export function readWord(word: Word, lookup: Lookup): Arg[] {
  const parts = word.parts;
  if (!parts) return [literal(word.value)];
  if (parts.some(hasBraces)) {
    const texts = expandBraces(word.text);
    if (!texts) return [{ ...unknownArg(), guess: word.value }];
    if (texts.length !== 1 || texts[0] !== word.text)
      return texts.flatMap((text) => reparsed(text, lookup));
  }
  const positional = wholePositional(parts);
  if (positional) return [...(lookup.positional() ?? [unknownArg()])];
  return split(build(parts, lookup), parts);
}

/** Reads a word where nothing is split: assignments, redirections, here-strings, `case`, `[[ ]]`. */
export function readText(word: Word, lookup: Lookup): Arg {
  return word.parts ? finish({ ...build(word.parts, lookup), splits: false }) : literal(word.value);
}

/** The text of a here-document's body, with holes. */
export function readParts(parts: readonly WordPart[], lookup: Lookup): Arg {
  return finish(build(parts, lookup));
}

function hasBraces(part: WordPart): boolean {
  return part.type === 'BraceExpansion';
}

function reparsed(text: string, lookup: Lookup): Arg[] {
  if (text === '') return [];
  const { script, fault } = parseShell(`: ${text}`);
  const command = script.commands[0]?.command;
  if (fault || command?.type !== 'Command' || command.suffix.length !== 1) return [unknownArg()];
  const word = command.suffix[0];
  if (word?.type !== 'Word') return [unknownArg()];
  if (!word.parts) return [literal(word.value)];
  return split(build(word.parts, lookup), word.parts);
}

function wholePositional(parts: readonly WordPart[]): boolean {
  const [first] = parts;
  if (parts.length !== 1 || !first) return false;
  const inner = first.type === 'DoubleQuoted' && first.parts.length === 1 ? first.parts[0] : first;
  return inner?.type === 'SimpleExpansion' && /^\$[@*]$/.test(inner.text);
}

function build(parts: readonly WordPart[], lookup: Lookup): Building {
  const into: Building = { value: '', guess: '', splits: false, glob: false, holes: [] };
  for (const part of parts) add(part, false, lookup, into);
  return into;
}

function add(part: WordPart, quoted: boolean, lookup: Lookup, into: Building): void {
  switch (part.type) {
    case 'Literal':
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      text(part.value, into);
      return;
    case 'Glob':
      into.glob = true;
      text(part.text, into);
      return;
    case 'ExtendedGlob':
      into.glob = true;
      hole(ANY, true, part.pattern, into);
      return;
    case 'DoubleQuoted':
    case 'LocaleString':
      for (const child of part.parts) add(child, true, lookup, into);
      return;
    case 'SimpleExpansion':
      parameter(part.text.slice(1), quoted, lookup, into);
      return;
    case 'ParameterExpansion':
      expansion(part, quoted, lookup, into);
      return;
    case 'CommandExpansion': {
      const known = part.script
        ? lookup.substitution(part.script)
        : { hole: ANY, guess: undefined };
      hole(known.hole, !quoted, known.guess ?? '', into);
      return;
    }
    case 'ArithmeticExpansion':
      hole(NUMBER, false, '0', into);
      return;
    case 'ProcessSubstitution':
      text('/dev/fd/63', into);
      return;
    case 'BraceExpansion':
      text(part.text, into);
      return;
    default: {
      const never: never = part;
      throw new TypeError(`word part ${JSON.stringify(never)}`);
    }
  }
}

function text(value: string, into: Building): void {
  into.value += value;
  into.guess += value;
}

function hole(kind: HoleKind, splits: boolean, guess: string, into: Building): void {
  into.value += HOLE;
  into.guess += guess;
  into.holes.push(kind);
  if (splits) {
    into.splits = true;
    if (kind.kind === 'any') into.glob = true;
  }
}

function parameter(name: string, quoted: boolean, lookup: Lookup, into: Building): void {
  const value = lookup.variable(name);
  if (value === undefined) {
    if (/^[#?$!]$/.test(name)) hole(NUMBER, false, '0', into);
    else hole(lookup.hole(name), !quoted, lookup.guess(name) ?? (name === 'IFS' ? ' ' : ''), into);
    return;
  }
  text(value, into);
  if (!quoted && /\s/.test(value)) into.splits = true;
  if (!quoted && /[*?[]/.test(value)) into.glob = true;
}

function expansion(
  part: Extract<WordPart, { type: 'ParameterExpansion' }>,
  quoted: boolean,
  lookup: Lookup,
  into: Building,
): void {
  const operation = part.operation;
  if (!operation && !part.index && !part.prefix)
    return parameter(part.parameter, quoted, lookup, into);
  if (part.prefix === '#') return hole(NUMBER, false, '0', into);
  const value =
    lookup.variable(part.parameter) ??
    lookup.guess(part.parameter) ??
    (part.parameter === 'IFS' ? ' ' : '');
  const guess = operation ? transformed(value, operation, lookup) : value;
  hole(ANY, !quoted, guess, into);
}

/** The likeliest result of an operation on a value; patterns count as plain text. */
function transformed(value: string, operation: ParameterOperation, lookup: Lookup): string {
  const text = (word: Word | undefined): string => {
    const arg = word ? readText(word, lookup) : undefined;
    return arg?.guess ?? arg?.value ?? '';
  };
  switch (operation.type) {
    case 'Default':
      return value === '' || operation.operator.includes('+') ? text(operation.operand) : value;
    case 'Remove': {
      const part = text(operation.operand).replaceAll('*', '');
      if (operation.operator.startsWith('#'))
        return value.startsWith(part) ? value.slice(part.length) : value;
      return value.endsWith(part) ? value.slice(0, value.length - part.length) : value;
    }
    case 'Replace':
      return value.replaceAll(text(operation.pattern), text(operation.replacement));
    case 'CaseModification':
      return operation.operator.startsWith('^') ? value.toUpperCase() : value.toLowerCase();
    case 'Slice': {
      const from = Number(text(operation.offset)) || 0;
      const length = operation.length ? Number(text(operation.length)) : undefined;
      return value.slice(from, length === undefined ? undefined : from + length);
    }
    default:
      return value;
  }
}

function finish(built: Building): Arg {
  const { value, splits, glob, holes, guess } = built;
  return { value, splits, glob, holes, ...(value.includes(HOLE) ? { guess } : {}) };
}

/** Words that a known but unquoted value breaks up into are separate words; an empty unquoted one is none. */
function split(built: Building, parts: readonly WordPart[]): Arg[] {
  const unquoted = parts.every(
    (part) => part.type === 'SimpleExpansion' || part.type === 'ParameterExpansion',
  );
  if (built.value.includes(HOLE)) return [finish(built)];
  if (built.value === '' && unquoted) return [];
  if (!built.splits) return [finish(built)];
  if (!unquoted) return [{ ...finish(built), value: HOLE, holes: [ANY], guess: built.value }];
  return built.value
    .split(/[ \t\n]+/)
    .filter((word) => word !== '')
    .map((word) => ({
      value: word,
      splits: false,
      glob: built.glob && /[*?[]/.test(word),
      holes: [],
    }));
}
