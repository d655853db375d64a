import { z } from 'zod';
import type { Unit } from '../db/database.ts';
import { SessionOutcome, SessionStatus, type Session } from '../db/rows.ts';
import type { SessionId } from '../ids.ts';

const taskBefore = z.strictObject({
  endedAt: z.iso.datetime().nullable(),
  status: z.enum(SessionStatus),
  outcome: z.enum(SessionOutcome).nullable(),
  summary: z.string().nullable(),
  pausedReason: z.string().nullable(),
  failedResumes: z.int(),
});
/** How the reason begins why a task is paused that an operator stopped. */
export const STOPPED_BY = 'stopped by ';

/** Whether an operator has stopped the task, and nobody has set it going since. */
export function isStoppedTask({ pausedReason }: Pick<Session, 'pausedReason'>): boolean {
  return pausedReason?.startsWith(STOPPED_BY) === true;
}

/** What a finished or paused task was before a word set it going. */
export type TaskBefore = z.infer<typeof taskBefore>;

/**
 * An operator's word sets a task going: a finished one opens again (T11), a paused one goes on (J5), and its idle time begins anew.
 * Returns what it was before, if it was finished or paused. The caller holds the task's lock, has seen that it is not archived, and
 * refreshes its status.
 */
export async function setGoing(
  unit: Unit,
  session: Session,
  by: { byClock?: true | undefined } = {},
): Promise<TaskBefore | undefined> {
  const ended = session.endedAt !== null;
  // What runs by the clock is a turn of its own: it ends no stop (T5).
  if (by.byClock === true && !ended && isStoppedTask(session)) {
    await unit.db.session.update({
      where: { id: session.id },
      data: { lastActivityAt: new Date() },
    });
    return undefined;
  }
  await unit.db.session.update({
    where: { id: session.id },
    data: {
      lastActivityAt: new Date(),
      pausedReason: null,
      failedResumes: 0,
      nudgedAt: null,
      ...(ended ? { endedAt: null, outcome: null, summary: null, status: 'active' as const } : {}),
    },
  });
  if (ended) tellStatus(unit, session, 'active');
  if (!ended && session.pausedReason === null) return undefined;
  const { status, outcome, summary, pausedReason, failedResumes } = session;
  const endedAt = session.endedAt?.toISOString() ?? null;
  return { endedAt, status, outcome, summary, pausedReason, failedResumes };
}

/** Undoes `setGoing`, for a word that was taken back before anybody had read it (T13). The caller holds the task's lock. */
export async function setBack(unit: Unit, session: Session, stored: unknown): Promise<void> {
  const { endedAt, status, outcome, summary, ...rest } = taskBefore.parse(stored);
  const ended = endedAt === null ? {} : { endedAt: new Date(endedAt), status, outcome, summary };
  await unit.db.session.update({ where: { id: session.id }, data: { ...rest, ...ended } });
  if (endedAt !== null) tellStatus(unit, session, status);
  else {
    const sessionId = session.id as SessionId;
    unit.emit({ type: 'session.changed', sessionId, refId: sessionId, data: { what: 'paused' } });
  }
}

/** Whether what `setGoing` gave says that the task had ended. */
export function hadEnded(stored: unknown): boolean {
  return taskBefore.parse(stored).endedAt !== null;
}

function tellStatus(unit: Unit, { id, status: from }: Session, to: TaskBefore['status']): void {
  unit.emit({
    type: 'session.changed',
    sessionId: id,
    refId: id,
    data: { what: 'status', from, to },
  });
}
