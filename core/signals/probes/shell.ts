import { safeText } from '../../text/safe.ts';
import type { CheckParameters } from '../check-kinds.ts';
import { failed, round, tooHigh, unknown, type Observation } from './observation.ts';

/** What a command of a check said. */
export interface Said {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A check that asks a machine's shell: the command, all read_only, and what its output says. */
export interface ShellProbe {
  readonly command: string;
  judge(said: Said): Observation;
}

/** Mount points whose series are kept one by one; the fullest of all is always kept. */
const MOUNTS_KEPT = 20;
/** File systems that are no place to put anything, or are always full. */
const NOT_REAL =
  /^(tmpfs|devtmpfs|udev|none|overlay|squashfs|efivarfs|shm|run|dev|sysfs|proc|cgroup\w*)$/;
const NOT_REAL_MOUNT = /^\/(dev|proc|run|sys|snap|boot\/efi|var\/lib\/docker)(\/|$)/;

/** Longer lines of `df` are none: a path goes into the name of a series. */
const LONGEST_LINE = 1_000;
/** So much of a line is given on: it is cut for good once secrets in it are masked, which must be seen whole for that (X9). */
const LONGEST_GIVEN = 4_000;

/** What a command printed, as text that can be stored, whatever its bytes. */
export function saidText(bytes: Uint8Array): string {
  return safeText(bytes);
}

/** The probe of a kind; undefined for those that ask over the network, and for a unit without a name. */
export function shellProbe(parameters: CheckParameters): ShellProbe | undefined {
  switch (parameters.kind) {
    case 'reachable':
      return parameters.via === 'ssh' ? { command: 'true', judge: reachable } : undefined;
    case 'disk':
      return { command: 'df -P -k', judge: (said) => disk(said, parameters) };
    case 'load':
      return { command: 'cat /proc/loadavg; nproc', judge: (said) => load(said, parameters) };
    case 'memory':
      return { command: 'cat /proc/meminfo', judge: (said) => memory(said, parameters) };
    case 'unit':
      return parameters.unit === undefined
        ? undefined
        : { command: `systemctl is-active ${parameters.unit}`, judge: unit };
    case 'command':
      return { command: parameters.command, judge: (said) => command(said, parameters) };
    case 'http':
    case 'certificate':
      return undefined;
  }
}

function reachable({ exitCode, stderr }: Said): Observation {
  return exitCode === 0
    ? { status: 'ok', value: null, detail: 'answers', metrics: [] }
    : failed(`its shell does not work: ${lastLine(stderr) || `exit code ${exitCode}`}`);
}

interface Mount {
  readonly path: string;
  readonly percent: number;
  readonly freeKib: number;
}

function disk(said: Said, limits: CheckParameters & { kind: 'disk' }): Observation {
  // df ends with 1 when one of many could not be read, and tells of the others all the same.
  const all = said.stdout.split('\n').slice(1).flatMap(mountOf);
  const { paths } = limits;
  const missing = (paths ?? []).filter((path) => !all.some((mount) => mount.path === path));
  if (missing.length > 0) return failed(`not mounted: ${missing.join(', ')}`);
  const mounts =
    paths === undefined
      ? all.filter(({ path }) => !NOT_REAL_MOUNT.test(path))
      : all.filter(({ path }) => paths.includes(path));
  const fullest = mounts.toSorted((a, b) => b.percent - a.percent)[0];
  if (fullest === undefined)
    return unknown(`df shows no file system: ${lastLine(said.stderr) || 'nothing was said'}`);
  return {
    status: tooHigh(fullest.percent, limits),
    value: fullest.percent,
    detail: `${fullest.path} ${fullest.percent} % full, ${size(fullest.freeKib)} free`,
    metrics: [
      { name: 'disk.percent', value: fullest.percent },
      ...(mounts.length > 1 ? mounts.slice(0, MOUNTS_KEPT) : []).map(({ path, percent }) => ({
        name: `disk.percent:${path}`,
        value: percent,
      })),
    ],
  };
}

/** One line of `df`. Read from its percent sign on, column by column: a machine may print what a pattern for all of it never ends on. */
function mountOf(line: string): Mount[] {
  const place = line.length > LONGEST_LINE ? null : /\s\d+%\s+(\/.*)$/.exec(line);
  if (place === null) return [];
  const [, path = ''] = place;
  const columns = line.slice(0, place.index).trimEnd().split(/\s+/);
  const [total, used, available] = columns.splice(-3);
  const source = columns.join(' ');
  if (source === '' || NOT_REAL.test(source)) return [];
  if (![total, used, available].every((figure) => /^\d+$/.test(figure ?? ''))) return [];
  const usedKib = Number(used);
  const freeKib = Number(available);
  if (usedKib + freeKib === 0) return [];
  // As df counts: what only root may use is no room.
  return [{ path, freeKib, percent: round((100 * usedKib) / (usedKib + freeKib)) }];
}

function load(said: Said, limits: CheckParameters & { kind: 'load' }): Observation {
  const [averages = '', processors = ''] = said.stdout.trim().split('\n');
  const five = Number(averages.split(' ')[1]);
  const count = Number(processors);
  if (!Number.isFinite(five) || averages === '' || !(count >= 1))
    return unknown(`no load was told: ${lastLine(said.stderr) || 'nothing was said'}`);
  const each = Math.round((100 * five) / count) / 100;
  return {
    status: tooHigh(each, limits),
    value: each,
    detail: `load ${five} over 5 minutes on ${count} processors`,
    metrics: [{ name: 'load.per_processor', value: each }],
  };
}

function memory(said: Said, limits: CheckParameters & { kind: 'memory' }): Observation {
  const kib = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(said.stdout)?.[1] ?? Number.NaN);
  const total = kib('MemTotal');
  const available = kib('MemAvailable');
  if (!(total > 0) || !(available >= 0))
    return unknown(`no memory was told: ${lastLine(said.stderr) || 'nothing was said'}`);
  const percent = round(100 * (1 - available / total));
  return {
    status: tooHigh(percent, limits),
    value: percent,
    detail: `${percent} % of ${size(total)} in use, ${size(available)} available`,
    metrics: [{ name: 'memory.percent', value: percent }],
  };
}

