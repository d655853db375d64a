/** The few forms that the tables of command families are written in. */
import { changes, destroys, isKnown, isOpen, mayBeOption, shown } from '../model.ts';
import type { Arg, Call, Check, Finding, HoleKind, Rule, Shell } from '../model.ts';
import { reading } from '../paths.ts';
import { checkSpecification, has, readOptions } from './options.ts';
import type { Options } from './options.ts';

/** What the operands of a reading program are. */
export type Operands =
  /** Files whose contents are shown: secrets and devices are refused. */
  | 'files'
  /** Names of files of which only facts are shown, and any other words. */
  | 'names'
  /** No operand is allowed: one would be something to do. */
  | 'none';

/** A table of programs by their bare names. */
export type Table = Readonly<Record<string, Rule>>;

/** Options of {@link reads}. */
export interface Reads {
  operands?: Operands;
  /** No option of the program can do harm, so words that may turn into options are fine. Default false. */
  anyOption?: boolean;
  /** Operands at the front that are text, not files (`grep PATTERN`). Default 0. */
  leading?: number | ((read: Options) => number);
  /** Most operands that only read (`uniq IN` but not `uniq IN OUT`). */
  most?: number;
  /** What else speaks against it. */
  also?: (read: Options, call: Call, shell: Shell) => Finding[];
  output?: (call: Call) => HoleKind;
}

/** A program that only reads, with the options that leave it so. */
export function reads(spec: string, how: Reads = {}): Rule {
  checkSpecification(spec);
  const check: Check = (call, shell) => {
    const read = readOptions(call.args, spec, { anyOptionHarmless: how.anyOption ?? false });
    return [
      ...problems(call.name, read),
      ...operandFindings(read, how, call, shell),
      ...optionFiles(read, shell),
      ...(how.also?.(read, call, shell) ?? []),
    ];
  };
  return how.output ? { check, output: how.output } : { check };
}

/** Everything that the options' reader did not understand. */
export function problems(name: string, read: Options): Finding[] {
  return read.problems.map((problem) => changes(`${name}: ${problem}`));
}

function operandFindings(read: Options, how: Reads, call: Call, shell: Shell): Finding[] {
  const leading = typeof how.leading === 'function' ? how.leading(read) : (how.leading ?? 0);
  const operands = read.operands.slice(leading);
  const most =
    how.most !== undefined &&
    (operands.length > how.most || (how.most < 2 && operands.some(severalWords)));
  const found = most
    ? [changes(`${call.name}: an operand that may be written to: ${shown(operands.at(-1) ?? '')}`)]
    : [];
  if (how.operands === 'none' && read.operands.length > 0) {
    return [
      ...found,
      changes(`${call.name}: ${shown(read.operands[0] as Arg)} is not known to only read`),
    ];
  }
  return how.operands === 'files'
    ? [...found, ...operands.flatMap((operand) => readsFile(operand, shell))]
    : found;
}

function severalWords(arg: Arg): boolean {
  return arg.splits || arg.glob;
}

function optionFiles(read: Options, shell: Shell): Finding[] {
  return read.options.flatMap((option) =>
    option.reads && option.value ? readsFile(option.value, shell) : [],
  );
}

/** What speaks against reading the contents of the file that a word names. */
export function readsFile(arg: Arg, shell: Shell): Finding[] {
  if (arg.value === '-') return [];
  const open = arg.holes.some(isOpen) || (arg.value.includes('\0') && mayBeOption(arg));
  const found = [
    ...reading(arg, shell.directories),
    ...arg.holes.flatMap((hole) =>
      hole.kind === 'paths'
        ? hole.patterns.flatMap((pattern) =>
            reading({ ...arg, value: pattern, holes: [], glob: true }, shell.directories),
          )
        : [],
    ),
  ];
  return open
    ? [...found, changes(`reads a file whose name is only known at run time: ${shown(arg)}`)]
    : found;
}

/** A program that always changes something. */
export function mutates(why: string, inert = false): Rule {
  return { check: () => [changes(why)], ...(inert ? { inert } : {}) };
}

/** A program that destroys whatever it is given. */
export function wrecks(why: string): Rule {
  return { check: (call) => [destroys(`${call.name} ${why}`)] };
}

