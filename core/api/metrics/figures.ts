import type { Reader } from '../../db/database.ts';
import { isPaused } from '../../policy/pause.ts';

/** A count by a name. */
export interface Count {
  name: string;
  count: number;
}

/** What the database says of the installation, whichever processes it is spread over. */
export interface Figures {
  /** Tasks that have not ended, by status. */
  tasks: Count[];
  /** Passes that wait or run, by state. */
  passes: Count[];
  /** Executions that have not ended, by status. */
  executions: Count[];
  /** Executions that have ended, by how. */
  ended: Count[];
  /** How long the oldest pass has been waiting that may begin, in seconds. */
  oldestPassS: number;
  /** How long the oldest execution has been queued, in seconds. */
  oldestExecutionS: number;
  questions: number;
  outbox: number;
  oldestOutboxS: number;
  outboxFailed: number;
  inbox: number;
  /** Since the bot last heard from its homeserver, in seconds; null before the first time. */
  syncAgeS: number | null;
  events: number;
  paused: boolean;
  passesEnded: Count[];
  modelCalls: number;
  tokensIn: number;
  tokensOut: number;
  cost: number;
}

interface Row extends Omit<
  Figures,
  'paused' | 'tasks' | 'passes' | 'executions' | 'ended' | 'passesEnded'
> {
  tasks: Record<string, number> | null;
  passes: Record<string, number> | null;
  executions: Record<string, number> | null;
  ended: Record<string, number> | null;
  passesEnded: Record<string, number> | null;
}

/**
 * Reads all figures in one statement. What is open has indexes of its own; what has ended is counted by going through the
 * passes and executions, a matter of milliseconds for a hundred thousand of them.
 */
export async function readFigures(db: Reader): Promise<Figures> {
  const rows = await db.$queryRaw<Row[]>`
    SELECT
      (SELECT jsonb_object_agg(status, n) FROM (SELECT status, count(*)::int AS n FROM sessions WHERE ended_at IS NULL GROUP BY 1) t) AS tasks,
      (SELECT jsonb_object_agg(state, n) FROM (SELECT state, count(*)::int AS n FROM passes WHERE state IN ('queued', 'running') GROUP BY 1) t) AS passes,
      (SELECT jsonb_object_agg(status, n) FROM (SELECT status, count(*)::int AS n FROM executions
        WHERE status IN ('requested', 'pending_approval', 'approved', 'queued', 'running') GROUP BY 1) t) AS executions,
      (SELECT jsonb_object_agg(status, n) FROM (SELECT status, count(*)::int AS n FROM executions
        WHERE status NOT IN ('requested', 'pending_approval', 'approved', 'queued', 'running') GROUP BY 1) t) AS ended,
      coalesce((SELECT extract(epoch FROM clock_timestamp() - min(created_at)) FROM passes
        WHERE state = 'queued' AND (not_before IS NULL OR not_before <= clock_timestamp())), 0)::float8 AS "oldestPassS",
      coalesce((SELECT extract(epoch FROM clock_timestamp() - min(queued_at)) FROM executions WHERE status = 'queued'), 0)::float8 AS "oldestExecutionS",
      (SELECT count(*)::int FROM questions WHERE status = 'open') AS questions,
      (SELECT count(*)::int FROM matrix_outbox WHERE state = 'pending') AS outbox,
      coalesce((SELECT extract(epoch FROM clock_timestamp() - min(created_at)) FROM matrix_outbox WHERE state = 'pending'), 0)::float8 AS "oldestOutboxS",
      (SELECT count(*)::int FROM matrix_outbox WHERE state = 'failed') AS "outboxFailed",
      (SELECT count(*)::int FROM matrix_inbox WHERE state = 'pending') AS inbox,
      (SELECT extract(epoch FROM clock_timestamp() - max(updated_at))::float8 FROM matrix_state WHERE key LIKE 'sync:%') AS "syncAgeS",
      coalesce((SELECT max(id) FROM events), 0)::float8 AS events,
      (SELECT jsonb_object_agg(state, n) FROM (SELECT state, count(*)::int AS n FROM passes WHERE state NOT IN ('queued', 'running') GROUP BY 1) t) AS "passesEnded",
      p.calls AS "modelCalls", p.tokens_in AS "tokensIn", p.tokens_out AS "tokensOut", p.cost
    FROM (SELECT coalesce(sum(model_calls), 0)::float8 AS calls, coalesce(sum(tokens_in), 0)::float8 AS tokens_in,
      coalesce(sum(tokens_out), 0)::float8 AS tokens_out, coalesce(sum(cost), 0)::float8 AS cost FROM passes) p`;
  const [row] = rows;
  if (row === undefined) throw new Error('the database gave no figures');
  return {
    ...row,
    paused: await isPaused(db),
    tasks: counts(row.tasks),
    passes: counts(row.passes),
    executions: counts(row.executions),
    ended: counts(row.ended),
    passesEnded: counts(row.passesEnded),
  };
}

function counts(found: Record<string, number> | null): Count[] {
  return Object.entries(found ?? {}).map(([name, count]) => ({ name, count }));
}
