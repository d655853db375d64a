import type { Reader } from '../db/database.ts';
import type { SessionOutcome, SessionStatus } from '../db/rows.ts';
import { NotFoundError } from '../errors.ts';
import type { SessionId } from '../ids.ts';

/** A result that is larger costs its tokens again in every request that follows, and is not read more closely for it. */
const OVERSIZED_CHARACTERS = 8_000;
/** The same call so often in one task could have been one call. */
const FAN_OUT = 4;

/** How a task went, worked out from its rows (K12): for `!review` and the API alike. */
export interface Review {
  shortId: string;
  objective: string | null;
  status: SessionStatus;
  outcome: SessionOutcome | null;
  /** Calls by tool, most first. */
  calls: Array<{ tool: string; count: number; failed: number; meanMs: number | null }>;
  /** Tools that were called with the same arguments, or `run` with one command on many targets, again and again. */
  fanOut: Array<{ tool: string; what: string; count: number }>;
  /** Why it could not go on, by code. */
  blockers: Array<{ code: string; count: number }>;
  /** Successful calls whose result held nothing. */
  emptyResults: number;
  /** Results of more than 8,000 characters. */
  oversizedResults: Array<{ tool: string; characters: number }>;
  /** What to do better, in sentences; empty when nothing stood out. */
  advice: string[];
}

/** Reviews a task. Throws `not_found`. */
export async function reviewTask(db: Reader, sessionId: SessionId): Promise<Review> {
  const session = await db.session.findUnique({ where: { id: sessionId } });
  if (session === null) throw new NotFoundError('task', sessionId);
  const [calls, fanOut, blockers, oversized, empty] = await Promise.all([
    db.$queryRaw<Review['calls']>`
      SELECT name AS tool, count(*)::int AS count,
        count(*) FILTER (WHERE success = false)::int AS failed, avg(duration_ms)::float8 AS "meanMs"
      FROM tool_calls WHERE session_id = ${sessionId}::uuid GROUP BY name ORDER BY 2 DESC, 1`,
    db.$queryRaw<Review['fanOut']>`
      SELECT name AS tool, left(coalesce(arguments->>'command', arguments::text), 120) AS what, count(*)::int AS count
      FROM tool_calls WHERE session_id = ${sessionId}::uuid
      GROUP BY 1, 2 HAVING count(*) >= ${FAN_OUT}::int ORDER BY 3 DESC LIMIT 5`,
    db.$queryRaw<Review['blockers']>`
      SELECT data->>'code' AS code, count(*)::int AS count FROM events
      WHERE session_id = ${sessionId}::uuid AND type = 'error.raised' AND data->>'code' IS NOT NULL
      GROUP BY 1 ORDER BY 2 DESC`,
    db.$queryRaw<Review['oversizedResults']>`
      SELECT name AS tool, length(result)::int AS characters FROM tool_calls
      WHERE session_id = ${sessionId}::uuid AND length(result) > ${OVERSIZED_CHARACTERS}::int
      ORDER BY 2 DESC LIMIT 5`,
    db.toolCall.count({
      where: { sessionId, success: true, result: { in: ['', '[]', '{}', 'null'] } },
    }),
  ]);
  const found = { calls, fanOut, blockers, oversizedResults: oversized, emptyResults: empty };
  return {
    shortId: session.shortId,
    objective: session.goal ?? session.title,
    status: session.status,
    outcome: session.outcome,
    ...found,
    advice: [...advise(found)],
  };
}

function* advise(
  review: Pick<Review, 'calls' | 'fanOut' | 'blockers' | 'oversizedResults' | 'emptyResults'>,
): Generator<string> {
  for (const { tool, what, count } of review.fanOut) {
    yield tool === 'run'
      ? `“${what}” was run ${count} times: one run with a list of targets, or a longer wait, does it.`
      : `${tool} was called ${count} times with the same arguments.`;
  }
  for (const { tool, count, failed } of review.calls) {
    if (failed * 2 > count && failed > 1) yield `${tool} failed ${failed} times out of ${count}.`;
  }
  for (const { code, count } of review.blockers) {
    yield `It was held up by ${code}${count > 1 ? ` ${count} times` : ''}.`;
  }
  if (review.emptyResults > 0) {
    yield `${review.emptyResults} ${review.emptyResults === 1 ? 'call' : 'calls'} found nothing: facts may be missing in the inventory.`;
  }
  const [largest] = review.oversizedResults;
  if (largest !== undefined) {
    yield `${largest.tool} gave back ${largest.characters.toLocaleString('en')} characters: a narrower command costs less.`;
  }
}
