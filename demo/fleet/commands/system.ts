import { fail } from '../machine/command.ts';
import type { CommandTable } from '../machine/command.ts';
import type { Machine } from '../machine/machine.ts';
import { processText } from './processes.ts';
import { columns, human, options, span } from './text.ts';

/** Commands about the machine itself and its processes. */
export const systemCommands: CommandTable = {
  hostname: (args, { machine }) => {
    if (args.includes('-I')) return `${machine.spec.address}\n`;
    return args.includes('-f') ? `${machine.name}.home.example\n` : `${machine.name}\n`;
  },
  hostnamectl: (_args, { machine }) =>
    ` Static hostname: ${machine.name}\n        Boot ID: ${machine.bootId.replaceAll('-', '')}\n` +
    `Operating System: ${machine.spec.os}\n          Kernel: Linux ${machine.spec.kernel}\n    Architecture: x86-64\n`,
  uname: (args, { machine }) => {
    const parts = {
      s: 'Linux',
      n: machine.name,
      r: machine.spec.kernel,
      v: BUILD,
      m: 'x86_64',
      o: 'GNU/Linux',
    };
    const asked = new Set(args.join('').replaceAll('-', '') || 's');
    const keys = asked.has('a')
      ? Object.keys(parts)
      : Object.keys(parts).filter((key) => asked.has(key));
    return `${keys.map((key) => parts[key as keyof typeof parts]).join(' ')}\n`;
  },
  timedatectl: () =>
    `      Universal time: ${new Date().toISOString().slice(0, 19).replace('T', ' ')} UTC\n           Time zone: Etc/UTC (UTC, +0000)\nSystem clock synchronized: yes\n`,
  whoami: () => 'root\n',
  id: (args) => (args.includes('-u') ? '0\n' : 'uid=0(root) gid=0(root) groups=0(root)\n'),
  groups: () => 'root\n',
  nproc: (_args, { machine }) => `${machine.spec.cores}\n`,
  arch: () => 'x86_64\n',
  uptime: (args, { machine }) => {
    const seconds = Math.floor((Date.now() - machine.bootedAtMs) / 1000);
    if (args.includes('-s'))
      return `${new Date(machine.bootedAtMs).toISOString().slice(0, 19).replace('T', ' ')}\n`;
    if (args.includes('-p')) return `up ${span(seconds)}\n`;
    return ` ${new Date().toISOString().slice(11, 19)} up ${upFor(seconds)},  0 users,  load average: ${load(machine).join(', ')}\n`;
  },
  free: (args, { machine }) => free(args, machine),
  top: (_args, { machine }) =>
    `top - ${load(machine).join(', ')}\n${free(['-m'], machine)}\n${processText(['aux'], machine)}`,
  w: (_args, { machine }) =>
    ` ${new Date().toISOString().slice(11, 19)} up,  0 users,  load average: ${load(machine).join(', ')}\n`,
  who: () => '',
  last: (_args, { machine }) => `reboot   system boot  ${machine.spec.kernel}\n`,
  lscpu: (_args, { machine }) =>
    `Architecture:        x86_64\nCPU(s):              ${machine.spec.cores}\n`,
  dmesg: (_args, { machine }) =>
    machine.journal.lines
      .filter((line) => line.ident === 'kernel')
      .map(
        (line) =>
          `[${((line.atMs - machine.bootedAtMs) / 1000).toFixed(6).padStart(13)}] ${line.text}\n`,
      )
      .join(''),
  ls: async (args, { original }) => {
    const result = await original(args);
    return {
      ...result,
      stdout: result.stdout.replaceAll(/^(\S{10}\s+\d+) user user /gm, '$1 root root '),
    };
  },
  rm: (args, { original }) => {
    const { has, rest } = options(args);
    if (has('-r', '-R', '--recursive') && rest.includes('/') && !has('--no-preserve-root')) {
      return fail(
        1,
        "rm: it is dangerous to operate recursively on '/'\nrm: use --no-preserve-root to override this failsafe",
      );
    }
    return original(args.filter((word) => word !== '--no-preserve-root'));
  },
  tail: async (args, { original, show, signal, pause }) => {
    const follows = args.some(
      (word) => /^-[a-zA-Z]*[fF]/.test(word) || word.startsWith('--follow'),
    );
    if (!follows) return original(args);
    const result = await original(args.filter((word) => !/^(-[fF]|--follow.*)$/.test(word)));
    show(result.stdout);
    while (!signal.aborted) await pause(60_000);
    return { ...result, stdout: '' };
  },
  sudo: async (args, { run }) => {
    const words = [...args];
    while (words[0]?.startsWith('-') === true)
      words.splice(0, words[0] === '-u' || words[0] === '-g' ? 2 : 1);
    if (words.length === 0) return fail(1, 'usage: sudo command');
    return run(/^\w+=/.test(words[0] ?? '') ? ['env', ...words] : words);
  },
  nice: ([...args], { run }) =>
    run(args[0] === '-n' ? args.slice(2) : args.filter((word) => !word.startsWith('-'))),
  nohup: (args, { run }) => run(args),
  setsid: (args, { run }) => run(args.filter((word) => !word.startsWith('-'))),
  sync: () => '',
  umask: () => '0022\n',
  ulimit: () => 'unlimited\n',
  trap: () => '',
  reboot: (_args, { machine }) => goDown(machine, true),
  poweroff: (_args, { machine }) => goDown(machine, machine.spec.kind === 'host'),
  halt: (_args, { machine }) => goDown(machine, machine.spec.kind === 'host'),
  shutdown: (args, { machine }) => {
    if (args.includes('-c')) return '';
    return goDown(
      machine,
      args.includes('-r') || args.includes('--reboot') || machine.spec.kind === 'host',
    );
  },
};

