import { z } from 'zod';
import type { Reader } from '../db/database.ts';
import type { ExecutionStatus, Session, SessionOutcome, SessionStatus } from '../db/rows.ts';
import { NotFoundError } from '../errors.ts';
import { asId, type SessionId } from '../ids.ts';
import { NOT_WRITTEN_BACK, wroteBack } from './written-back.ts';

const noteTitle = z.looseObject({ title: z.string() });

/** What a task came to, worked out from its rows (C6): for the card and the API alike. */
export interface Digest {
  shortId: string;
  title: string | null;
  status: SessionStatus;
  outcome: SessionOutcome | null;
  summary: string | null;
  /** Executions by status; statuses without any are left out. */
  byStatus: Array<{ status: ExecutionStatus; count: number }>;
  /** Executions by what allowed them, and those that were denied. */
  allowed: { byClass: number; byGrant: number; byApproval: number; denied: number };
  /** Slugs of the entities that commands or tools were about. */
  entities: string[];
  /** Titles of the knowledge that the task wrote. */
  knowledge: string[];
  durationMs: number;
  passes: number;
  toolCalls: number;
  tokensIn: number;
  tokensOut: number;
  cost: number;
  /** What is to be remarked about how the task was done (K4). */
  notes: string[];
}

/** Works out a task's digest. Throws `not_found`. */
export async function taskDigest(db: Reader, sessionId: SessionId): Promise<Digest> {
  const session = await db.session.findUnique({ where: { id: sessionId } });
  if (session === null) throw new NotFoundError('task', sessionId);
  const [statuses, permissions, targets, calls, knowledge, passes, toolCalls] = await Promise.all([
    db.execution.groupBy({
      by: ['status'],
      where: { sessionId },
      _count: true,
      orderBy: { status: 'asc' },
    }),
    db.execution.groupBy({
      by: ['allowedBy'],
      where: { sessionId },
      _count: true,
      orderBy: { allowedBy: 'asc' },
    }),
    db.execution.findMany({
      where: { sessionId },
      distinct: ['targetSlug'],
      select: { targetSlug: true },
    }),
    db.toolCall.findMany({
      where: { sessionId, entitySlug: { not: null }, success: true },
      distinct: ['entitySlug'],
      select: { entitySlug: true },
    }),
    writtenDown(db, sessionId),
    db.pass.aggregate({
      where: { sessionId },
      _count: true,
      _sum: { tokensIn: true, tokensOut: true, cost: true },
    }),
    db.toolCall.count({ where: { sessionId } }),
  ]);
  const allowed = (by: 'class' | 'grant' | 'approval'): number =>
    permissions.find((row) => row.allowedBy === by)?._count ?? 0;
  const entities = new Set([
    ...targets.map((row) => row.targetSlug),
    ...calls.flatMap((row) => (row.entitySlug === null ? [] : [row.entitySlug])),
  ]);
  return {
    shortId: session.shortId,
    title: session.title,
    status: session.status,
    outcome: session.outcome,
    summary: session.summary,
    byStatus: statuses.map((row) => ({ status: row.status, count: row._count })),
    allowed: {
      byClass: allowed('class'),
      byGrant: allowed('grant'),
      byApproval: allowed('approval'),
      denied: statuses.find((row) => row.status === 'denied')?._count ?? 0,
    },
    entities: [...entities].toSorted(),
    knowledge,
    durationMs: (session.endedAt ?? new Date()).getTime() - session.createdAt.getTime(),
    passes: passes._count,
    toolCalls,
    tokensIn: passes._sum.tokensIn ?? 0,
    tokensOut: passes._sum.tokensOut ?? 0,
    cost: passes._sum.cost ?? 0,
    notes: await remarks(db, session),
  };
}

// Also what another task has written anew since: it was this one's work all the same.
async function writtenDown(db: Reader, sessionId: SessionId): Promise<string[]> {
  const [notes, calls] = await Promise.all([
    db.knowledge.findMany({
      where: { sessionId },
      select: { title: true },
      orderBy: { createdAt: 'asc' },
    }),
    db.toolCall.findMany({
      where: { sessionId, name: 'upsert_knowledge', state: 'done' },
      select: { result: true },
      orderBy: { seq: 'asc' },
    }),
  ]);
  const titles = calls.flatMap(({ result }) => {
    const read = noteTitle.safeParse(JSON.parse(result ?? 'null'));
    return read.success ? [read.data.title] : [];
  });
  return [...new Set([...titles, ...notes.map((note) => note.title)])];
}

// Only a task that the agent ended by complete_task was to write back: a question that was answered was not.
async function remarks(db: Reader, session: Session): Promise<string[]> {
  if (session.endedAt === null) return [];
  const sessionId = asId<SessionId>(session.id);
  const completed = await db.toolCall.count({
    where: { sessionId, name: 'complete_task', state: 'done' },
  });
  return completed > 0 && !(await wroteBack(db, sessionId)) ? [NOT_WRITTEN_BACK] : [];
}
