import type { Database } from '../../../core/db/database.ts';
import type { Audited } from './audit.ts';

/** What becomes of work when time runs out: a grant's while its command runs (J3), a task's that does nothing (J4). */
export async function auditSweeps({
  database,
  clockMoved,
}: Pick<Audited, 'database' | 'clockMoved'>): Promise<string[]> {
  // Both compare times, of before and after the clock was moved.
  if (clockMoved) return [];
  return [
    ...(await grantsThatRanOut(database)),
    ...(await closedForIdleness(database)),
    ...(await nudgedAgain(database)),
  ];
}

/** J3: the grant behind a command ran out before its end: then it was opened again for it, or the room was told. */
async function grantsThatRanOut(database: Database): Promise<string[]> {
  const rows = await database.read.$queryRaw<Array<{ short_id: string }>>`
    SELECT DISTINCT e.short_id FROM executions e
    JOIN sessions s ON s.id = e.session_id AND (s.ended_at IS NULL OR s.ended_at > e.ended_at)
    JOIN grants g ON g.session_id = e.session_id AND g.kind = 'task' AND (g.id = e.grant_id OR g.approval_id = e.approval_id)
      AND g.expires_at >= e.started_at AND g.expires_at < e.ended_at AND (g.closed_at IS NULL OR g.closed_reason = 'ended')
    JOIN approvals a ON a.id = g.approval_id AND a.status = 'approved'
    WHERE e.risk <> 'read_only' AND e.continuation = 'woken'
      AND NOT EXISTS (SELECT FROM grants o WHERE o.session_id = e.session_id AND o.kind = 'task' AND o.id <> g.id
        AND o.created_at <= e.ended_at + interval '2 seconds' AND o.expires_at > e.ended_at)
      AND NOT EXISTS (SELECT FROM audit_log l WHERE l.action = 'grant.reopened' AND l.data->>'execution' = e.id::text)
      AND NOT EXISTS (SELECT FROM events v WHERE v.session_id = e.session_id AND v.type = 'error.raised'
        AND v.data->>'code' = 'grant_ran_out' AND v.at >= e.started_at)`;
  return rows.map(
    ({ short_id }) =>
      `J3: the grant behind ${short_id} ran out while it ran; it was not opened again, and nobody was told`,
  );
}

/** J4: a task that was closed because nothing happened was nudged before, and ended as partial. */
async function closedForIdleness(database: Database): Promise<string[]> {
  const rows = await database.read.$queryRaw<
    Array<{ short_id: string; outcome: string; nudged: boolean }>
  >`
    SELECT s.short_id, s.outcome::text AS outcome, EXISTS (SELECT FROM audit_log n WHERE n.session_id = s.id
      AND n.action = 'task.nudged') AS nudged
    FROM sessions s WHERE s.summary LIKE 'Closed without reaching its goal: nothing happened%'`;
  return rows
    .filter(({ outcome, nudged }) => outcome !== 'partial' || !nudged)
    .map(
      ({ short_id, outcome, nudged }) =>
        `J4: ${short_id} was closed because nothing happened, ${nudged ? 'nudged before' : 'without a nudge'}, as ${outcome}`,
    );
}

/** J4: one nudge, until something was changed, planned or said. */
async function nudgedAgain(database: Database): Promise<string[]> {
  const rows = await database.read.$queryRaw<Array<{ short_id: string; times: bigint }>>`
    WITH nudges AS (
      SELECT session_id, created_at, lag(created_at) OVER w AS last_at
      FROM messages WHERE role = 'note' AND text LIKE 'Nothing has happened in this task for%'
      WINDOW w AS (PARTITION BY session_id ORDER BY created_at))
    SELECT s.short_id, count(*) AS times FROM nudges n JOIN sessions s ON s.id = n.session_id
    WHERE n.last_at IS NOT NULL
      AND NOT EXISTS (SELECT FROM messages m WHERE m.session_id = n.session_id AND m.role = 'operator'
        AND m.created_at BETWEEN n.last_at AND n.created_at)
      AND NOT EXISTS (SELECT FROM executions e WHERE e.session_id = n.session_id AND e.risk <> 'read_only'
        AND e.created_at BETWEEN n.last_at AND n.created_at)
      AND NOT EXISTS (SELECT FROM plan_steps p WHERE p.session_id = n.session_id
        AND p.updated_at BETWEEN n.last_at AND n.created_at)
      AND NOT EXISTS (SELECT FROM questions q WHERE q.session_id = n.session_id
        AND q.answered_at BETWEEN n.last_at AND n.created_at)
    GROUP BY s.short_id`;
  return rows.map(
    ({ short_id, times }) =>
      `J4: ${short_id} was nudged ${times} more times though nothing had come of the nudge before`,
  );
}
