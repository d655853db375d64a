const UNITS_MS = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
} as const;

type Unit = keyof typeof UNITS_MS;

const SHOWN: readonly Unit[] = ['d', 'h', 'm', 's'];
const SHAPE = /^\d+(?:ms|[smhd])(?: ?\d+(?:ms|[smhd]))*$/;

/** A duration that could not be read. The message says what was given and what is allowed. */
export class DurationError extends Error {
  readonly code = 'invalid_duration';
  readonly given: string;

  constructor(given: string, reason: string) {
    super(
      `"${given.slice(0, 40)}" is not a duration: ${reason}; allowed are whole numbers with ms, s, m, h or d, largest first, for example 90s, 60m or 1h30m`,
    );
    this.name = 'DurationError';
    this.given = given;
  }
}

/**
 * Reads a duration such as `60m`, `90s`, `1h30m` or `500ms` into milliseconds. Every number needs a
 * unit, and each unit stands once, largest first. Throws {@link DurationError}.
 */
export function parseDuration(text: string): number {
  const trimmed = text.trim();
  if (trimmed === '') throw new DurationError(text, 'it is empty');
  if (/^[\d.]+$/.test(trimmed)) throw new DurationError(text, 'the unit is missing');
  if (!SHAPE.test(trimmed)) throw new DurationError(text, 'it has another form');

  let totalMs = 0;
  let lastUnitMs = Infinity;
  for (const [, digits, unit] of trimmed.matchAll(/(\d+)(ms|[smhd])/g)) {
    const unitMs = UNITS_MS[unit as Unit];
    if (unitMs >= lastUnitMs) throw new DurationError(text, 'the units are not in order');
    lastUnitMs = unitMs;
    totalMs += Number(digits) * unitMs;
  }
  if (!Number.isSafeInteger(totalMs)) throw new DurationError(text, 'it is too long');
  return totalMs;
}

/**
 * A duration for people, its two largest units: `850 ms`, `12 s`, `1 m 12 s`, `2 h 5 m`, `3 d`.
 * It is cut, not rounded; a negative one, as a clock that was set back yields, shows as `0 ms`.
 * Throws a RangeError if `ms` is not finite.
 */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms)) throw new RangeError(`a duration must be finite, not ${ms}`);
  const whole = Math.max(0, Math.floor(ms));
  if (whole < UNITS_MS.s) return `${whole} ms`;

  const first = SHOWN.findIndex((unit) => whole >= UNITS_MS[unit]);
  const [large, small] = [SHOWN[first] ?? 's', SHOWN[first + 1]];
  const rest = whole % UNITS_MS[large];
  const parts = [`${Math.floor(whole / UNITS_MS[large])} ${large}`];
  if (small !== undefined) {
    const count = Math.floor(rest / UNITS_MS[small]);
    if (count > 0) parts.push(`${count} ${small}`);
  }
  return parts.join(' ');
}
