import { sql, type Database, type Reader, type Sql } from '../db/database.ts';
import { eachAlone } from '../db/each-alone.ts';
import type { Session } from '../db/rows.ts';
import type { SessionId, TurnId } from '../ids.ts';
import { limits } from '../limits.ts';
import { formatDuration } from '../text/duration.ts';
import { cutLabel, quoted } from '../text/label.ts';
import { endIfAnswered } from './answered.ts';
import { completeTask } from './complete.ts';
import { lockSession } from './lock.ts';
import { addNote } from './messages.ts';
import { refreshStatus } from './status.ts';

/** What a sweep did. */
export interface IdleSweep {
  nudged: number;
  closed: number;
}

/**
 * Looks for tasks with a goal in which nothing happens any more although nobody is waited for (J4). The first time the agent is
 * nudged; a task that is idle again without having got on is closed as partial, with a summary that says so. A paused task
 * waits for a person and is left alone (J5). One without a goal that had its answer is ended, whatever kept it open (T9). With `close: false` only nudges are given: at a start, when messages of
 * the time before may not have been read yet.
 */
export async function sweepIdle(
  database: Database,
  options: { close: boolean },
): Promise<IdleSweep> {
  const swept: IdleSweep = { nudged: 0, closed: await endLeftByClients(database) };
  const idle = await idleTasks(database.read, sql`TRUE`);
  await eachAlone(database, 'idle task', idle, async ({ id }) =>
    database.write(async (unit) => {
      const session = await lockSession(unit, id);
      // Something may have happened before the lock.
      const [still] = await idleTasks(unit.db, sql`s.id = ${id}::uuid`);
      if (still === undefined) return false;
      if (session.goal === null) {
        if (!options.close) return false;
        const ended = await endIfAnswered(unit, id);
        if (ended) swept.closed++;
        return ended;
      }
      if (still.nudged && !options.close) return false;
      if (still.nudged) {
        await completeTask(unit, {
          sessionId: id,
          outcome: 'partial',
          summary: await closingWords(unit.db, session),
          by: 'system',
        });
        swept.closed++;
        return true;
      }
      const last = await lastPass(unit.db, id);
      if (last === null) return false;
      const turnId = last.turnId as TurnId;
      await unit.db.session.update({ where: { id }, data: { nudgedAt: new Date() } });
      unit.audit({ actor: 'system', action: 'task.nudged', sessionId: id, subject: turnId });
      const text = nudge(session);
      await addNote(unit, { sessionId: id, turnId, text, wake: 'nudge', of: last.id });
      await refreshStatus(unit, id);
      swept.nudged++;
      return true;
    }),
  );
  return swept;
}

/** A client of the API that comes back later than this begins a task of its own (H6). */
export const CLIENT_IDLE_MS = 60 * 60_000;

/** Ends the tasks of clients that made no call for so long, and may never make one again. */
async function endLeftByClients(database: Database): Promise<number> {
  const left = (db: Reader, which: Sql): Promise<Array<{ id: SessionId; name: string | null }>> =>
    db.$queryRaw(sql`
      SELECT s.id, (SELECT t.name FROM api_tokens t WHERE t.id::text = s.origin->>'token') AS name FROM sessions s
      WHERE ${which} AND s.origin->>'kind' = 'mcp' AND s.ended_at IS NULL AND s.archived_at IS NULL
        AND s.last_activity_at < clock_timestamp() - ${CLIENT_IDLE_MS} * interval '1 millisecond'
        AND NOT EXISTS (SELECT FROM passes p WHERE p.session_id = s.id AND p.state IN ('queued', 'running'))
        AND NOT EXISTS (SELECT FROM executions e WHERE e.session_id = s.id
          AND e.status IN ('requested', 'pending_approval', 'approved', 'queued', 'running'))
      LIMIT 100`);
  return eachAlone(database, 'left task', await left(database.read, sql`TRUE`), async ({ id }) =>
    database.write(async (unit) => {
      await lockSession(unit, id);
      const [still] = await left(unit.db, sql`s.id = ${id}::uuid`);
      if (still === undefined) return false;
      const { ended } = await completeTask(unit, {
        sessionId: id,
        outcome: 'partial',
        summary: `The client${still.name === null ? '' : ` “${still.name}”`} made no call for an hour.`,
        by: 'system',
      });
      return ended;
    }),
  );
}

/** Idle tasks; `nudged` when they were nudged and nothing was changed, planned or asked since. */
async function idleTasks(
  db: Reader,
  which: Sql,
): Promise<Array<{ id: SessionId; nudged: boolean }>> {
  return db.$queryRaw<Array<{ id: SessionId; nudged: boolean }>>`
    SELECT s.id, s.nudged_at IS NOT NULL
      AND NOT EXISTS (SELECT FROM executions e WHERE e.session_id = s.id AND e.risk <> 'read_only' AND e.created_at > s.nudged_at)
      AND NOT EXISTS (SELECT FROM plan_steps p WHERE p.session_id = s.id AND p.updated_at > s.nudged_at) AS nudged
    FROM sessions s
    WHERE ${which} AND s.ended_at IS NULL AND s.archived_at IS NULL AND s.paused_reason IS NULL
      AND (s.goal IS NOT NULL OR EXISTS (SELECT FROM passes p WHERE p.session_id = s.id AND p.state = 'done' AND p.answer <> ''))
      AND s.last_activity_at < clock_timestamp() - ${limits().idleAfterMs} * interval '1 millisecond'
      -- A worker whose clock is behind must not make a task look idle: events have the database's time.
      AND coalesce((SELECT e.at FROM events e WHERE e.session_id = s.id ORDER BY e.id DESC LIMIT 1)
        < clock_timestamp() - ${limits().idleAfterMs} * interval '1 millisecond', true)
      AND NOT EXISTS (SELECT FROM questions q WHERE q.session_id = s.id AND q.status = 'open')
      AND NOT EXISTS (SELECT FROM approvals a WHERE a.session_id = s.id AND a.status = 'pending')
      AND NOT EXISTS (SELECT FROM passes p WHERE p.session_id = s.id AND p.state IN ('queued', 'running'))
      AND NOT EXISTS (SELECT FROM executions e WHERE e.session_id = s.id
        AND e.status IN ('requested', 'pending_approval', 'approved', 'queued', 'running'))
    ORDER BY s.last_activity_at LIMIT 100`;
}

async function lastPass(
  db: Reader,
  sessionId: SessionId,
): Promise<{ id: string; turnId: string } | null> {
  return db.pass.findFirst({
    where: { sessionId },
    orderBy: { seq: 'desc' },
    select: { id: true, turnId: true },
  });
}

function nudge({ goal }: Session): string {
  return `Nothing has happened in this task for ${formatDuration(limits().idleAfterMs)}, and nobody is waited for. Its goal: ${quoted(goal ?? '', 500)}. Take the next step now; or ask_operator for what you need; or, if the goal is reached or cannot be, complete_task and say which. Otherwise the task is closed as partial.`;
}

async function closingWords(db: Reader, session: Session): Promise<string> {
  const last = await db.pass.findFirst({
    where: { sessionId: session.id, answer: { not: null } },
    orderBy: { seq: 'desc' },
    select: { answer: true },
  });
  const said = last?.answer?.trim() ?? '';
  return [
    `Closed without reaching its goal: nothing happened for ${formatDuration(limits().idleAfterMs)}, also after a reminder.`,
    ...(said === '' ? [] : [`The last word was: ${cutLabel(said.replaceAll(/\s+/g, ' '), 300)}`]),
    'Write here to go on.',
  ].join(' ');
}
