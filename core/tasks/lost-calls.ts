import type { Database } from '../db/database.ts';

/** Longer than any call of a client of the API takes: it answers within a minute, whatever runs. */
const LOST_AFTER_MS = 10 * 60_000;

/** What is told of a call in whose middle its process ended, and that is not made again (L6). */
export const CALL_LOST = {
  error: {
    code: 'outcome_unknown',
    message:
      'The process ended in the middle of this call. Whether it took effect is not known: look before you repeat it.',
  },
} as const;

/**
 * Closes the calls of clients of the API (H6) whose process died in the middle of them: no pass is taken up that would tell their end
 * (J6). Returns how many.
 */
export async function closeLostCalls(database: Database): Promise<number> {
  return database.read.$executeRaw`
    UPDATE tool_calls c SET state = 'unknown', success = false, ended_at = clock_timestamp(), result = ${JSON.stringify(CALL_LOST)}
    FROM passes p
    WHERE p.id = c.pass_id AND p.cause = 'mcp' AND c.state = 'running'
      AND c.created_at < clock_timestamp() - ${LOST_AFTER_MS} * interval '1 millisecond'`;
}
