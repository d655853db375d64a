import type { Unit } from '../db/database.ts';
import type { Session } from '../db/rows.ts';

/**
 * An operator's word sets a task going: a finished one opens again (T11), a paused one goes on (J5), and its idle time begins anew.
 * The caller holds the task's lock, has seen that it is not archived, and refreshes its status.
 */
export async function setGoing(unit: Unit, session: Session): Promise<void> {
  const ended = session.endedAt !== null;
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
  if (!ended) return;
  unit.emit({
    type: 'session.changed',
    sessionId: session.id,
    refId: session.id,
    data: { what: 'status', from: session.status, to: 'active' },
  });
}
