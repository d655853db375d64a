/** Programs that run another command; that command decides (P3). */
import { changes, endless, HOLE, isKnown, literal, NO_INPUT } from '../model.ts';
import type { Arg, Call, Check, Finding, Input, Shell } from '../model.ts';
import { environmentNameHarmless } from '../shell/assignments.ts';
import { sure } from './lenient.ts';
import { has, readOptions, valuesOf } from './options.ts';
import { each, problems, readsFile } from './rules.ts';
import type { Table } from './rules.ts';

/** How a simple wrapper reads its line. */
interface Wraps {
  /** Words in front of the command that belong to the wrapper (`timeout 5`). */
  skip?: number;
  /** Findings when there is no command to run. Default: not known to only read. */
  alone?: (call: Call) => Finding[];
  /** Something that the wrapper itself does. */
  also?: string;
}

/** A wrapper whose options end at the command. */
export function wraps(spec: string, how: Wraps = {}): { check: Check } {
  return {
    check: (call, shell) => {
      const read = readOptions(call.args, spec, { stopAtOperand: true });
      const command = read.operands.slice(how.skip ?? 0);
      const own = [
        ...problems(call.name, read),
        ...(how.also ? [changes(`${call.name} ${how.also}`)] : []),
      ];
      if (command.length === 0)
        return [...own, ...(how.alone?.(call) ?? [changes(`${call.name} without a command`)])];
      return [...own, ...shell.argv(command, call.input)];
    },
  };
}

/** A wrapper that tells about a process instead when its words match. */
function asksOr(asks: RegExp, spec: string, how: Wraps = {}): { check: Check } {
  const wrapper = wraps(spec, how);
  return { check: (call, shell) => (asks.test(sure(call)) ? [] : wrapper.check(call, shell)) };
}

/** Leading `NAME=VALUE` words taken off; those that can change how the command runs are findings. */
export function withoutAssignments(
  words: readonly Arg[],
  name: string,
): { rest: readonly Arg[]; found: Finding[] } {
  const found: Finding[] = [];
  let at = 0;
  for (; at < words.length; at++) {
    const match = /^([A-Za-z_]\w*)=(.*)$/s.exec((words[at] as Arg).value);
    if (!match) break;
    const harmless =
      environmentNameHarmless(match[1] as string) &&
      isKnown(words[at] as Arg) &&
      !/^\/|\.\./.test(match[2] as string);
    if (!harmless) found.push(changes(`${name} runs a command with ${match[1]} set`));
  }
  return { rest: words.slice(at), found };
}

const env: Check = (call, shell) => {
  const split = call.args.findIndex((arg) => /^(-[iv0]*S|--split-string)/.test(arg.value));
  if (split >= 0) {
    const texts = call.args
      .slice(split)
      .map((arg) => arg.value.replace(/^(-[iv0]*S|--split-string=?)/, ''));
    const joined = literal(texts.join(' '));
    return [
      changes('env -S splits a text into a command'),
      ...shell.script(joined, [], call.input),
    ];
  }
  const read = readOptions(
    call.args,
    '-i0v -u: -C: --ignore-environment --unset: --null --chdir: --debug --help --version',
    { stopAtOperand: true },
  );
  const operands = read.operands[0]?.value === '-' ? read.operands.slice(1) : read.operands;
  const { rest, found } = withoutAssignments(operands, 'env');
  const own = [...problems('env', read), ...found];
  for (const directory of valuesOf(read, '-C', '--chdir')) shell.enter(directory.value);
  return rest.length === 0 ? own : [...own, ...shell.argv(rest, call.input)];
};

/** Words that `xargs` puts in are what comes in on its standard input. */
const xargs: Check = (call, shell) => {
  const read = readOptions(
    call.args,
    '-0rtx -n: -P: -L: -l? -I: -i? -d: -E: -s: -a:@ --null --no-run-if-empty --max-args: --max-procs: --max-lines? --replace? --delimiter: --max-chars: --arg-file:@ --verbose --exit',
    { stopAtOperand: true },
  );
  const found = problems('xargs', read);
  const replace = read.options.find((option) => /^(-I|-i|--replace)$/.test(option.name));
  const mark = replace ? (replace.value?.value ?? '{}') : undefined;
  const kind = call.input.output;
  const command = read.operands.length > 0 ? read.operands : [literal('echo')];
  const words: Arg[] = mark
    ? command.map((arg) =>
        mark !== '' && arg.value.includes(mark)
          ? {
              ...arg,
              value: arg.value.replaceAll(mark, HOLE),
              holes: [...arg.holes, kind],
              guess: arg.value,
            }
          : arg,
      )
    : [...command, { value: HOLE, splits: true, glob: false, holes: [kind] }];
  const files = valuesOf(read, '-a', '--arg-file').flatMap((file) => readsFile(file, shell));
  return [...found, ...files, ...shell.argv(words, NO_INPUT), ...piped(command, call.input, shell)];
};