/** The words of `systemctl is-active` for a unit that is on its way up. */
const STARTING = new Set(['activating', 'reloading', 'refreshing']);
const UNIT_STATES = new Set([
  'active',
  'inactive',
  'failed',
  'deactivating',
  'maintenance',
  'unknown',
]);

function unit({ stdout, stderr }: Said): Observation {
  const state = (stdout.trim().split('\n')[0] ?? '').slice(0, LONGEST_GIVEN);
  if (STARTING.has(state))
    return {
      status: 'warn',
      value: 0,
      detail: state,
      metrics: [{ name: 'unit.active', value: 0 }],
    };
  if (!UNIT_STATES.has(state))
    return unknown(`systemctl told no state: ${lastLine(stderr) || state || 'nothing was said'}`);
  const value = state === 'active' ? 1 : 0;
  return {
    status: value === 1 ? 'ok' : 'fail',
    value,
    detail: state === 'unknown' ? 'there is no such unit' : state,
    metrics: [{ name: 'unit.active', value }],
  };
}

function command(said: Said, limits: CheckParameters & { kind: 'command' }): Observation {
  const { exitCode, stdout, stderr } = said;
  const line = lastLine(stdout) || lastLine(stderr);
  if (exitCode !== 0) return failed(`exit code ${exitCode}${line === '' ? '' : `: ${line}`}`);
  if (limits.warn === undefined && limits.fail === undefined)
    return { status: 'ok', value: null, detail: line || 'exit code 0', metrics: [] };
  const first = (stdout.trim().split('\n')[0]?.trim() ?? '').slice(0, LONGEST_GIVEN);
  const value = Number(first);
  if (first === '' || !Number.isFinite(value))
    return unknown(`its first line is no number: ${first || 'nothing was said'}`);
  return {
    status: tooHigh(value, limits),
    value,
    detail: String(value),
    metrics: [{ name: 'value', value }],
  };
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1)?.trim().slice(0, LONGEST_GIVEN) ?? '';
}

function size(kib: number): string {
  const [value, unitName] = kib >= 1024 * 1024 ? [kib / 1024 / 1024, 'GiB'] : [kib / 1024, 'MiB'];
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${unitName}`;
}
