/** What the shell does by itself. */
import { changes, destroys, endless, isKnown, shown } from '../model.ts';
import type { Arg, Check, Finding } from '../model.ts';
import { assignmentFindings, environmentNameHarmless } from '../shell/assignments.ts';
import { readOptions } from './options.ts';
import { each, problems, reads } from './rules.ts';
import type { Table } from './rules.ts';

/** `test` and `[`: only operators that look; the `[[` of the grammar is judged elsewhere. */
const test: Check = (call) => {
  const words =
    call.name === '[' && call.args.at(-1)?.value === ']' ? call.args.slice(0, -1) : call.args;
  const found: Finding[] = [];
  for (const arg of words) {
    if (/^-[vR]$/.test(arg.value)) found.push(changes(`test ${arg.value} evaluates its operand`));
    if (arg.splits && arg.holes.some((hole) => hole.kind === 'any')) {
      found.push(changes(`test: ${shown(arg)} is unquoted and may turn into operators`));
    }
  }
  return found;
};

const names = (read: readonly Arg[], what: string): Finding[] =>
  read.flatMap((arg) =>
    isKnown(arg) && /^[A-Za-z_]\w*$/.test(arg.value)
      ? assignmentFindings(arg.value)
      : [changes(`${what} evaluates ${shown(arg)}`)],
  );

const read: Check = (call) => {
  const line = readOptions(call.args, '-ers -a: -d: -i: -n: -N: -p: -t: -u:');
  return [
    ...problems('read', line),
    ...names(
      [
        ...line.operands.filter((name) => name.value !== '_'),
        ...line.options.flatMap((o) => (o.name === '-a' && o.value ? [o.value] : [])),
      ],
      'read',
    ),
  ];
};

const exportNames: Check = (call) => {
  if (call.args.length === 1 && call.args[0]?.value === '-p') return [];
  return call.args.flatMap((arg) => {
    const [name = '', value] = arg.value.split('=', 2);
    const harmless = isKnown(arg) && environmentNameHarmless(name) && !/^\/|\.\./.test(value ?? '');
    return harmless ? [] : [changes(`${call.name} changes the environment: ${shown(arg)}`)];
  });
};

const set: Check = (call) => {
  const words = call.args.map((arg) => arg.value);
  let at = 0;
  for (; at < words.length; at++) {
    const word = words[at] as string;
    if (
      /^[-+][euf]*o$/.test(word) &&
      /^(pipefail|errexit|nounset|noglob|noclobber)$/.test(words[at + 1] ?? '')
    )
      at++;
    else if (!/^[-+][eufC]+$/.test(word)) break;
  }
  return (at === words.length && words.length > 0) || words.join(' ') === '-o'
    ? []
    : [changes('set changes the shell or its parameters')];
};

/** `cd` makes its target one of the places that relative paths start from. */
const cd: Check = (call, shell) => {
  const line = readOptions(call.args, '-LPe');
  const [target] = line.operands;
  if (target && !target.glob)
    shell.enter(target.value.replaceAll('\0', ''), isKnown(target) && target.value !== '-');
  else if (!target) shell.enter('~');
  return problems(call.name, line);
};

const kill: Check = (call) => {
  const [first, second] = call.args;
  if (
    first?.value === '-0' ||
    first?.value === '-l' ||
    first?.value === '-L' ||
    first?.value === '--list'
  )
    return [];
  if (first?.value === '-s' && second?.value === '0') return [];
  const all = call.args.slice(1).some((arg) => arg.value === '-1');
  const init = call.args.some((arg) => arg.value === '1');
  return [
    all || init
      ? destroys(all ? 'kill -1 ends every process' : 'kills the first process of the machine')
      : changes(`${call.name} ends or signals processes`),
  ];
};

const unset: Check = (call) => {
  const line = readOptions(call.args, '-v');
  return [...problems('unset', line), ...names(line.operands, 'unset')];
};

const numeric = (): Check => (call) =>
  call.args.length > 1 ||
  call.args.some(
    (arg) => !isKnown(arg) && arg.holes.some((hole) => hole.kind === 'any') && arg.splits,
  )
    ? [changes(`${call.name} with more than a number`)]
    : [];

export const builtins: Table = {
  ...each('true false :', { check: () => [] }),
  ...each('test [', { check: test }),
  ...each('exit return break continue', { check: numeric() }),
  ...each('pwd', reads('-LP --logical --physical', { operands: 'none' })),
  ...each('cd pushd popd', { check: cd }),
  ...each('type', reads('-afptP', { anyOption: true })),
  read: { check: read },
  ...each('export', { check: exportNames }),
  set: { check: set },
  unset: { check: unset },
  kill: { check: kill },
  wait: reads('-fn'),
  ...each('jobs times dirs', reads('-lnprs')),
  shopt: reads('-pq', {
    also: (line) => names(line.operands, 'shopt'),
  }),
  ulimit: reads('-SHabcdefiklmnpqrstuvxPRT', { operands: 'none' }),
  umask: reads('-Sp', { operands: 'none' }),
  hash: reads('-lt', { operands: 'none' }),
  help: reads('-dms'),
  sleep: reads('--help --version', {
    also: (line) =>
      line.operands.every((arg) => /^\d{1,4}(\.\d+)?[sm]?$/.test(arg.value))
        ? []
        : [endless('sleep waits')],
  }),
  ...each(
    'mapfile readarray',
    reads('-t -n: -s: -d:', { most: 1, also: (line) => names(line.operands, 'mapfile') }),
  ),
};
