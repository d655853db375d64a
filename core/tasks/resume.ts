import type { Unit } from '../db/database.ts';
import type { SessionId, TurnId } from '../ids.ts';
import { lockSession } from './lock.ts';
import { addNote } from './messages.ts';
import { refreshStatus } from './status.ts';

/** How soon a task can be resumed again (C9). */
const AGAIN_AFTER_MS = 30_000;

/** What asking to go on came to. */
export type Resumption = 'resumed' | 'working' | 'just_resumed' | 'ended' | 'archived';

/**
 * Goes on with a task that was paused, failed to get on, or looks stuck (C7, C9): wakes the agent once, in the turn given or
 * in the one that worked last.
 */
export async function resumeTask(
  unit: Unit,
  args: { sessionId: SessionId; turnId?: TurnId | undefined; by: string },
): Promise<Resumption> {
  const session = await lockSession(unit, args.sessionId);
  if (session.archivedAt !== null) return 'archived';
  if (session.endedAt !== null) return 'ended';
  const rows = await unit.db.$queryRaw<Array<{ working: boolean; fresh: boolean }>>`
    SELECT
      EXISTS (SELECT FROM passes WHERE session_id = ${args.sessionId}::uuid AND stop_requested_at IS NULL AND (state = 'running'
        OR state = 'queued' AND (not_before IS NULL OR not_before <= clock_timestamp()))) AS working,
      EXISTS (SELECT FROM passes WHERE session_id = ${args.sessionId}::uuid AND cause = 'resume'
        AND created_at > clock_timestamp() - ${AGAIN_AFTER_MS} * interval '1 millisecond') AS fresh`;
  if (rows[0]?.working === true) return 'working';
  if (rows[0]?.fresh === true) return 'just_resumed';
  const turnId = args.turnId ?? (await lastTurn(unit, args.sessionId));
  if (turnId === null) return 'ended';
  await unit.db.session.update({
    where: { id: args.sessionId },
    data: { pausedReason: null, failedResumes: 0, nudgedAt: null, lastActivityAt: new Date() },
  });
  await addNote(unit, {
    sessionId: args.sessionId,
    turnId,
    text: 'The operator asks you to go on. Look at what is true now, then take the next step, or say what stands in the way.',
    wake: 'resume',
  });
  unit.emit({
    type: 'session.changed',
    sessionId: args.sessionId,
    refId: args.sessionId,
    data: { what: 'resumed', by: args.by },
  });
  unit.audit({
    actor: args.by,
    action: 'task.resumed',
    sessionId: args.sessionId,
    subject: turnId,
  });
  await refreshStatus(unit, args.sessionId);
  return 'resumed';
}

async function lastTurn(unit: Unit, sessionId: SessionId): Promise<TurnId | null> {
  const pass = await unit.db.pass.findFirst({
    where: { sessionId },
    orderBy: { seq: 'desc' },
    select: { turnId: true },
  });
  return pass === null ? null : (pass.turnId as TurnId);
}
