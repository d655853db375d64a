import type { Database, Reader, Unit } from '../../db/database.ts';
import { asId, newId, type PassId, type SessionId, type TurnId } from '../../ids.ts';
import { completeTask } from '../../tasks/complete.ts';
import { CLIENT_IDLE_MS } from '../../tasks/idle.ts';
import { lockSession } from '../../tasks/lock.ts';
import { addNote } from '../../tasks/messages.ts';
import { openSession } from '../../tasks/open.ts';
import { openTurn } from '../../tasks/turns.ts';
import type { Actor } from '../actor.ts';

/** Where the calls of an MCP client are on record: a task, its one turn, and a pass that no model ran. */
export interface ClientTask {
  sessionId: SessionId;
  turnId: TurnId;
  passId: PassId;
}

/** The open task of a token's client, if it has one. */
export async function findClientTask(db: Reader, tokenId: string): Promise<ClientTask | undefined> {
  const rows = await db.$queryRaw<ClientTask[]>`
    SELECT s.id AS "sessionId", p.turn_id AS "turnId", p.id AS "passId"
    FROM sessions s JOIN passes p ON p.session_id = s.id AND p.cause = 'mcp'
    WHERE s.ended_at IS NULL AND s.archived_at IS NULL
      AND s.origin->>'kind' = 'mcp' AND s.origin->>'token' = ${tokenId}
    ORDER BY s.id DESC LIMIT 1`;
  return rows[0];
}

/**
 * The task in which a token's client works: the open one, or a new one with its room, so that what it asks for shows to the
 * operators as everything else does. One that lay idle for an hour is ended.
 */
export async function clientTask(
  database: Database,
  actor: Actor,
  tokenId: string,
): Promise<ClientTask> {
  return database.write(async (unit) => {
    // Two calls at once must not open two.
    await unit.db
      .$executeRaw`SELECT pg_advisory_xact_lock(hashtext('nomos_mcp'), hashtext(${tokenId}))`;
    // By this connection: those who wait for the lock may hold all others.
    const open = await findClientTask(unit.db, tokenId);
    if (open !== undefined) {
      if (!(await lies(unit, open.sessionId))) return open;
      await completeTask(unit, {
        sessionId: open.sessionId,
        outcome: 'partial',
        summary: `The client “${actor.token}” made no call for an hour.`,
        by: 'system',
      });
    }
    return openFor(unit, actor, tokenId);
  });
}

async function openFor(unit: Unit, actor: Actor, tokenId: string): Promise<ClientTask> {
  const sessionId = await openSession(unit, {
    by: actor.operator.userId,
    origin: { kind: 'mcp', token: tokenId },
    title: `MCP client ${actor.token}`,
  });
  const turnId = await openTurn(unit, { sessionId, cause: 'mcp' });
  const passId = newId<PassId>();
  const now = new Date();
  await unit.db.pass.create({
    data: {
      id: passId,
      sessionId,
      turnId,
      cause: 'mcp',
      state: 'done',
      startedAt: now,
      endedAt: now,
    },
  });
  await addNote(unit, {
    sessionId,
    turnId,
    text: `The client “${actor.token}” works here over MCP. What it asks for shows as cards, and waits for you as ever.`,
  });
  return { sessionId, turnId, passId };
}

/** Whether nobody has done anything in it for long, and nothing waits or runs. */
async function lies(unit: Unit, id: SessionId): Promise<boolean> {
  await lockSession(unit, id);
  const rows = await unit.db.$queryRaw<Array<{ idle: boolean }>>`
    SELECT s.last_activity_at < clock_timestamp() - ${CLIENT_IDLE_MS} * interval '1 millisecond'
      AND NOT EXISTS (SELECT FROM executions e WHERE e.session_id = s.id
        AND e.status IN ('requested', 'pending_approval', 'approved', 'queued', 'running')) AS idle
    FROM sessions s WHERE s.id = ${id}::uuid`;
  return rows[0]?.idle === true;
}

/** Ids of a task that is not there, for a call that only looks and needs none. */
export function noTask(): ClientTask {
  return { sessionId: newId(), turnId: newId(), passId: asId<PassId>(newId()) };
}
