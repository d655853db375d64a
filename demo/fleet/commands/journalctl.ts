import type { CommandIo, CommandTable, Said } from '../machine/command.ts';
import { fail } from '../machine/command.ts';
import type { JournalLine } from '../machine/journal.ts';
import { options, stamp } from './text.ts';

const VALUE_OPTIONS = [
  '-u',
  '--unit',
  '-n',
  '--lines',
  '-S',
  '--since',
  '-U',
  '--until',
  '-o',
  '--output',
  '-p',
  '--priority',
  '-g',
  '--grep',
  '-t',
  '--identifier',
  '--vacuum-size',
  '--vacuum-time',
];
const PRIORITIES = ['emerg', 'alert', 'crit', 'err', 'warning', 'notice', 'info', 'debug'];

/** journalctl. */
export const journalctlCommands: CommandTable = { journalctl };

/** Lines of a journal as `journalctl -o short` and `systemctl status` show them. */
export function journalText(lines: readonly JournalLine[], host: string): string {
  return lines
    .map((line) => `${stamp(line.atMs)} ${host} ${source(line)}: ${line.text}\n`)
    .join('');
}

async function journalctl(args: readonly string[], io: CommandIo): Promise<Said> {
  const { machine } = io;
  const parsed = options(
    args.map((word) => (/^-\d+$/.test(word) ? `-n${word.slice(1)}` : word)),
    VALUE_OPTIONS,
  );
  if (parsed.has('--disk-usage'))
    return 'Archived and active journals take up 184.0M in the file system.\n';
  if (parsed.has('--vacuum-size', '--vacuum-time'))
    return 'Vacuuming done, freed 0B of archived journals.\n';
  if (parsed.has('--list-boots'))
    return ` 0 ${machine.bootId.replaceAll('-', '')} ${new Date(machine.bootedAtMs).toISOString()}\n`;
  const since = readTime(parsed.value('-S', '--since'), Number.NEGATIVE_INFINITY);
  const until = readTime(parsed.value('-U', '--until'), Number.POSITIVE_INFINITY);
  if (since === undefined)
    return fail(1, `Failed to parse timestamp: ${parsed.value('-S', '--since')}`);
  if (until === undefined)
    return fail(1, `Failed to parse timestamp: ${parsed.value('-U', '--until')}`);
  const unit = parsed.value('-u', '--unit');
  const unitName = unit === undefined ? undefined : (machine.unit(unit)?.spec.name ?? unit);
  const level = priority(parsed.value('-p', '--priority'));
  const pattern = parsed.value('-g', '--grep')?.toLowerCase();
  const ident = parsed.value('-t', '--identifier');
  const wanted = (line: JournalLine): boolean =>
    line.atMs >= since &&
    line.atMs <= until &&
    line.priority <= level &&
    (unitName === undefined || line.unit === unitName) &&
    (ident === undefined || line.ident === ident) &&
    (!parsed.has('-k', '--dmesg') || line.ident === 'kernel') &&
    (!parsed.has('-b', '--boot') || line.atMs >= machine.bootedAtMs) &&
    (pattern === undefined || line.text.toLowerCase().includes(pattern));

  const follows = parsed.has('-f', '--follow');
  const asked =
    parsed.value('-n', '--lines') ??
    (parsed.has('-e', '--pager-end') ? '1000' : follows ? '10' : 'all');
  let lines = machine.journal.lines.filter(wanted);
  if (asked !== 'all') lines = lines.slice(-Math.max(0, Number(asked) || 0) || lines.length);
  if (parsed.has('-r', '--reverse')) lines = lines.toReversed();
  const format = parsed.value('-o', '--output') ?? 'short';
  const text = (line: JournalLine): string => lineText(line, machine.name, format);
  if (lines.length === 0 && !follows) return '-- No entries --\n';
  if (!follows) return lines.map(text).join('');

  io.show(lines.map(text).join(''));
  const stop = machine.journal.follow((line) => wanted(line) && io.show(text(line)));
  while (!io.signal.aborted) await io.pause(60_000);
  stop();
  return '';
}

function lineText(line: JournalLine, host: string, format: string): string {
  if (format === 'cat') return `${line.text}\n`;
  if (format.startsWith('json')) {
    return `${JSON.stringify({ __REALTIME_TIMESTAMP: String(line.atMs * 1000), _HOSTNAME: host, _SYSTEMD_UNIT: line.unit, SYSLOG_IDENTIFIER: line.ident, _PID: String(line.pid), PRIORITY: String(line.priority), MESSAGE: line.text })}\n`;
  }
  if (format.startsWith('short-iso')) {
    return `${new Date(line.atMs).toISOString().slice(0, 19)}+00:00 ${host} ${source(line)}: ${line.text}\n`;
  }
  return journalText([line], host);
}

function source(line: JournalLine): string {
  return line.ident === 'kernel' ? 'kernel' : `${line.ident}[${line.pid}]`;
}

function priority(given: string | undefined): number {
  if (given === undefined) return 7;
  const last = given.split('..').pop() ?? '';
  const index = PRIORITIES.findIndex((name) => name.startsWith(last));
  return /^\d$/.test(last) ? Number(last) : index < 0 ? 7 : index;
}

/** The times people give to `--since`; undefined for what cannot be read, the default for nothing. */
function readTime(given: string | undefined, otherwise: number): number | undefined {
  if (given === undefined || given === '') return otherwise;
  const text = given.trim().toLowerCase();
  const midnight = Math.floor(Date.now() / 86_400_000) * 86_400_000;
  if (text === 'now') return Date.now();
  if (text === 'today') return midnight;
  if (text === 'yesterday') return midnight - 86_400_000;
  const relative = /^-?\s*(\d+)\s*(s|sec|second|m|min|minute|h|hour|d|day|w|week)s?(\s+ago)?$/.exec(
    text,
  );
  if (relative) {
    const unit = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 }[relative[2]?.[0] ?? 's'] ?? 1;
    return Date.now() - Number(relative[1]) * unit * 1000;
  }
  const clock = /^(\d{1,2}):(\d{2})(?::(\d{2}))?$/.exec(text);
  if (clock)
    return (
      midnight + (Number(clock[1]) * 3600 + Number(clock[2]) * 60 + Number(clock[3] ?? 0)) * 1000
    );
  const parsed = Date.parse(/\d{2}:\d{2}/.test(text) ? `${text.replace(' ', 'T')}Z` : text);
  return Number.isNaN(parsed) ? undefined : parsed;
}
