/** What a look came to. `unknown`: it could not be seen, which is neither well nor bad. */
export type CheckStatus = 'ok' | 'warn' | 'fail' | 'unknown';

/** One look of a check. */
export interface Observation {
  readonly status: CheckStatus;
  /** The figure that was judged; null where there is none. */
  readonly value: number | null;
  /** What was seen, in a line: it may hold text from outside. */
  readonly detail: string;
  /** Figures to keep, by the series' names. */
  readonly metrics: ReadonlyArray<{ readonly name: string; readonly value: number }>;
}

/** Nothing could be seen, and why. */
export function unknown(detail: string): Observation {
  return { status: 'unknown', value: null, detail, metrics: [] };
}

/** It is not as it should be, and there is no figure to tell. */
export function failed(detail: string): Observation {
  return { status: 'fail', value: null, detail, metrics: [] };
}

/** A figure held against its limits: from `warn` and `fail` on it is too high. */
export function tooHigh(
  value: number,
  limits: { warn?: number | undefined; fail?: number | undefined },
): 'ok' | 'warn' | 'fail' {
  if (limits.fail !== undefined && value >= limits.fail) return 'fail';
  return limits.warn !== undefined && value >= limits.warn ? 'warn' : 'ok';
}

/** A figure as it is shown: with one digit behind the point, or none. */
export function round(value: number): number {
  return Math.round(value * 10) / 10;
}
