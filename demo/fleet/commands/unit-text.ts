import type { Machine } from '../machine/machine.ts';
import { subState, unitType } from '../machine/unit.ts';
import type { Unit } from '../machine/unit.ts';
import { journalText } from './journalctl.ts';
import { ago, columns, span, systemdTime } from './text.ts';
import type { options } from './text.ts';

/** A unit's name with its type, `.service` unless it says another. */
export function fullName(name: string): string {
  return /\.[a-z]+$/.test(name) ? name : `${name}.service`;
}

function dot(unit: Unit): string {
  return unit.active === 'failed' ? '×' : unit.active === 'active' ? '●' : '○';
}

/** `systemctl status UNIT`. */
export function status(machine: Machine, unit: Unit): string {
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

/** `systemctl status` of the whole machine. */
export function overview(machine: Machine): string {
  const failed = [...machine.units.values()].filter((unit) => unit.active === 'failed').length;
  return (
    `● ${machine.name}\n    State: ${failed > 0 ? 'degraded' : 'running'}\n    Units: ${machine.units.size} loaded\n` +
    `     Jobs: 0 queued\n   Failed: ${failed} units\n    Since: ${systemdTime(machine.bootedAtMs)}; ${ago(machine.bootedAtMs)}\n`
  );
}

/** `systemctl list-units`. */
export function listUnits(
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

/** `systemctl list-timers`. */
export function listTimers(machine: Machine): string {
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

/** `systemctl show UNIT`; a unit that is not there has properties, too. */
export function show(
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

/** `systemctl cat UNIT`. */
export function unitFile(unit: Unit): string {
  const { name, description, processes } = unit.spec;
  const [main] = processes ?? [];
  return `# /lib/systemd/system/${name}\n[Unit]\nDescription=${description}\n\n[Service]\nExecStart=${main ?? '/bin/true'}\nRestart=${unit.spec.restarts === true ? 'always' : 'no'}\n\n[Install]\nWantedBy=multi-user.target\n`;
}
