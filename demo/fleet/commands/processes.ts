import { fail } from '../machine/command.ts';
import type { CommandIo, CommandTable } from '../machine/command.ts';
import type { Machine } from '../machine/machine.ts';
import { columns, options } from './text.ts';

/** Commands about processes. */
export const processCommands: CommandTable = {
  ps: (args, { machine }) => processText(args, machine),
  pgrep: (args, { machine }) => {
    const { has, rest } = options(args, ['-u']);
    const found = processes(machine).filter(({ command }) => command.includes(rest[0] ?? ''));
    const lines = found.map(({ pid, command }) => `${has('-a') ? `${pid} ${command}` : pid}\n`);
    return { stdout: lines.join(''), exitCode: found.length > 0 ? 0 : 1 };
  },
  kill: (args, io) => kill(args, io),
  pkill: (args, io) => {
    const name = options(args).rest[0] ?? '';
    const units = [...io.machine.units.values()].filter(
      (unit) =>
        unit.pids.length > 0 &&
        (unit.spec.processes ?? []).some((command) => command.includes(name)),
    );
    for (const unit of units) endUnit(io.machine, unit.pids[0] ?? 0);
    return { exitCode: units.length > 0 ? 0 : 1 };
  },
};

interface Process {
  readonly pid: number;
  readonly ppid: number;
  readonly user: string;
  readonly command: string;
  readonly memoryMib: number;
}

function processes(machine: Machine): Process[] {
  const system = [{ pid: 1, ppid: 0, user: 'root', command: '/sbin/init', memoryMib: 12 }];
  const units = [...machine.units.values()].flatMap(({ pids, spec }) =>
    pids.map((pid, index) => ({
      pid,
      ppid: index === 0 ? 1 : (pids[0] ?? 1),
      user: index === 0 ? 'root' : (spec.user ?? 'root'),
      command: spec.processes?.[index] ?? spec.name,
      memoryMib: (spec.memoryMib ?? 8) / pids.length,
    })),
  );
  return [...system, ...units].toSorted((a, b) => a.pid - b.pid);
}

/** `ps`, in the long form or with `-o`. */
export function processText(args: readonly string[], machine: Machine): string {
  const total = machine.spec.memoryMib;
  const format = options(args, ['-o', '-C', '-u', '-p']).value('-o');
  const list = processes(machine);
  if (format !== undefined) {
    const names = format.split(',').map((name) => name.trim().replace(/=.*/, ''));
    const cell = (process: Process, name: string): string => {
      if (name === 'pid') return String(process.pid);
      if (name === 'ppid') return String(process.ppid);
      if (name === 'user') return process.user;
      if (name === '%mem' || name === 'pmem') return ((process.memoryMib / total) * 100).toFixed(1);
      if (name === 'rss') return String(Math.round(process.memoryMib * 1024));
      if (name === 'comm') return process.command.split(' ')[0]?.split('/').pop() ?? '';
      return name === 'args' || name === 'cmd' || name === 'command' ? process.command : '0.0';
    };
    return columns([
      names.map((name) => name.toUpperCase()),
      ...list.map((process) => names.map((name) => cell(process, name))),
    ]);
  }
  return columns(
    [
      ['USER', 'PID', '%CPU', '%MEM', 'VSZ', 'RSS', 'TTY', 'STAT', 'START', 'TIME', 'COMMAND'],
      ...list.map(({ user, pid, memoryMib, command }) => [
        user,
        String(pid),
        '0.0',
        ((memoryMib / total) * 100).toFixed(1),
        String(Math.round(memoryMib * 3 * 1024)),
        String(Math.round(memoryMib * 1024)),
        '?',
        'Ss',
        new Date(machine.bootedAtMs).toISOString().slice(11, 16),
        '0:00',
        command,
      ]),
    ],
    [1, 2, 3, 4, 5],
  );
}

function kill(args: readonly string[], { machine }: CommandIo): ReturnType<CommandTable[string]> {
  const pids = args.filter((word) => /^\d+$/.test(word)).map(Number);
  if (args.includes('-l')) return 'HUP INT QUIT KILL TERM USR1 USR2\n';
  for (const pid of pids) {
    if (!processes(machine).some((process) => process.pid === pid)) {
      return fail(1, `kill: (${pid}) - No such process`);
    }
    if (!args.includes('-0') && !args.includes('-HUP')) endUnit(machine, pid);
  }
  return pids.length > 0 ? '' : fail(2, 'kill: usage: kill [-s sigspec] pid');
}

/** A unit whose process is killed is started again by systemd or is failed. */
function endUnit(machine: Machine, pid: number): void {
  const unit = [...machine.units.values()].find((candidate) => candidate.pids.includes(pid));
  if (!unit) return;
  const { name, restarts } = unit.spec;
  machine.log(name, 'systemd', `${name}: Main process exited, code=killed, status=15/TERM`, 4);
  machine.setUnit(unit, restarts === true ? 'active' : 'failed');
  if (restarts === true) machine.log(name, 'systemd', `${name}: Scheduled restart job.`);
  else unit.exitCode = 143;
}
