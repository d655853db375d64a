import type { Unit } from '../db/database.ts';
import type { SessionId, TurnId } from '../ids.ts';
import { databaseNow, lockSession } from './lock.ts';
import { STOPPED_BY } from './reopen.ts';

/**
 * Asks the running pass of a task (or only of one turn) to end at its next step, and drops those that were not begun (T5). What was
 * done stays done, and commands that run already go on until they are cancelled themselves. The task then waits for the
 * operator, so that no sweep sets it going again (J4).
 */
export async function requestStop(
  unit: Unit,
  args: { sessionId: SessionId; turnId?: TurnId | undefined; by: string },
): Promise<{ stopped: number }> {
  await lockSession(unit, args.sessionId);
  const passes = await unit.db.pass.findMany({
    where: {
      sessionId: args.sessionId,
      ...(args.turnId === undefined ? {} : { turnId: args.turnId }),
      state: { in: ['queued', 'running'] },
      stopRequestedAt: null,
    },
    select: { id: true, state: true, attempt: true },
  });
  const now = await databaseNow(unit);
  for (const pass of passes) {
    // One that waits to be taken up has calls whose ends are to be told: its next worker ends it.
    const queued = pass.state === 'queued' && pass.attempt === 0;
    await unit.db.pass.update({
      where: { id: pass.id },
      data: {
        stopRequestedAt: now,
        stopRequestedBy: args.by,
        ...(queued ? { state: 'cancelled' as const, endedAt: new Date() } : {}),
      },
    });
    unit.emit({
      type: queued ? 'pass.ended' : 'pass.stop_requested',
      sessionId: args.sessionId,
      refId: pass.id,
      data: queued ? { state: 'cancelled' } : {},
    });
  }
  if (passes.length > 0) {
    unit.audit({
      actor: args.by,
      action: 'pass.stop',
      sessionId: args.sessionId,
      data: { passes: passes.length },
    });
    await waitForOperator(unit, args.sessionId, args.by);
  }
  return { stopped: passes.length };
}

/** Unless another turn of the task is at work. */
async function waitForOperator(unit: Unit, sessionId: SessionId, by: string): Promise<void> {
  const others = await unit.db.pass.count({
    where: { sessionId, state: { in: ['queued', 'running'] }, stopRequestedAt: null },
  });
  if (others > 0) return;
  const { count } = await unit.db.session.updateMany({
    where: { id: sessionId, endedAt: null },
    data: { pausedReason: `${STOPPED_BY}${by}` },
  });
  if (count > 0) {
    unit.emit({ type: 'session.changed', sessionId, refId: sessionId, data: { what: 'paused' } });
  }
}
