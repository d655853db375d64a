import { DEFAULT_LIMITS, MAX_EXECUTION_MS, type Limits } from '../limits.ts';
import { parseDuration } from '../text/duration.ts';
import type { Problems, Settings } from './settings.ts';

const DURATIONS = {
  approvalTtlMs: 'NOMOS_APPROVAL_TTL',
  grantTtlMs: 'NOMOS_GRANT_TTL',
  destructiveGrantTtlMs: 'NOMOS_DESTRUCTIVE_GRANT_TTL',
  idleAfterMs: 'NOMOS_IDLE_AFTER',
  inlineWaitMs: 'NOMOS_INLINE_WAIT',
  executionTimeoutMs: 'NOMOS_EXEC_TIMEOUT',
} as const satisfies Record<keyof Limits, string>;

/** The durations that may be set, in milliseconds, over their defaults. */
export function limits(settings: Settings, problems: Problems): Limits {
  const result = { ...DEFAULT_LIMITS };
  for (const [field, name] of Object.entries(DURATIONS) as Array<
    [keyof Limits, (typeof DURATIONS)[keyof Limits]]
  >) {
    const given = settings[name];
    if (given === undefined) continue;
    try {
      result[field] = parseDuration(given);
    } catch (error) {
      problems.add(name, error instanceof Error ? error.message : 'is no duration', given);
      continue;
    }
    if (result[field] <= 0) problems.add(name, 'must be longer than nothing', given);
  }
  if (result.executionTimeoutMs > MAX_EXECUTION_MS) {
    problems.add(
      'NOMOS_EXEC_TIMEOUT',
      'is longer than any command may run',
      settings.NOMOS_EXEC_TIMEOUT,
    );
  }
  return result;
}
