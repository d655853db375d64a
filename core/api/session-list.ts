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
      ${text === undefined ? noSql : sql`AND (s.title ILIKE ${text} OR s.summary ILIKE ${text} OR s.short_id ILIKE ${text})`}
      ${cursor === undefined ? noSql : sql`AND (s.last_activity_at, s.id) < (${cursor.at}::timestamptz, ${cursor.id}::uuid)`}
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
  return Buffer.from(`${last.lastActivityAt.toISOString()} ${last.id}`).toString('base64url');
}

function readCursor(given: string): { at: string; id: string } {
  const [at, id] = Buffer.from(given, 'base64url').toString('utf8').split(' ');
  if (at === undefined || id === undefined || Number.isNaN(Date.parse(at)) || !isRowId(id)) {
    throw new ApiError('request_invalid', 'before: is not the "next" of an earlier page');
  }
  return { at, id };
}
