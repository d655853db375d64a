import type { Unit } from '../db/database.ts';
import { NomosError } from '../errors.ts';
import type { SessionId } from '../ids.ts';
import { lockSession } from './lock.ts';

/**
 * Deletes a task for good (T11): its transcript with what came along, its plan and questions, and its own entity with that
 * entity's edges. Knowledge, executions, approvals and the audit log stay. What the bot keeps of its room goes when the room
 * is left.
 *
 * Throws `not_found`, and `task_not_archived` for one that was not put away first.
 */
export async function deleteTask(
  unit: Unit,
  args: { sessionId: SessionId; by: string },
): Promise<void> {
  const { sessionId, by } = args;
  const session = await lockSession(unit, sessionId);
  if (session.archivedAt === null) {
    throw new NomosError(
      'task_not_archived',
      'operator',
      `Task ${session.shortId} is not archived, and only what was put away can be deleted.`,
      { hint: 'Archive it first: !archive in its room.' },
    );
  }
  // The rest of its rows goes with it, or lets go of it, by the schema.
  await unit.db.session.delete({ where: { id: sessionId } });
  if (session.entityId !== null) await unit.db.entity.delete({ where: { id: session.entityId } });
  unit.emit({
    type: 'session.changed',
    sessionId,
    refId: sessionId,
    data: { what: 'deleted' },
  });
  unit.audit({ actor: by, action: 'task.deleted', sessionId, subject: `task:${session.shortId}` });
}
