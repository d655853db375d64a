/** Processes: looking at them, how busy they are, and ending them. */
import { changes, destroys, endless, isKnown, isOpen, shown } from '../model.ts';
import type { Call, Check, Finding } from '../model.ts';
import { sendsNames } from './hosts.ts';
import { best } from './lenient.ts';
import { has, readOptions, valuesOf } from './options.ts';
import type { Options } from './options.ts';
import { each, numbers, onlyWith, problems, reads, wrecks } from './rules.ts';
import type { Table } from './rules.ts';

/** ps takes options of three styles; all only look, but `e` shows environments, which hold secrets. */
export const ps: Check = (call) => {
  const found: Finding[] = [];
  for (let at = 0; at < call.args.length; at++) {
    const arg = call.args[at];
    if (arg === undefined) continue;
    const word = arg.value;
    const before = call.args[at - 1]?.value ?? '';
    if (/environ/i.test(word)) found.push(changes('ps shows environments, which may hold secrets'));
    const value =
      /^-[a-zA-Z]*[CGOopqstUugkN]$|^--(ppid|pid|sort|user|User|group|Group|tty|format|cols|width|rows|deselect|headers)$|^[opOUkt]$/.test(
        before,
      );
    if (!value && /^[a-zA-Z]*e[a-zA-Z]*$/.test(word))
      found.push(changes('ps e shows environments, which may hold secrets'));
    if (!isKnown(arg) && arg.holes.some(isOpen)) {
      if (!value || arg.splits) found.push(changes(`ps: ${shown(arg)} is only known at run time`));
    }
  }
  return found;
};

const top: Check = (call) => {
  const read = readOptions(
    call.args,
    '-bcHiSs1 -n: -d: -o: -p: -u: -U: -w? -E: -e: --help --version',
  );
  const ends = has(read, '-n', '--help', '--version') ? [] : [endless('top repeats')];
  return [
    ...ends,
    ...problems('top', read),
    ...read.operands.map((arg) => changes(`top: ${shown(arg)} is not understood`)),
  ];
};

/** An interval without a count repeats for ever. */
export const counted = (read: Options, call: Call): Finding[] => {
  const numbers = read.operands.filter((arg) => /^[\d.]+$/.test(arg.value)).length;
  const open = read.operands.filter((arg) => arg.value.includes('\0')).length;
  return numbers === 1 || (numbers === 0 && open === 1) ? [endless(`${call.name} repeats`)] : [];
};

const fuser: Check = (call) =>
  problems(
    'fuser',
    readOptions(call.args, '-acmMuvV46 -n: --all --mount --namespace: --user --verbose'),
  );

export const processes: Table = {
  ps: {
    check: ps,
    // `ps aux` and `ps -ef` begin with the user and the number of the process.
    leadingIds: (call) =>
      /^(aux\w*|-ef\w*|-e -f|-Af)$/.test(call.args.map((arg) => arg.value).join(' ')) ? 2 : 0,
  },
  pgrep: reads(
    '-acfiLlnovwx -d: -g: -G: -P: -s: -t: -u: -U: -r: -F:@ -A --ns: --nslist: --full --list-name --list-full --exact --newest --oldest --count --ignore-case --inverse --parent: --user: --euid: --uid: --group: --delimiter: --runstates: --older: --help --version',
    {
      output: (call) =>
        // Numbers with commas between them are one plain word.
        call.args.some((arg) => /^-[a-zA-Z]*[al]|^--list/.test(arg.value))
          ? { kind: 'any' }
          : !call.args.some((arg) => /^-[a-zA-Z]*d|^--delim/.test(arg.value))
            ? numbers()
            : / (-d ?|--delimiter[ =])[, ]( |$)/.test(
                  ` ${call.args.map((arg) => arg.value).join(' ')}`,
                )
              ? { kind: 'id' }
              : { kind: 'any' },
    },
  ),
  pidof: reads('-sxnqc -o: -S:', { output: numbers }),
  pstree: reads(
    '-aAcGghlnNpsStTuUZV -H: -C: --arguments --ascii --show-pids --show-parents --uid-changes --long --numeric-sort',
  ),
  ...each('pmap', reads('-xXqdp -A:')),
  pwdx: reads('-V'),
  lsof: reads('-abhlnNoPRtUvVXCMw -i? -p: -u: -c: -d: -g? -s? -T? -F? -S? -L? -f? -x? -K? -E -O', {
    also: (read) => [
      ...sendsNames('lsof', [
        ...valuesOf(read, '-i'),
        ...read.operands.filter((arg) => /[@:]/.test(arg.value)),
      ]),
      ...read.operands
        .filter((arg) => /^\+(?![LDdcf])/.test(arg.value))
        .map((arg) => endless(`lsof ${shown(arg)} repeats`)),
    ],
  }),
  fuser: { check: fuser },
  top: { check: top },
  ...each('uptime', reads('-psrV --pretty --since --help --version', { operands: 'none' })),
  free: reads(
    '-bkmghlLtwvV -s: -c: --bytes --kilo --mega --giga --kibi --mebi --gibi --tebi --human --si --lohi --line --total --wide --seconds: --count: --committed --help --version',
    {
      operands: 'none',
      also: (read) =>
        has(read, '-s', '--seconds') && !has(read, '-c', '--count')
          ? [endless('free repeats')]
          : [],
    },
  ),
  vmstat: reads(
    '-afmnstwdDyV -S: -p: --active --forks --slabs --stats --disk --timestamp --wide --unit: --one-header',
    { also: counted },
  ),
  ...each(
    'iostat mpstat pidstat',
    reads('-abcdDhHiklmNnrRstTuUvVwxyzA -p: -P: -G: -C: -o: -I: --human --pretty --dec?', {
      also: counted,
    }),
  ),
  sar: reads(
    '-AbBdDhHqrRSuvwWyz -# -n: -P: -I: -m: -i: -s: -e: -f:@ -F -p --human --pretty --iface: --dev:',
    { also: counted },
  ),
  iotop: reads('-baoqPtk -n: -d: -p: -u: --batch --only --iter: --delay: --quiet --accumulated', {
    operands: 'none',
    also: (read) => (has(read, '-n', '--iter') ? [] : [endless('iotop repeats')]),
  }),
  prlimit: reads('-cdefilmnqrstuvxy -p: --pid: --noheadings --output: --raw --verbose', {
    operands: 'none',
  }),
  taskset: {
    check: (call, shell) => {
      const pid = readOptions(call.args, '-pca --pid --cpu-list --all-tasks');
      if (has(pid, '-p', '--pid'))
        return pid.operands.length > 1
          ? [changes('taskset moves a process')]
          : problems('taskset', pid);
      const run = readOptions(call.args, '-c --cpu-list', { stopAtOperand: true });
      return [...problems('taskset', run), ...shell.argv(run.operands.slice(1), call.input)];
    },
  },
  slabtop: onlyWith('-o -s: -d: --once --sort:', '-o', '--once'),
  ...each('killall pkill skill snice renice', {
    check: (call) => {
      const text = call.args.map(best).join(' ');
      const all =
        call.name !== 'renice' &&
        (/(^| )['"]?(\.|\.\*|\^|\.\+|.\*)['"]?$/.test(text) ||
          /(^| )(-[uU] ?|--e?uid[= ])(root|0)( |$)/.test(text) ||
          /(^| )-v /.test(text));
      return [
        all
          ? destroys(`${call.name} ends every process: ${shown(text)}`)
          : changes(`${call.name} signals processes: ${shown(text)}`),
      ];
    },
  }),
  killall5: wrecks('ends every process'),
};
