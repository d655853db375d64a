import { z } from 'zod';
import { noSql, sql, type Reader } from '../db/database.ts';
import { isPaused } from '../policy/pause.ts';
import { healthSql, readNow } from '../signals/health.ts';
import { defineTool } from './tool.ts';

const MOST = 50;

interface StateCount {
  type: string;
  state: string;
  health: string;
  count: number;
}

/** What the fleet and Nomos are doing now, in figures and in what runs and waits. */
export const getStateSnapshotTool = defineTool({
  name: 'get_state_snapshot',
  description:
    'What is so right now, in one call: entities by type, state and health, commands that run or are about to, approvals and questions that wait, open tasks, grants, open signals, and whether the kill switch is on. For details take list_entities, list_pending_approvals or get_signal_history.',
  kind: 'read',
  input: z.strictObject({
    type: z.string().min(1).optional().describe('Counts the entities of one type alone.'),
  }),
  async handler({ db }, { type }) {
    const now = await readNow(db);
    const [entities, running, approvals, questions, tasks, grants, signals, paused] =
      await Promise.all([
        countEntities(db, type),
        db.execution.findMany({
          where: { status: { in: ['running', 'queued', 'approved'] } },
          orderBy: { createdAt: 'asc' },
          take: MOST,
          select: { shortId: true, targetSlug: true, purpose: true, status: true, startedAt: true },
        }),
        db.approval.count({ where: { status: 'pending' } }),
        db.question.count({ where: { status: 'open' } }),
        db.session.findMany({
          where: { endedAt: null, archivedAt: null },
          orderBy: { lastActivityAt: 'desc' },
          take: MOST,
          select: { shortId: true, title: true, goal: true, status: true },
        }),
        db.grant.count({ where: { closedAt: null, expiresAt: { gt: now } } }),
        db.signal.count({ where: { state: { not: 'resolved' } } }),
        isPaused(db),
      ]);
    return {
      ok: true,
      value: {
        at: now.toISOString(),
        kill_switch: paused,
        entities,
        commands: running.map(({ startedAt, targetSlug, shortId, ...rest }) => ({
          execution: shortId,
          target: targetSlug,
          ...rest,
          started: startedAt?.toISOString() ?? null,
        })),
        open_tasks: tasks.map(({ shortId, title, goal, status }) => ({
          task: shortId,
          title: goal ?? title,
          status,
        })),
        approvals_waiting: approvals,
        questions_open: questions,
        grants_open: grants,
        signals_open: signals,
      },
    };
  },
});

async function countEntities(db: Reader, type: string | undefined): Promise<StateCount[]> {
  return db.$queryRaw<StateCount[]>(sql`
    SELECT e.type, e.state, ${healthSql} AS health, count(*)::int AS count
    FROM entities e LEFT JOIN entity_status s ON s.entity_id = e.id
    WHERE e.gone_from_file_at IS NULL AND e.source <> 'task'
      ${type === undefined ? noSql : sql`AND e.type = ${type}`}
    GROUP BY 1, 2, 3 ORDER BY 1, 2, 3 LIMIT 200`);
}
