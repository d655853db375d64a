import { noSql, sql, type Reader } from '../db/database.ts';
import type { SessionOutcome, SessionStatus } from '../db/rows.ts';
import { isRowId } from '../ids.ts';
import { ApiError } from './problem.ts';

/** A task as the list shows it. */
export interface SessionListing {
  id: string;
  shortId: string;
  goal: string | null;
  title: string | null;
  status: SessionStatus;
  outcome: SessionOutcome | null;
  summary: string | null;
  createdBy: string;
  createdAt: Date;
  lastActivityAt: Date;
  endedAt: Date | null;
  pendingApprovals: number;
}

/** A page of tasks, the most recently active first. `next` is the `before` of the following page, null at the end. */
export interface SessionPage {
  sessions: SessionListing[];
  next: string | null;
}

/** The last moment of a JavaScript date, which PostgreSQL still knows. */
const LAST_MS = 8.64e15;

/** Lists tasks, each with its count of waiting approvals, in one query over an index (H1, B9). */
export async function listSessions(
  db: Reader,
  query: {
    status?: SessionStatus | undefined;
    text?: string | undefined;
    limit: number;
    before?: string | undefined;
  },
): Promise<SessionPage> {
  const cursor = query.before === undefined ? undefined : readCursor(query.before);
  const text =
    query.text === undefined ? undefined : `%${query.text.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
  const rows = await db.$queryRaw<SessionListing[]>(sql`
    SELECT s.id, s.short_id AS "shortId", s.goal, s.title, s.status, s.outcome, s.summary,
      s.created_by AS "createdBy", s.created_at AS "createdAt", s.last_activity_at AS "lastActivityAt",
      s.ended_at AS "endedAt",
      (SELECT count(*)::int FROM approvals a WHERE a.session_id = s.id AND a.status = 'pending') AS "pendingApprovals"
    FROM sessions s
    WHERE true
      ${query.status === undefined ? noSql : sql`AND s.status = ${query.status}::session_status`}
      ${text === undefined ? noSql : sql`AND (s.goal ILIKE ${text} OR s.title ILIKE ${text} OR s.summary ILIKE ${text} OR s.short_id ILIKE ${text})`}
      ${cursor === undefined ? noSql : sql`AND (s.last_activity_at, s.id) < (to_timestamp(${cursor.atMs}::float8 / 1000)::timestamptz(3), ${cursor.id}::uuid)`}
    ORDER BY s.last_activity_at DESC, s.id DESC
    LIMIT ${query.limit + 1}`);
  const sessions = rows.slice(0, query.limit);
  const last = sessions.at(-1);
  return {
    sessions,
    next: rows.length > query.limit && last !== undefined ? writeCursor(last) : null,
  };
}

function writeCursor(last: SessionListing): string {
  return `${last.lastActivityAt.getTime()}_${last.id}`;
}

/** The moment is kept in milliseconds, as the column is, so that the comparison is exact. */
function readCursor(given: string): { atMs: number; id: string } {
  const [, atMs, id] = /^(\d{1,16})_(.+)$/.exec(given) ?? [];
  if (atMs === undefined || id === undefined || Number(atMs) > LAST_MS || !isRowId(id)) {
    throw new ApiError('request_invalid', 'before: is not the "next" of an earlier page');
  }
  return { atMs: Number(atMs), id };
}
