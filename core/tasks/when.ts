import { NomosError } from '../errors.ts';
import { instantOf, wallTime, type WallTime } from '../text/zoned.ts';

/** When a scheduled task runs: again and again by a cron line, or once. */
export type When = { kind: 'cron'; cron: string } | { kind: 'once'; at: Date };

/** How the times of `!schedule` are written, for those who wrote them otherwise. */
export const WHEN_WORDS =
  'Write !schedule "0 7 * * *" check the fleet (every day at 7:00), !schedule at YYYY-MM-DD 07:00 …, !schedule at 18:30 … or !schedule in 2h …';

/** The longest way ahead: more is a slip of the pen. */
const MOST_AHEAD_MS = 10 * 366 * 86_400_000;
/** Days or minutes that are counted: more than is allowed, and few enough for any calendar. */
const MOST_COUNT = 10_000_000;

const QUOTED = /^["“”„'‘’]\s*([^"“”„'‘’]+?)\s*["“”„'‘’]\s+(\S[\s\S]*)$/u;
const SPAN_PART =
  /(?:\s+and\s+|\s*,\s*|\s*)(\d+|an?\b)\s*(minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|wks?|w)(?![a-z])/iuy;
const DAY = String.raw`(?:(today|tomorrow)|(\d{4})-(\d{1,2})-(\d{1,2}))`;
const TIME = String.raw`(\d{1,2})(?:[:.](\d{2}))?\s*(am|pm)?(?:\s*h)?`;
const DAY_TIME = new RegExp(
  String.raw`^(?:(?:at|on)\s+)?${DAY}(?:T|,?\s+(?:at\s+)?)${TIME}(?=[\s,:]|$)`,
  'iu',
);
const TIME_ALONE = new RegExp(String.raw`^at\s+${TIME}(?:\s+(today|tomorrow))?(?=[\s,:]|$)`, 'iu');
/**
 * Reads when a task is to run and what it is, from words such as `"0 7 * * *" check the fleet`, `at 2026-12-01 07:00 …`,
 * `tomorrow 7:00 …`, `at 18:30 …` (the next time a clock shows it) or `in 1h30m …`, in the zone's own time. Days in a span keep
 * the time of day, whatever the clocks are put by meanwhile. Throws `schedule_invalid` with what is wrong or how it is written.
 */
export function readWhen(
  text: string,
  { now, timeZone }: { now: Date; timeZone: string },
): { when: When; prompt: string } {
  const [, quoted, behind] = QUOTED.exec(text) ?? [];
  if (quoted !== undefined && behind !== undefined) {
    const once = onceIn(`${quoted} `, now, timeZone);
    return once === undefined
      ? { when: { kind: 'cron', cron: quoted }, prompt: behind }
      : { when: checked(once.at, text, now), prompt: behind };
  }
  const once = onceIn(text, now, timeZone);
  if (once === undefined) throw invalid('I do not understand when, or what.', WHEN_WORDS);
  const prompt = once.rest.replace(/^[\s,:–-]+/u, '');
  if (prompt === '') throw invalid('It does not say what is to be done then.', WHEN_WORDS);
  return { when: checked(once.at, text, now), prompt };
}

/** Refuses an instant that has passed, or lies further ahead than 10 years. */
export function checked(at: Date, given: string, now: Date): When {
  if (at.getTime() <= now.getTime()) {
    throw invalid(`“${given.slice(0, 40)}” names a time that has passed.`, WHEN_WORDS);
  }
  if (at.getTime() - now.getTime() > MOST_AHEAD_MS) {
    throw invalid(`“${given.slice(0, 40)}” is more than 10 years ahead.`, WHEN_WORDS);
  }
  return { kind: 'once', at };
}

function onceIn(text: string, now: Date, timeZone: string): { at: Date; rest: string } | undefined {
  if (/^in\s/iu.test(text)) return afterSpan(text, now, timeZone);
  const day = DAY_TIME.exec(text);
  if (day !== null) {
    const [whole, word, year, month, date, hour, minute, half] = day;
    const wall =
      word === undefined
        ? { year: Number(year), month: Number(month), day: Number(date) }
        : dayFrom(now, timeZone, word.toLowerCase() === 'tomorrow' ? 1 : 0);
    return {
      at: instant(wall, hour, minute, half, timeZone, whole),
      rest: text.slice(whole.length),
    };
  }
  const time = TIME_ALONE.exec(text);
  if (time === null) return undefined;
  const [whole, hour, minute, half, word] = time;
  const rest = text.slice(whole.length);
  const on = (days: number): Date =>
    instant(dayFrom(now, timeZone, days), hour, minute, half, timeZone, whole);
  if (word !== undefined) return { at: on(word.toLowerCase() === 'tomorrow' ? 1 : 0), rest };
  const today = on(0);
  return { at: today.getTime() > now.getTime() ? today : on(1), rest };
}

/** `in 1h30m …`, `in 2 days and an hour …`. */
function afterSpan(
  text: string,
  now: Date,
  timeZone: string,
): { at: Date; rest: string } | undefined {
  let days = 0;
  let minutes = 0;
  let end = 'in'.length;
  for (;;) {
    SPAN_PART.lastIndex = end;
    const part = SPAN_PART.exec(text);
    if (part === null) break;
    const [whole, number = '', unit = ''] = part;
    const count = /^\d/.test(number) ? Number(number) : 1;
    const letter = unit.slice(0, 1).toLowerCase();
    if (letter === 'm') minutes += count;
    else if (letter === 'h') minutes += count * 60;
    else days += letter === 'd' ? count : count * 7;
    [days, minutes] = [Math.min(days, MOST_COUNT), Math.min(minutes, MOST_COUNT)];
    end += whole.length;
  }
  const rest = text.slice(end);
  if (end === 'in'.length || !/^(?:[\s,:]|$)/u.test(rest)) return undefined;
  const wall = { ...wallTime(now, timeZone), ...dayFrom(now, timeZone, days) };
  const start = days === 0 ? now : (instantOf(wall, timeZone) ?? now);
  return { at: new Date(start.getTime() + minutes * 60_000), rest };
}

/** The day so many days after the one that it is in the zone. */
function dayFrom(
  now: Date,
  timeZone: string,
  days: number,
): Pick<WallTime, 'year' | 'month' | 'day'> {
  const today = wallTime(now, timeZone);
  const { year, month, day } = wallTime(
    new Date(Date.UTC(today.year, today.month - 1, today.day + days)),
    'UTC',
  );
  return { year, month, day };
}

function instant(
  day: Pick<WallTime, 'year' | 'month' | 'day'>,
  hour: string | undefined,
  minute: string | undefined,
  half: string | undefined,
  timeZone: string,
  given: string,
): Date {
  const said = Number(hour);
  const folded = half?.toLowerCase();
  const hours = folded === undefined ? said : (said % 12) + (folded === 'pm' ? 12 : 0);
  const at =
    folded !== undefined && (said < 1 || said > 12)
      ? undefined
      : instantOf({ ...day, hour: hours, minute: Number(minute ?? 0) }, timeZone);
  if (at === undefined) {
    throw invalid(`“${given.trim().slice(0, 40)}” is no day and time that there is.`, WHEN_WORDS);
  }
  return at;
}

function invalid(message: string, hint: string): NomosError {
  return new NomosError('schedule_invalid', 'operator', message, { hint });
}
