/** A day and a time of day, as a clock on the wall shows them. */
export interface WallTime {
  year: number;
  /** From 1. */
  month: number;
  day: number;
  hour: number;
  minute: number;
}

const DAY_MS = 86_400_000;

/** What a clock on the wall of a zone (IANA name) shows at an instant. */
export function wallTime(at: Date, timeZone: string): WallTime {
  const parts = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    calendar: 'gregory',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  }).formatToParts(at);
  const value = (type: string): number =>
    Number(parts.find((part) => part.type === type)?.value ?? Number.NaN);
  return {
    year: value('year'),
    month: value('month'),
    day: value('day'),
    hour: value('hour'),
    minute: value('minute'),
  };
}

/**
 * The instant at which a clock on the wall of a zone shows a time. Where it shows it twice, because it was put back, the
 * first one; where it never does, because it was put forward, as much later as it was put. Undefined for a day that no
 * calendar has.
 */
export function instantOf(wall: WallTime, timeZone: string): Date | undefined {
  const asUtc = Date.UTC(wall.year, wall.month - 1, wall.day, wall.hour, wall.minute);
  if (!isSame(wallTime(new Date(asUtc), 'UTC'), wall)) return undefined;
  const offset = (at: number): number => {
    const shown = wallTime(new Date(at), timeZone);
    return Date.UTC(shown.year, shown.month - 1, shown.day, shown.hour, shown.minute) - at;
  };
  // A zone changes its offset at most once in two days.
  const before = asUtc - offset(asUtc - DAY_MS);
  const after = asUtc - offset(asUtc + DAY_MS);
  const real = [before, after]
    .toSorted((a, b) => a - b)
    .find((at) => isSame(wallTime(new Date(at), timeZone), wall));
  return new Date(real ?? before);
}

function isSame(a: WallTime, b: WallTime): boolean {
  return (
    a.year === b.year &&
    a.month === b.month &&
    a.day === b.day &&
    a.hour === b.hour &&
    a.minute === b.minute
  );
}
