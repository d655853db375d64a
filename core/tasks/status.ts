import type { Unit } from '../db/database.ts';
import type { SessionStatus } from '../db/rows.ts';
import type { SessionId } from '../ids.ts';

/**
 * Works out a live task's status from its rows and stores it when it changed (T6). What waits for a person comes before
 * what runs: the room list must show who has to move. An ended task is left as it is.
 */
export async function refreshStatus(unit: Unit, sessionId: SessionId): Promise<void> {
  const session = await unit.db.session.findUniqueOrThrow({
    where: { id: sessionId },
    select: { status: true, endedAt: true },
  });
  if (session.endedAt !== null) return;
  const status = await liveStatus(unit, sessionId);
  if (status === session.status) return;
  await unit.db.session.update({ where: { id: sessionId }, data: { status } });
  unit.emit({
    type: 'session.changed',
    sessionId,
    refId: sessionId,
    data: { what: 'status', from: session.status, to: status },
  });
}

async function liveStatus(unit: Unit, sessionId: SessionId): Promise<SessionStatus> {
  const rows = await unit.db.$queryRaw<
    Array<{ asked: boolean; waiting: boolean; executing: boolean; steps: bigint; started: bigint }>
  >`
    SELECT
      EXISTS (SELECT FROM questions WHERE session_id = ${sessionId}::uuid AND status = 'open') AS asked,
      EXISTS (SELECT FROM approvals WHERE session_id = ${sessionId}::uuid AND status = 'pending') AS waiting,
      EXISTS (SELECT FROM executions WHERE session_id = ${sessionId}::uuid
        AND status IN ('approved', 'queued', 'running') AND risk <> 'read_only') AS executing,
      count(*) FILTER (WHERE status <> 'replaced') AS steps,
      count(*) FILTER (WHERE status NOT IN ('replaced', 'pending')) AS started
    FROM plan_steps WHERE session_id = ${sessionId}::uuid`;
  const facts = rows[0];
  if (facts === undefined) return 'active';
  if (facts.asked) return 'awaiting_input';
  if (facts.waiting) return 'awaiting_approval';
  if (facts.executing || facts.started > 0n) return 'executing';
  return facts.steps > 0n ? 'planning' : 'active';
}

/** Names the task (T8). The goal is kept as given, without control over the room beyond its name. */
export async function setGoal(unit: Unit, sessionId: SessionId, goal: string): Promise<void> {
  await unit.db.session.update({ where: { id: sessionId }, data: { goal, title: goal } });
  unit.emit({ type: 'session.changed', sessionId, refId: sessionId, data: { what: 'goal' } });
}

/** Gives a task without a goal its title, once (T8). */
export async function setTitle(unit: Unit, sessionId: SessionId, title: string): Promise<void> {
  const { count } = await unit.db.session.updateMany({
    where: { id: sessionId, title: null },
    data: { title },
  });
  if (count > 0) {
    unit.emit({ type: 'session.changed', sessionId, refId: sessionId, data: { what: 'title' } });
  }
}
