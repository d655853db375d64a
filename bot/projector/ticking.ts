import type { Reader } from '../../core/db/database.ts';
import { STOP_AFTER_MS } from './draw-execution.ts';
import { STUCK_AFTER_MS } from './load-task.ts';
import type { Touched } from './touched.ts';

/** How long after it began to look stuck a task is looked at again: the tick that comes next finds it. */
const STUCK_WINDOW_MS = 60_000;

/** What changes on cards merely because time passes: running commands and calls, and tasks that begin to look stuck. */
export async function tickingThings(db: Reader, now: Date): Promise<Touched[]> {
  const ago = (ms: number): Date => new Date(now.getTime() - ms);
  const [executions, calls, stuck] = await Promise.all([
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
        lastAgentAt: { lte: ago(STUCK_AFTER_MS), gte: ago(STUCK_AFTER_MS + STUCK_WINDOW_MS) },
        passes: { none: { state: { in: ['queued', 'running'] } } },
      },
      select: { id: true },
    }),
  ]);
  const sessions = new Set([
    ...executions.map(({ sessionId }) => sessionId),
    ...stuck.map(({ id }) => id),
  ]);
  return [
    ...executions.map(({ id }): Touched => ({ kind: 'execution', executionId: id })),
    ...calls.map(({ passId }): Touched => ({ kind: 'progress', passId })),
    ...[...sessions]
      .filter((id) => id !== null)
      .map((sessionId): Touched => ({ kind: 'task', sessionId })),
  ];
}
