import type { Unit } from '../db/database.ts';
import type { SessionStatus } from '../db/rows.ts';
import { NotFoundError } from '../errors.ts';
import type { SessionId } from '../ids.ts';

/**
 * Works out a live task's status from its rows and stores it when it changed (T6). What waits for a person comes before
 * what runs: the room list must show who has to move. An ended task is left as it is.
 */
export async function refreshStatus(unit: Unit, sessionId: SessionId): Promise<void> {
  const facts = await statusFacts(unit, sessionId);
  if (facts.ended) return;
  const to = liveStatus(facts);
  if (to === facts.status) return;
  await unit.db.$executeRaw`
    UPDATE sessions SET status = ${to}::session_status WHERE id = ${sessionId}::uuid`;
  unit.emit({
    type: 'session.changed',
    sessionId,
    refId: sessionId,
    data: { what: 'status', from: facts.status, to },
  });
}

interface StatusFacts {
  status: SessionStatus;
  ended: boolean;
  asked: boolean;
  waiting: boolean;
  executing: boolean;
  steps: bigint;
  started: bigint;
}

async function statusFacts(unit: Unit, sessionId: SessionId): Promise<StatusFacts> {
  const [facts] = await unit.db.$queryRaw<StatusFacts[]>`
    SELECT s.status, s.ended_at IS NOT NULL AS ended,
      EXISTS (SELECT FROM questions WHERE session_id = s.id AND status = 'open') AS asked,
      EXISTS (SELECT FROM approvals WHERE session_id = s.id AND status = 'pending') AS waiting,
      EXISTS (SELECT FROM executions WHERE session_id = s.id
        AND status IN ('approved', 'queued', 'running') AND risk <> 'read_only') AS executing,
      p.steps, p.started
    FROM sessions s, LATERAL (
      SELECT count(*) FILTER (WHERE status <> 'replaced') AS steps,
        count(*) FILTER (WHERE status NOT IN ('replaced', 'pending')) AS started
      FROM plan_steps WHERE session_id = s.id
    ) p WHERE s.id = ${sessionId}::uuid`;
  if (facts === undefined) throw new NotFoundError('task', sessionId);
  return facts;
}

function liveStatus({ asked, waiting, executing, steps, started }: StatusFacts): SessionStatus {
  if (asked) return 'awaiting_input';
  if (waiting) return 'awaiting_approval';
  if (executing || started > 0n) return 'executing';
  return steps > 0n ? 'planning' : 'active';
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
