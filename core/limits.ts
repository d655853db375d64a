/** The durations that the configuration may change, in milliseconds. Defaults are the specification's. */
export interface Limits {
  /** How long an approval waits (A1). */
  approvalTtlMs: number;
  /** How long an approval lets the task go on without asking (A9). */
  grantTtlMs: number;
  /** The same for destructive commands on the one target that was confirmed (A10). */
  destructiveGrantTtlMs: number;
  /** A task without activity for so long is nudged (J4). */
  idleAfterMs: number;
  /** How long `run` waits for the end before it answers "still running" (X2). */
  inlineWaitMs: number;
  /** How long a command may run unless asked otherwise; never more than `MAX_EXECUTION_MS` (X3). */
  executionTimeoutMs: number;
}

const MINUTE = 60_000;

/** The longest that any command may run (X3). */
export const MAX_EXECUTION_MS = 60 * MINUTE;

/** What holds where the configuration says nothing. */
export const DEFAULT_LIMITS: Readonly<Limits> = {
  approvalTtlMs: 60 * MINUTE,
  grantTtlMs: 30 * MINUTE,
  destructiveGrantTtlMs: 15 * MINUTE,
  idleAfterMs: 2 * MINUTE,
  inlineWaitMs: MINUTE,
  executionTimeoutMs: 10 * MINUTE,
};

let current: Readonly<Limits> = DEFAULT_LIMITS;

/** The limits in force in this process. */
export function limits(): Readonly<Limits> {
  return current;
}

/** Sets the limits once, at start. */
export function setLimits(given: Readonly<Limits>): void {
  current = given;
}