/** Options of {@link verbs}. */
export interface Verbs {
  /** Options that may stand in front of the verb. */
  globals?: string;
  /** Verbs that read, with their rules; several names by spaces. `''` is the call without a verb. */
  read: Readonly<Record<string, Rule>>;
  /** What else speaks against the options in front of the verb. */
  also?: (read: Options) => Finding[];
  /** Danger by the text of all words, joined by blanks, whatever options stand between. */
  danger?: readonly (readonly [RegExp, string])[];
  /** Full verb from an abbreviated one, for programs that take unambiguous beginnings. */
  resolve?: (verb: string) => string;
  inert?: boolean;
}

/** A program with verbs (`systemctl status`): those in the table read, others change. */
export function verbs(how: Verbs): Rule {
  checkSpecification(how.globals ?? '');
  const table = new Map(
    Object.entries(how.read).flatMap(([names, rule]) =>
      names.split(' ').map((name) => [name, rule] as const),
    ),
  );
  const check: Check = (call, shell) => {
    const read = readOptions(call.args, how.globals ?? '', { stopAtOperand: true });
    const [verb, ...rest] = read.operands;
    const danger = dangerFindings(call, how.danger ?? []);
    const trouble = [...problems(call.name, read), ...(how.also?.(read) ?? [])];
    if (verb && !isKnown(verb))
      return [
        ...danger,
        ...trouble,
        changes(`${call.name}: what it does is only known at run time`),
      ];
    const name = verb ? (how.resolve?.(verb.value) ?? verb.value) : '';
    const rule = table.get(name);
    if (!rule)
      return [
        ...danger,
        ...trouble,
        changes(`${call.name} ${shown(verb ?? '')} is not known to only read`),
      ];
    return [
      ...danger,
      ...trouble,
      ...rule.check({ ...call, name: `${call.name} ${name}`.trim(), args: rest }, shell),
    ];
  };
  const output = (call: Call): HoleKind => {
    const read = readOptions(call.args, how.globals ?? '', { stopAtOperand: true });
    const [verb, ...rest] = read.operands;
    return (
      (verb &&
        table
          .get(verb.value)
          ?.output?.({ ...call, name: `${call.name} ${verb.value}`, args: rest })) ?? {
        kind: 'any',
      }
    );
  };
  const leadingIds = (call: Call): number => {
    const read = readOptions(call.args, how.globals ?? '', { stopAtOperand: true });
    const [verb, ...args] = read.operands;
    const rule = verb ? table.get(verb.value) : undefined;
    return rule?.leadingIds?.({ ...call, name: `${call.name} ${verb?.value}`, args }) ?? 0;
  };
  return { check, output, leadingIds, verbs: true, ...(how.inert ? { inert: true } : {}) };
}

/** Danger found in the joined words of a call. */
export function dangerFindings(
  call: Call,
  dangers: readonly (readonly [RegExp, string])[],
): Finding[] {
  if (dangers.length === 0) return [];
  const text = call.args
    .map((arg) => (arg.guess === undefined || arg.guess === '' ? arg.value : arg.guess))
    .join(' ');
  return dangers.flatMap(([pattern, reason]) =>
    pattern.test(text) ? [destroys(`${call.name} ${reason}: ${shown(text)}`)] : [],
  );
}

/** The same rule under several names. */
export function each(names: string, rule: Rule): Record<string, Rule> {
  return Object.fromEntries(names.split(/\s+/).map((name) => [name, rule]));
}

/** Output that is ids only: numbers, names without slashes or leading dashes. */
export const ids = (): HoleKind => ({ kind: 'id' });

/** Output that is whole numbers only. */
export const numbers = (): HoleKind => ({ kind: 'id', number: true });

/** A program whose operands, joined by blanks, must match to only read. */
export const listing = (spec: string, pattern: RegExp, what: string): { check: Check } => ({
  check: (call) => {
    const read = readOptions(call.args, spec);
    const text = read.operands.map((arg) => arg.value).join(' ');
    return [
      ...problems(call.name, read),
      ...(pattern.test(text) && read.operands.every((arg) => !arg.splits)
        ? []
        : [changes(`${call.name} ${shown(text)} ${what}`)]),
    ];
  },
});

/** A program that only reads when one of the options is given. */
export const onlyWith = (spec: string, ...needed: string[]): { check: Check } =>
  reads(spec, {
    also: (read, call) =>
      has(read, ...needed)
        ? []
        : [changes(`${call.name} without ${needed.join(' or ')} is not known to only read`)],
  });
