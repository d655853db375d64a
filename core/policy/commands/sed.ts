/** sed: its script may write files (`w`, `W`, `s///w`), read them (`r`, `R`) and run commands (`e`, `s///e`). */
import { changes, destroys, isKnown, literal, shown } from '../model.ts';
import { normalise } from '../normal-path.ts';
import type { Arg, Check, Finding, Shell } from '../model.ts';
import { readOptions, valuesOf } from './options.ts';
import { problems, readsFile } from './rules.ts';
import type { Table } from './rules.ts';

const sed: Check = (call, shell) => {
  const read = readOptions(
    call.args,
    '-nErsuz -e: -l: --quiet --silent --expression: --regexp-extended --separate --unbuffered --null-data --zero-terminated --line-length: --posix --debug --sandbox --help --version',
  );
  const scripts = valuesOf(read, '-e', '--expression');
  const operands = scripts.length > 0 ? read.operands : read.operands.slice(1);
  const all = scripts.length > 0 ? scripts : read.operands.slice(0, 1);
  const accounts = /^\/etc\/(passwd|g?shadow|group|sudoers)$/;
  const edits = call.args.some((arg) => /^-[nErsuz]*i|^--in/.test(arg.value))
    ? call.args.filter((arg) => accounts.test(normalise(arg.value)))
    : [];
  return [
    ...edits.map((file) => destroys(`sed -i edits ${shown(file)}, which the machine needs`)),
    ...problems('sed', read),
    ...all.flatMap((script) => scriptFindings(script, shell)),
    ...operands.flatMap((operand) => readsFile(operand, shell)),
  ];
};

function scriptFindings(script: Arg, shell: Shell): Finding[] {
  if (!isKnown({ ...script, glob: false })) return openScript(script);
  const { fault, files, runs } = readScript(script.value);
  return [
    ...(fault ? [changes(`sed: ${fault}`)] : []),
    ...files.flatMap((file) => readsFile(literal(file), shell)),
    ...shell.suspect(runs),
  ];
}

/** A script with a number or a name in it that is only known at run time: `sed -n "${n}p"`. */
function openScript(script: Arg): Finding[] {
  const safe =
    script.holes.every((hole) => hole.kind === 'id') &&
    readScript(script.value.replaceAll('\0', '1')).fault === undefined;
  return safe ? [] : [changes(`sed: the script is only known at run time: ${shown(script)}`)];
}

interface Script {
  fault: string | undefined;
  files: string[];
  runs: string[];
}

/** Reads a sed script command by command; what is not understood is a fault. */
function readScript(script: string): Script {
  const out: Script = { fault: undefined, files: [], runs: [] };
  let at = 0;
  const fail = (fault: string): Script => ({ ...out, fault });
  while (at < script.length) {
    at = skip(script, at, /[\s;{}]/);
    if (at >= script.length) break;
    const addressed = addresses(script, at);
    if (addressed === undefined) return fail(`the address in ${shown(script)} is not understood`);
    at = skip(script, addressed, /[\s!]/);
    const command = script[at];
    if (command === undefined) return fail('a command is missing');
    if (command === '{' || command === '}') {
      at++;
      continue;
    }
    if (command === '#') {
      at = lineEnd(script, at);
      continue;
    }
    if (/[=dDgGhHnNpPxzF]/.test(command)) at++;
    else if (/[lqQL]/.test(command)) at = skip(script, at + 1, /[\s\d]/);
    else if (/[aic]/.test(command)) at = textEnd(script, at);
    else if (/[btT:]/.test(command)) at = skip(script, at + 1, /[^;\n}]/);
    else if (command === 'r' || command === 'R') {
      const end = lineEnd(script, at);
      out.files.push(script.slice(at + 1, end).trim());
      at = end;
    } else if (command === 's' || command === 'y') {
      const end = substitution(script, at, command === 'y');
      if (typeof end === 'string') {
        if (/e/.test(end)) out.runs.push(script);
        return fail(end);
      }
      at = end;
    } else {
      if (command === 'e') out.runs.push(script.slice(at + 1));
      const what =
        { w: 'writes a file', W: 'writes a file', e: 'runs a command' }[command] ??
        'is not known to only read';
      return fail(`command ${command} ${what}: ${shown(script)}`);
    }
    const after = skip(script, at, /[ \t]/);
    if (after < script.length && !/[;\n}#]/.test(script[after] as string))
      return fail(`${shown(script.slice(after))} is not understood`);
    at = after;
  }
  return out;
}

function skip(text: string, from: number, what: RegExp): number {
  let at = from;
  while (at < text.length && what.test(text[at] as string)) at++;
  return at;
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end < 0 ? text.length : end;
}

/** Text of `a`, `i`, `c`: to the end of the line, and on while lines end in a backslash. */
function textEnd(text: string, from: number): number {
  let end = lineEnd(text, from);
  while (end < text.length && escaped(text, end)) end = lineEnd(text, end + 1);
  return end;
}

/** True when an odd number of backslashes stands in front of a place. */
function escaped(text: string, at: number): boolean {
  let from = at;
  while (text[from - 1] === '\\') from--;
  return (at - from) % 2 === 1;
}

function addresses(text: string, from: number): number | undefined {
  let at = from;
  for (let count = 0; count < 2; count++) {
    const one = address(text, at);
    if (one === undefined) return undefined;
    at = skip(text, one, /[ \t]/);
    if (text[at] !== ',') return at;
    at = skip(text, at + 1, /[ \t]/);
  }
  return at;
}

function address(text: string, from: number): number | undefined {
  const char = text[from] ?? '';
  if (/[\d$+~]/.test(char)) return skip(text, from + 1, /[\d~]/);
  if (char !== '/' && char !== '\\') return from;
  const delimiter = char === '/' ? '/' : (text[from + 1] ?? '');
  const start = char === '/' ? from + 1 : from + 2;
  const end = delimited(text, start, delimiter);
  return end === undefined ? undefined : skip(text, end, /[IM]/);
}

/** The place behind the next delimiter that is neither escaped nor inside a bracket expression. */
function delimited(text: string, from: number, delimiter: string): number | undefined {
  if (delimiter === '' || delimiter === '\n' || delimiter === '\\') return undefined;
  for (let at = from; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === delimiter) return at + 1;
    else if (
      text[at] === '[' &&
      text.indexOf(']', at + 2) > at &&
      text.slice(at, text.indexOf(']', at + 2)).includes(delimiter)
    )
      return undefined;
  }
  return undefined;
}

/** Where `s` or `y` ends, or what speaks against it. */
function substitution(text: string, from: number, plain: boolean): number | string {
  const delimiter = text[from + 1] ?? '';
  const middle = delimited(text, from + 2, delimiter);
  const end = middle === undefined ? undefined : replacement(text, middle, delimiter);
  if (end === undefined) return `${shown(text)} is not understood`;
  if (plain) return end;
  const after = skip(text, end, /[gpiImM\d]/);
  const flag = text[after];
  if (flag === 'w') return `s///w writes a file: ${shown(text)}`;
  if (flag === 'e') return `s///e runs a command: ${shown(text)}`;
  return after;
}

function replacement(text: string, from: number, delimiter: string): number | undefined {
  for (let at = from; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === delimiter) return at + 1;
  }
  return undefined;
}

export const sedTable: Table = { sed: { check: sed }, gsed: { check: sed } };
