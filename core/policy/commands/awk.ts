/** awk: its program may write (`print > f`), run (`| "cmd"`, `system()`) and read other files (`getline < f`, `ARGV`). */
import { changes, destroys, isKnown, shown } from '../model.ts';
import type { Arg, Check, Finding, Shell } from '../model.ts';
import { secrecyOf } from '../secrets.ts';
import { readOptions } from './options.ts';
import { each, problems, readsFile } from './rules.ts';
import type { Table } from './rules.ts';

const awk: Check = (call, shell) => {
  const read = readOptions(
    call.args,
    '-F: -v: --field-separator: --assign: --posix --re-interval --version --help',
  );
  const found = problems(call.name, read);
  if (read.options.some((option) => /^--(version|help)$/.test(option.name))) return found;
  const [program, ...operands] = read.operands;
  if (!program) return [...found, changes(`${call.name} without a program`)];
  return [
    ...found,
    ...programFindings(program, call.name, shell),
    ...operands.flatMap((operand) =>
      /^[A-Za-z_]\w*=/.test(operand.value) ? [] : readsFile(operand, shell),
    ),
  ];
};

function programFindings(program: Arg, name: string, shell: Shell): Finding[] {
  if (!isKnown({ ...program, glob: false })) {
    const safe = program.holes.every((hole) => hole.kind === 'id');
    if (!safe)
      return [
        changes(`${name}: the program is only known at run time: ${shown(program)}`),
        ...shell.suspect([program.value.replaceAll('\0', ' ')]),
      ];
  }
  const fault = awkFault(program.value.replaceAll('\0', '1'));
  return fault === undefined
    ? []
    : [
        changes(`${name}: ${fault}`),
        ...shell.suspect([program.value, ...strings(program.value)]),
        ...strings(program.value)
          .filter((text) => secrecyOf(text) === 'key')
          .map((text) => destroys(`${name} reads a private key or password file: ${shown(text)}`)),
      ];
}

/** The text of string literals, which may be commands. */
function strings(program: string): string[] {
  return [...program.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map((match) =>
    (match[1] ?? '').replace(/\\(.)/g, '$1'),
  );
}

const FORBIDDEN =
  /^(system|getline|ARGV|ARGC|ENVIRON|SYMTAB|PROCINFO|FUNCTAB|func|function|extension)$/;

interface Token {
  kind: 'word' | 'number' | 'string' | 'regex' | 'mark' | 'end';
  text: string;
}

/** What makes a program more than a reader; undefined when nothing does. */
export function awkFault(program: string): string | undefined {
  const tokens = tokenise(program);
  if (typeof tokens === 'string') return tokens;
  let printing: number | undefined;
  let depth = 0;
  for (const [at, { kind, text }] of tokens.entries()) {
    if (kind === 'word') {
      if (FORBIDDEN.test(text)) return `uses ${text}`;
      if (text === 'print' || text === 'printf') printing = depth;
      continue;
    }
    if (kind === 'end') printing = undefined;
    if (kind !== 'mark') continue;
    if (text === '@') return 'uses an indirect call or a directive';
    if (text === '|') return 'pipes to or from a command';
    if (text === '(' || text === '[') depth++;
    if (text === ')' || text === ']') depth--;
    if (text === '}' || text === '{') printing = undefined;
    if (text.startsWith('>') && printing !== undefined && depth <= printing) {
      const target = tokens[at + 1];
      const open = tokens[at + 2];
      const standard =
        target?.kind === 'string' && /^"\/dev\/(stderr|stdout|null)"$/.test(target.text);
      if (!(standard && (open === undefined || open.kind === 'end' || open.text === '}')))
        return 'prints into a file';
    }
  }
  return undefined;
}

function tokenise(program: string): Token[] | string {
  const tokens: Token[] = [];
  let at = 0;
  const push = (kind: Token['kind'], text: string): void => {
    tokens.push({ kind, text });
    at += text.length;
  };
  while (at < program.length) {
    const rest = program.slice(at);
    const space = /^([ \t]+|\\\n|#[^\n]*)/.exec(rest)?.[0];
    const char = rest[0] as string;
    if (space) at += space.length;
    else if (char === '\n' || char === ';') push('end', char);
    else if (char === '"') {
      const text = /^"(?:[^"\\\n]|\\[^])*"/.exec(rest)?.[0];
      if (text === undefined) return 'a string without an end';
      push('string', text);
    } else if (char === '/' && regexHere(tokens.at(-1))) {
      const text = /^\/(?:[^/\\\n[]|\\.|\[\^?\]?(?:[^\]\\\n]|\\.|\[:\w+:\])*\])+\//.exec(rest)?.[0];
      if (text === undefined || /\[[^\]]*\/[^\]]*\]/.test(text))
        return 'a pattern that is not understood';
      push('regex', text);
    } else if (char === '/' && /^\/[^\n/]*["#][^\n]*\//.test(rest))
      return 'a division or a pattern: cannot be told apart';
    else if (/[A-Za-z_]/.test(char)) push('word', /^\w+/.exec(rest)?.[0] as string);
    else if (/[\d.]/.test(char))
      push('number', /^(\d+\.?\d*([eE][-+]?\d+)?|\.\d+|\.)/.exec(rest)?.[0] as string);
    else
      push(
        'mark',
        /^(\|\||&&|>>|>=|<=|==|!=|\+\+|--|!~|\*\*|[-+*%^/]=|[^])/.exec(rest)?.[0] as string,
      );
  }
  return tokens;
}

/** A slash begins a pattern where no operand stands in front of it. */
function regexHere(before: Token | undefined): boolean {
  if (before === undefined || before.kind === 'end') return true;
  if (before.kind === 'word')
    return /^(print|printf|return|in|case|do|else|exit|delete)$/.test(before.text);
  if (before.kind !== 'mark') return false;
  return !/^[)\]$}]|\+\+|--$/.test(before.text) || before.text === '}';
}

export const awkTable: Table = each('awk gawk mawk nawk original-awk', { check: awk });
