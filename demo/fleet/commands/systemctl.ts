import { fail } from '../machine/command.ts';
import type { CommandIo, CommandTable, Said } from '../machine/command.ts';
import type { Machine } from '../machine/machine.ts';
import { subState, unitType } from '../machine/unit.ts';
import type { Unit } from '../machine/unit.ts';
import { journalText } from './journalctl.ts';
import { ago, columns, options, span, systemdTime } from './text.ts';

const VALUE_OPTIONS = [
  '-p',
  '--property',
  '-t',
  '--type',
  '--state',
  '-n',
  '--lines',
  '-o',
  '--output',
  '--signal',
  '-s',
];

/** systemctl and service. */
export const systemctlCommands: CommandTable = {
  systemctl: (args, io) => systemctl(args, io),
  service: ([name = '', verb = 'status'], io) =>
    name === '--status-all'
      ? [...io.machine.units.values()]
          .map(
            (unit) =>
              ` [ ${unit.active === 'active' ? '+' : '-'} ]  ${unit.spec.name.replace(/\.service$/, '')}\n`,
          )
          .join('')
      : systemctl([verb, name], io),
};

async function systemctl(args: readonly string[], io: CommandIo): Promise<Said> {
  const { machine } = io;
  const parsed = options(args, VALUE_OPTIONS);
  const [verb, ...names] = parsed.rest;
  const quiet = parsed.has('-q', '--quiet');
  switch (verb) {
    case undefined:
    case 'list-units':
      return listUnits(machine, parsed, names);
    case 'list-unit-files':
      return columns([
        ['UNIT FILE', 'STATE', 'PRESET'],
        ...[...machine.units.values()].map((unit) => [unit.spec.name, unit.enabled, 'enabled']),
      ]);
    case 'list-timers':
      return listTimers(machine);
    case 'is-system-running': {
      const failed = [...machine.units.values()].some((unit) => unit.active === 'failed');
      return { stdout: failed ? 'degraded\n' : 'running\n', exitCode: failed ? 1 : 0 };
    }
    case 'daemon-reload':
    case 'daemon-reexec':
      return '';
    case 'reboot':
    case 'poweroff':
    case 'halt':
      return io.run([verb]);
    case 'status':
      if (names.length === 0) return overview(machine);
      break;
    case 'reset-failed':
      for (const unit of machine.units.values()) {
        if (
          unit.active === 'failed' &&
          (names.length === 0 || machine.unit(names[0] ?? '') === unit)
        ) {
          machine.setUnit(unit, 'inactive');
        }
      }
      return '';
    default:
  }
  if (names.length === 0) return fail(1, 'Too few arguments.');
  const found = names.map((name) => ({ name: fullName(name), unit: machine.unit(name) }));
  switch (verb) {
    case 'is-active':
    case 'is-failed': {
      const states = found.map(({ unit }) => unit?.active ?? 'inactive');
      const wanted = verb === 'is-active' ? 'active' : 'failed';
      const stdout = quiet ? '' : states.map((state) => `${state}\n`).join('');
      const exitCode = states.includes(wanted) ? 0 : verb === 'is-active' ? 3 : 1;
      return { stdout, exitCode };
    }
    case 'is-enabled': {
      const missing = found.find(({ unit }) => !unit);
      if (missing)
        return fail(
          1,
          `Failed to get unit file state for ${missing.name}: No such file or directory`,
        );
      const states = found.map(({ unit }) => unit?.enabled ?? 'disabled');
      return {
        stdout: states.map((state) => `${state}\n`).join(''),
        exitCode: states.includes('disabled') ? 1 : 0,
      };
    }
    case 'show':
      return found
        .map(({ unit, name }) =>
          show(unit, name, parsed.value('-p', '--property'), parsed.has('--value')),
        )
        .join('\n');
    default:
  }
  const unknown = found.find(({ unit }) => !unit);
  if (unknown) {
    return verb === 'status'
      ? fail(4, `Unit ${unknown.name} could not be found.`)
      : fail(5, `Failed to ${verb} ${unknown.name}: Unit ${unknown.name} not found.`);
  }
  const units = found.flatMap(({ unit }) => unit ?? []);
  switch (verb) {
    case 'status': {
      const stdout = units.map((unit) => status(machine, unit)).join('\n');
      return { stdout, exitCode: units.every((unit) => unit.active === 'active') ? 0 : 3 };
    }
    case 'cat':
      return units.map((unit) => unitFile(unit)).join('\n');
    case 'enable':
    case 'disable':
    case 'mask':
    case 'unmask':
      for (const unit of units) {
        unit.enabled =
          verb === 'enable' || verb === 'unmask'
            ? 'enabled'
            : verb === 'mask'
              ? 'masked'
              : 'disabled';
      }
      if (!parsed.has('--now')) return '';
      return change(verb === 'enable' ? 'start' : 'stop', units, io);
    case 'start':
    case 'stop':
    case 'restart':
    case 'try-restart':
    case 'reload':
    case 'reload-or-restart':
    case 'kill':
      return change(verb, units, io);
    default:
      return fail(1, `Unknown command verb ${verb}.`);
  }
}

