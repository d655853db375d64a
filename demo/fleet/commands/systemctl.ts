import { fail } from '../machine/command.ts';
import type { CommandIo, CommandTable, Said } from '../machine/command.ts';
import type { Unit } from '../machine/unit.ts';
import { columns, options } from './text.ts';
import { fullName, listTimers, listUnits, overview, show, status, unitFile } from './unit-text.ts';

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