const BUILD = '#1 SMP PREEMPT_DYNAMIC Debian';

/** A host that was switched off could never be switched on again here, so it comes back by itself. */
function goDown(machine: Machine, again: boolean): string {
  machine.log('', 'systemd', again ? 'System is rebooting.' : 'System is powering down.');
  setTimeout(() => (again ? machine.reboot() : machine.halt()), 300 * machine.pace).unref();
  return '';
}

function load(machine: Machine): string[] {
  const wave = 1 + 0.1 * Math.sin(Date.now() / 60_000);
  return machine.spec.load.map((value) => (value * wave).toFixed(2));
}

function upFor(seconds: number): string {
  const days = Math.floor(seconds / 86_400);
  const hours = Math.floor((seconds % 86_400) / 3600);
  const minutes = String(Math.floor((seconds % 3600) / 60)).padStart(2, '0');
  const clock = hours > 0 ? `${String(hours).padStart(2)}:${minutes}` : `${Number(minutes)} min`;
  return days > 0 ? `${days} day${days === 1 ? '' : 's'}, ${clock}` : clock;
}

function free(args: readonly string[], machine: Machine): string {
  const { memoryMib, usedMemoryMib } = machine.spec;
  const { has } = options(args);
  const show = (mib: number): string => {
    if (has('-h', '--human')) return `${human(mib * 1024 * 1024)}i`;
    if (has('-g')) return String(Math.floor(mib / 1024));
    if (has('-m')) return String(mib);
    return String(has('-b') ? mib * 1024 * 1024 : mib * 1024);
  };
  const cached = Math.floor((memoryMib - usedMemoryMib) * 0.7);
  const idle = memoryMib - usedMemoryMib - cached;
  return columns(
    [
      ['', 'total', 'used', 'free', 'shared', 'buff/cache', 'available'],
      [
        'Mem:',
        ...[memoryMib, usedMemoryMib, idle, 12, cached, memoryMib - usedMemoryMib].map(show),
      ],
      ['Swap:', ...[1024, 0, 1024].map(show)],
    ],
    [1, 2, 3, 4, 5, 6],
    '      ',
  );
}