async function change(verb: string, units: readonly Unit[], io: CommandIo): Promise<Said> {
  const { machine } = io;
  for (const unit of units) {
    const { name, description } = unit.spec;
    if (verb === 'start' && unit.active === 'active') continue;
    if (unit.enabled === 'masked' && verb !== 'stop')
      return fail(1, `Failed to ${verb} ${name}: Unit ${name} is masked.`);
    if (verb === 'reload') {
      if (unit.active !== 'active') return fail(1, `${name} is not active, cannot reload.`);
      machine.log(name, 'systemd', `Reloaded ${name} - ${description}.`);
      continue;
    }
    if (verb === 'try-restart' && unit.active !== 'active') continue;
    if (unit.active === 'active' && verb !== 'start') {
      machine.setUnit(unit, 'inactive');
      machine.log(name, 'systemd', `Stopped ${name} - ${description}.`);
    }
    if (verb === 'stop' || verb === 'kill') {
      machine.setUnit(unit, 'inactive');
      continue;
    }
    machine.log(name, 'systemd', `Starting ${name} - ${description}...`);
    await io.pause(unit.spec.startMs ?? 600);
    if (io.signal.aborted) break;
    machine.setUnit(unit, 'active');
    for (const line of unit.spec.startLines ?? []) {
      machine.log(name, name.replace(/\.[a-z]+$/, ''), line);
    }
    machine.log(name, 'systemd', `Started ${name} - ${description}.`);
  }
  return '';
}

function fullName(name: string): string {
  return /\.[a-z]+$/.test(name) ? name : `${name}.service`;
}

function dot(unit: Unit): string {
  return unit.active === 'failed' ? '×' : unit.active === 'active' ? '●' : '○';
}

function status(machine: Machine, unit: Unit): string {
  const { spec } = unit;
  const state = `${unit.active} (${unit.active === 'failed' ? 'Result: exit-code' : subState(unit)})`;
  const lines = [
    `${dot(unit)} ${spec.name} - ${spec.description}`,
    `     Loaded: loaded (/lib/systemd/system/${spec.name}; ${unit.enabled}; preset: enabled)`,
    `     Active: ${state} since ${systemdTime(unit.sinceMs)}; ${ago(unit.sinceMs)}`,
  ];
  const [main] = spec.processes ?? [];
  const program = main?.split(' ')[0]?.split('/').pop()?.replace(/:$/, '') ?? '';
  if (unit.active === 'failed') {
    lines.push(
      `    Process: ${machine.nextPid()} ExecStart=${main ?? ''} (code=exited, status=${unit.exitCode}/FAILURE)`,
    );
  }
  if (unit.pids.length > 0) {
    lines.push(`   Main PID: ${unit.pids[0]} (${program})`);
    lines.push(`      Tasks: ${unit.pids.length} (limit: ${machine.spec.memoryMib})`);
    lines.push(`     Memory: ${(spec.memoryMib ?? 8).toFixed(1)}M`);
    lines.push(`     CGroup: /system.slice/${spec.name}`);
    unit.pids.forEach((pid, index) => {
      const branch = index === unit.pids.length - 1 ? '└─' : '├─';
      lines.push(`             ${branch}${pid} "${spec.processes?.[index] ?? program}"`);
    });
  }
  const journal = journalText(
    machine.journal.lines.filter((line) => line.unit === spec.name).slice(-10),
    machine.name,
  );
  return `${lines.join('\n')}\n${journal === '' ? '' : `\n${journal}`}`;
}

