import type { Unit } from '../db/database.ts';
import { NomosError } from '../errors.ts';
import type { SessionId } from '../ids.ts';
import { completeTask } from './complete.ts';
import { lockSession } from './lock.ts';
import { closePasses } from './passes.ts';
import { requestStop } from './stop.ts';

/**
 * Puts a task away (T11): its room will be left; knowledge, audit and executions stay. One that has not ended is stopped and
 * ended as done in part. Returns `already` for one that is archived.
 *
 * Throws `task_busy` while one of its commands runs.
 */
export async function archiveTask(
  unit: Unit,
  args: { sessionId: SessionId; by: string },
): Promise<'archived' | 'already'> {
  const { sessionId, by } = args;
  const session = await lockSession(unit, sessionId);
  if (session.archivedAt !== null) return 'already';
  const running = await unit.db.execution.count({ where: { sessionId, status: 'running' } });
  if (running > 0) {
    throw new NomosError(
      'task_busy',
      'operator',
      `Task ${session.shortId} cannot be archived while a command of it runs.`,
      { hint: 'Wait for its end, or end it with 🛑 on its card or !cancel.' },
    );
  }
  if (session.endedAt === null) {
    await requestStop(unit, { sessionId, by });
    await completeTask(unit, {
      sessionId,
      outcome: 'partial',
      summary: 'Put away by the operator before it had ended.',
      by,
    });
  }
  await closePasses(unit, sessionId);
  await unit.db.session.update({ where: { id: sessionId }, data: { archivedAt: new Date() } });
  unit.emit({
    type: 'session.changed',
    sessionId,
    refId: sessionId,
    data: { what: 'archived' },
  });
  unit.audit({ actor: by, action: 'task.archived', sessionId, subject: `task:${session.shortId}` });
  return 'archived';
}
