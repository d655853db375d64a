/** Lays out rows in columns; columns named in `right` are aligned to the right. */
export function columns(
  rows: readonly (readonly string[])[],
  right: readonly number[] = [],
  gap = ' ',
): string {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, index) => (widths[index] = Math.max(widths[index] ?? 0, cell.length)));
  }
  return rows
    .map((row) =>
      row
        .map((cell, index) => {
          const width = widths[index] ?? 0;
          return right.includes(index) ? cell.padStart(width) : cell.padEnd(width);
        })
        .join(gap)
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('');
}

/** Bytes as coreutils' `-h` says them: one decimal below ten, rounded up, powers of 1024. */
export function human(bytes: number): string {
  if (bytes < 1024) return String(Math.round(bytes));
  let value = bytes;
  for (const unit of ['K', 'M', 'G', 'T', 'P']) {
    value /= 1024;
    if (value < 1024 || unit === 'P') {
      return value < 9.95
        ? `${(Math.ceil(value * 10) / 10).toFixed(1)}${unit}`
        : `${Math.ceil(value)}${unit}`;
    }
  }
  return String(bytes);
}

/** A time as journals and logs show it, in UTC: `Nov 29 04:12:07`. */
export function stamp(atMs: number): string {
  const date = new Date(atMs);
  const month = MONTHS[date.getUTCMonth()] ?? '';
  return `${month} ${String(date.getUTCDate()).padStart(2, '0')} ${clock(date)}`;
}

/** A time as systemd shows it, in UTC: `Sun 2026-11-29 04:12:07 UTC`. */
export function systemdTime(atMs: number): string {
  const date = new Date(atMs);
  const day = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'][date.getUTCDay()] ?? '';
  return `${day} ${date.toISOString().slice(0, 10)} ${clock(date)} UTC`;
}

/** How long ago as systemd says it: `3h 5min ago`, `2 days ago`. */
export function ago(atMs: number): string {
  const seconds = Math.max(0, Math.floor((Date.now() - atMs) / 1000));
  return `${span(seconds)} ago`;
}

/** A span of seconds in systemd's words. */
export function span(seconds: number): string {
  const weeks = Math.floor(seconds / 604_800);
  const days = Math.floor((seconds % 604_800) / 86_400);
  const hours = Math.floor((seconds % 86_400) / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  const named = (count: number, word: string) => `${count} ${word}${count === 1 ? '' : 's'}`;
  if (weeks > 0)
    return days > 0 ? `${named(weeks, 'week')} ${named(days, 'day')}` : named(weeks, 'week');
  if (days > 0) return named(days, 'day');
  if (hours > 0) return minutes > 0 ? `${hours}h ${minutes}min` : `${hours}h`;
  if (minutes > 0) return `${minutes}min ${seconds % 60}s`;
  return `${seconds}s`;
}

/** Splits words into options and the rest; a short bundle such as `-ht` counts as `-h` and `-t`. */
export function options(
  args: readonly string[],
  withValue: readonly string[] = [],
): {
  has: (...names: string[]) => boolean;
  value: (...names: string[]) => string | undefined;
  rest: string[];
} {
  const found = new Map<string, string>();
  const rest: string[] = [];
  for (let index = 0; index < args.length; index += 1) {
    const word = args[index] ?? '';
    if (word === '--') {
      rest.push(...args.slice(index + 1));
      break;
    }
    if (word.startsWith('--')) {
      const equals = word.indexOf('=');
      const name = equals < 0 ? word : word.slice(0, equals);
      if (equals >= 0) found.set(name, word.slice(equals + 1));
      else if (withValue.includes(name)) found.set(name, args[(index += 1)] ?? '');
      else found.set(name, '');
    } else if (/^-[^-]/.test(word)) {
      for (let at = 1; at < word.length; at += 1) {
        const name = `-${word[at]}`;
        if (!withValue.includes(name)) {
          found.set(name, '');
          continue;
        }
        const attached = word.slice(at + 1);
        found.set(name, attached === '' ? (args[(index += 1)] ?? '') : attached);
        break;
      }
    } else {
      rest.push(word);
    }
  }
  return {
    has: (...names) => names.some((name) => found.has(name)),
    value: (...names) => names.map((name) => found.get(name)).find((value) => value !== undefined),
    rest,
  };
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

function clock(date: Date): string {
  return date.toISOString().slice(11, 19);
}