function overview(machine: Machine): string {
  const failed = [...machine.units.values()].filter((unit) => unit.active === 'failed').length;
  return (
    `● ${machine.name}\n    State: ${failed > 0 ? 'degraded' : 'running'}\n    Units: ${machine.units.size} loaded\n` +
    `     Jobs: 0 queued\n   Failed: ${failed} units\n    Since: ${systemdTime(machine.bootedAtMs)}; ${ago(machine.bootedAtMs)}\n`
  );
}

function listUnits(
  machine: Machine,
  parsed: ReturnType<typeof options>,
  patterns: readonly string[],
): string {
  const types = parsed.value('-t', '--type')?.split(',');
  const states = parsed.has('--failed') ? ['failed'] : parsed.value('--state')?.split(',');
  const matches = (name: string) =>
    patterns.length === 0 ||
    patterns.some((pattern) => {
      const source = fullName(pattern)
        .replaceAll(/[.+^${}()|[\]\\]/g, '\\$&')
        .replaceAll('*', '.*');
      return new RegExp(`^${source}$`).test(name);
    });
  const units = [...machine.units.values()].filter(
    (unit) =>
      matches(unit.spec.name) &&
      (types?.includes(unitType(unit.spec.name)) ?? true) &&
      (states?.some((state) => state === unit.active || state === subState(unit)) ??
        (parsed.has('-a', '--all') || unit.active !== 'inactive')),
  );
  const rows = units.map((unit) => [
    unit.active === 'failed' && !parsed.has('--plain') ? '●' : ' ',
    unit.spec.name,
    'loaded',
    unit.active,
    subState(unit),
    unit.spec.description,
  ]);
  if (parsed.has('--no-legend')) return columns(rows);
  const head = [' ', 'UNIT', 'LOAD', 'ACTIVE', 'SUB', 'DESCRIPTION'];
  return `${columns(units.length > 0 ? [head, ...rows] : [])}\n${units.length} loaded units listed.\n`;
}

function listTimers(machine: Machine): string {
  const timers = [...machine.units.values()].filter((unit) => unit.spec.timer);
  const rows = timers.map(({ spec }) => {
    const { lastSecondsAgo = 0, nextInSeconds = 0 } = spec.timer ?? {};
    const now = Date.now();
    return [
      systemdTime(now + nextInSeconds * 1000),
      `${span(nextInSeconds)} left`,
      systemdTime(now - lastSecondsAgo * 1000),
      `${span(lastSecondsAgo)} ago`,
      spec.name,
      spec.name.replace(/\.timer$/, '.service'),
    ];
  });
  return `${columns([['NEXT', 'LEFT', 'LAST', 'PASSED', 'UNIT', 'ACTIVATES'], ...rows])}\n${timers.length} timers listed.\n`;
}

function show(
  unit: Unit | undefined,
  name: string,
  asked: string | undefined,
  valueOnly: boolean,
): string {
  const properties: Record<string, string> = {
    Id: name,
    Description: unit?.spec.description ?? name,
    LoadState: unit ? 'loaded' : 'not-found',
    ActiveState: unit?.active ?? 'inactive',
    SubState: unit ? subState(unit) : 'dead',
    UnitFileState: unit?.enabled ?? '',
    MainPID: String(unit?.pids[0] ?? 0),
    ExecMainStatus: String(unit?.exitCode ?? 0),
    Result: unit?.active === 'failed' ? 'exit-code' : 'success',
    NRestarts: '0',
    ActiveEnterTimestamp: unit?.active === 'active' ? systemdTime(unit.sinceMs) : '',
    MemoryCurrent:
      unit?.active === 'active' ? String((unit.spec.memoryMib ?? 8) * 1024 * 1024) : '[not set]',
  };
  const keys = asked === undefined || asked === '' ? Object.keys(properties) : asked.split(',');
  return keys
    .filter((key) => key in properties)
    .map((key) => `${valueOnly ? '' : `${key}=`}${properties[key]}\n`)
    .join('');
}

function unitFile(unit: Unit): string {
  const { name, description, processes } = unit.spec;
  const [main] = processes ?? [];
  return `# /lib/systemd/system/${name}\n[Unit]\nDescription=${description}\n\n[Service]\nExecStart=${main ?? '/bin/true'}\nRestart=${unit.spec.restarts === true ? 'always' : 'no'}\n\n[Install]\nWantedBy=multi-user.target\n`;
}