/** Literal text that comes in through a pipe may make up the command: `echo 'rm -rf /' | xargs -I{} sh -c {}`. */
function piped(command: readonly Arg[], input: Input, shell: Shell): Finding[] {
  if (input.texts.length === 0) return [];
  const name = command[0]?.value ?? '';
  const tail = command.map((arg) => arg.value).join(' ');
  const joined = input.texts.map((text) => `${tail} ${text}`);
  const runs =
    /(^|\/)(sudo|env|sh|bash|dash|ash|zsh|eval|nice|timeout|nohup|time|xargs)$/.test(name) ||
    /\bsh -c\b/.test(tail);
  return [...shell.suspect(joined), ...(runs ? shell.suspect(input.texts) : [])];
}

/** `watch` hands its words to `sh -c`, joined by blanks, again and again. */
const watch: Check = (call, shell) => {
  const read = readOptions(
    call.args,
    '-n: -d? -tbegcwxpq --interval: --differences? --no-title --beep --errexit --chgexit --color --no-color --no-wrap --exec --precise --equexit: --help --version',
    { stopAtOperand: true },
  );
  if (read.operands.length === 0)
    return [...problems('watch', read), changes('watch without a command')];
  const own = [...problems('watch', read), endless('watch repeats a command')];
  if (has(read, '-x', '--exec')) return [...own, ...shell.argv(read.operands, NO_INPUT)];
  return [...own, ...shell.script(joinedWords(read.operands), [], NO_INPUT)];
};

/** Words as one text, as `ssh` and `watch` send them. */
export function joinedWords(words: readonly Arg[]): Arg {
  return {
    value: words.map((word) => word.value).join(' '),
    splits: false,
    glob: false,
    holes: words.flatMap((word) => word.holes),
    guess: words.map((word) => word.guess ?? word.value).join(' '),
  };
}

/** A time limit ends what would not end by itself. */
const timeout: Check = (call, shell) => {
  const limited = wraps(
    '-s: -k: -vpf --signal: --kill-after: --foreground --preserve-status --verbose',
    { skip: 1 },
  ).check(call, shell);
  const zero = call.args.some((arg) => /^0+[smhd]?$|^inf/.test(arg.value));
  return zero ? limited : limited.filter((finding) => !finding.endless);
};

/** `command`, `builtin`, `exec`: the shell's own wrappers. */
const command: Check = (call, shell) => {
  const read = readOptions(call.args, '-pvV', { stopAtOperand: true });
  if (has(read, '-v', '-V')) return problems('command', read);
  return [
    ...problems('command', read),
    ...(read.operands.length > 0 ? shell.argv(read.operands, call.input) : []),
  ];
};

const exec: Check = (call, shell) => {
  const read = readOptions(call.args, '', { stopAtOperand: true });
  return [
    ...problems('exec', read),
    ...(read.operands.length > 0 ? shell.argv(read.operands, call.input) : []),
  ];
};

export const wrappers: Table = {
  env: { check: env },
  xargs: { check: xargs },
  watch: { check: watch },
  command: { check: command },
  exec: { check: exec },
  builtin: wraps('', { alone: () => [] }),
  nice: wraps('-n: -# --adjustment:', { alone: () => [] }),
  ionice: asksOr(/^-p \d+$/, '-t -c: -n: --class: --classdata: --ignore', { alone: () => [] }),
  timeout: { check: timeout },
  nohup: wraps(''),
  stdbuf: wraps('-i: -o: -e: --input: --output: --error:'),
  unbuffer: wraps(''),
  chrt: asksOr(/^(-ap|-p|-m)( \d+)?$/, '-bfior -v', { skip: 1 }),
  numactl: wraps('-Hs -N: -m: -i: --hardware --show', { alone: () => [] }),
  setsid: wraps('-w --wait'),
  time: wraps('-pv -f: --portability --verbose --format:'),
  nsenter: wraps(
    '-t: -a -m -u -i -n -p -C -U -T --target: --all --mount --uts --ipc --net --pid --cgroup --user --time',
  ),
  ...each(
    'chroot arch-chroot',
    wraps('--userspec: --groups:', { skip: 1, also: 'runs a command below another root' }),
  ),
  ...each('flock', wraps('-enosux -w: -E:', { skip: 1, also: 'takes a lock' })),
  ...each(
    'strace ltrace perf valgrind script systemd-run systemd-inhibit dbus-run-session dumb-init tini catchsegv setarch linux32 linux64 setpriv unshare bwrap firejail proot fakeroot faketime tsp nohup-run start-stop-daemon screen tmux byobu zellij daemonize s6-setuidgid chpst gosu su-exec runcon sg newgrp pkexec run0 systemd-nspawn torsocks proxychains proxychains4 ts detach entr inotifywait',
    {
      check: (call, shell) => [
        ...shell
          .argv(
            call.args.filter(
              (arg) => arg.value !== '--' && !/^--?(S|start|x|exec)$/.test(arg.value),
            ),
            NO_INPUT,
          )
          .filter((finding) => finding.risk === 'destructive'),
        changes(`${call.name} runs a command in its own way`),
        ...shell.suspect([...call.args.map((arg) => arg.value), ...call.input.texts]),
      ],
    },
  ),
};
