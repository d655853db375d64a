import { sql, type Reader } from '../../core/db/database.ts';
import { STOP_AFTER_MS } from './draw-execution.ts';
import { STUCK_AFTER_MS } from './load-task.ts';
import type { Touched } from './touched.ts';

/** How long after it began to look stuck a task is looked at again: the tick that comes next finds it. */
const STUCK_WINDOW_MS = 60_000;
/** A card whose edit was given up is drawn again after so long, for so long, and with so many edits given up in a row at most. */
const AGAIN_AFTER_MS = 60_000;
const AGAIN_FOR_MS = 60 * 60_000;
const AGAIN_MOST = 5;

/** What changes on cards merely because time passes: running commands and calls, and tasks that begin to look stuck. */
export async function tickingThings(
  db: Reader,
  now: Date,
  options: { first?: boolean } = {},
): Promise<Touched[]> {
  const ago = (ms: number): Date => new Date(now.getTime() - ms);
  const [executions, calls, stuck, given, unseen] = await Promise.all([
    db.execution.findMany({
      where: { status: 'running', startedAt: { lte: ago(STOP_AFTER_MS) } },
      select: { id: true, sessionId: true },
    }),
    db.toolCall.findMany({
      where: { state: 'running', pass: { state: 'running' } },
      select: { passId: true },
      distinct: ['passId'],
    }),
    db.session.findMany({
      where: {
        status: { in: ['executing', 'awaiting_input'] },
        archivedAt: null,
        lastAgentAt: {
          lte: ago(STUCK_AFTER_MS),
          // Nobody looked while there was no projector.
          ...(options.first === true ? {} : { gte: ago(STUCK_AFTER_MS + STUCK_WINDOW_MS) }),
        },
        passes: { none: { state: { in: ['queued', 'running'] } } },
      },
      select: { id: true },
    }),
    givenUp(db, ago(AGAIN_AFTER_MS), ago(AGAIN_FOR_MS)),
    undrawn(db, ago(AGAIN_AFTER_MS)),
  ]);
  const sessions = new Set([
    ...executions.map(({ sessionId }) => sessionId),
    ...stuck.map(({ id }) => id),
  ]);
  return [
    ...given,
    ...unseen,
    ...executions.map(({ id }): Touched => ({ kind: 'execution', executionId: id })),
    ...calls.map(({ passId }): Touched => ({ kind: 'progress', passId })),
    ...[...sessions]
      .filter((id) => id !== null)
      .map((sessionId): Touched => ({ kind: 'task', sessionId })),
  ];
}

/**
 * Cards that stand in their rooms in an older form, since the edit with the newest was given up. It may have been their last: without
 * another reason to draw them they would say for good that something runs or waits.
 */
async function givenUp(db: Reader, until: Date, since: Date): Promise<Touched[]> {
  const cards = await db.$queryRaw<Array<{ kind: string; ref: string; first: string | null }>>(sql`
    SELECT c.kind, c.ref_id AS ref, (SELECT e.id::text FROM executions e
        WHERE c.kind = 'batch' AND e.batch_id::text = c.ref_id LIMIT 1) AS first
    FROM matrix_cards c
    WHERE c.content_hash = '' AND c.event_id IS NOT NULL AND c.updated_at BETWEEN ${since} AND ${until}
      AND (SELECT count(*) FROM matrix_outbox o WHERE o.card_key = c.card_key AND o.kind = 'edit'
        AND o.state = 'failed' AND o.id > coalesce((SELECT max(s.id) FROM matrix_outbox s
          WHERE s.card_key = c.card_key AND s.state = 'sent'), 0)) < ${AGAIN_MOST}
    LIMIT 100`);
  return cards.flatMap(({ kind, ref, first }): Touched[] => {
    switch (kind) {
      case 'execution':
        return [{ kind, executionId: ref }];
      case 'batch':
        return first === null ? [] : [{ kind: 'execution', executionId: first }];
      case 'plan':
        return [{ kind: 'approval', approvalId: ref }];
      case 'question':
        return [{ kind, questionId: ref }];
      case 'progress':
      case 'answer':
        return [{ kind, passId: ref }];
      case 'signal':
        return [{ kind, signalId: ref }];
      case 'runbook':
        return [{ kind, runbookId: ref }];
      case 'task':
      case 'lobby':
        return [{ kind: 'task', sessionId: ref }];
      default:
        return [];
    }
  });
}

/** What waits for a person and has no card, though it was asked for a while ago: its event could not be drawn (R12). */
async function undrawn(db: Reader, until: Date): Promise<Touched[]> {
  const [approvals, questions] = await Promise.all([
    db.$queryRaw<Array<{ id: string }>>(sql`
      SELECT a.id FROM approvals a JOIN sessions s ON s.id = a.session_id
      WHERE a.status = 'pending' AND a.created_at < ${until} AND s.archived_at IS NULL
        AND NOT EXISTS (SELECT FROM matrix_cards c WHERE c.card_key = 'approval:' || a.id OR c.card_key IN (
          SELECT CASE WHEN e.batch_id IS NULL THEN 'execution:' || e.id ELSE 'batch:' || e.batch_id END
          FROM executions e WHERE e.approval_id = a.id)) LIMIT 50`),
    db.$queryRaw<Array<{ id: string }>>(sql`
      SELECT q.id FROM questions q JOIN sessions s ON s.id = q.session_id
      WHERE q.status = 'open' AND q.created_at < ${until} AND s.archived_at IS NULL
        AND NOT EXISTS (SELECT FROM matrix_cards c WHERE c.card_key = 'question:' || q.id) LIMIT 50`),
  ]);
  return [
    ...approvals.map(({ id }): Touched => ({ kind: 'approval', approvalId: id, asked: true })),
    ...questions.map(({ id }): Touched => ({ kind: 'question', questionId: id })),
  ];
}
