import type { Unit } from '../db/database.ts';
import type { Session } from '../db/rows.ts';
import { NotFoundError } from '../errors.ts';
import type { SessionId } from '../ids.ts';

/**
 * Locks a task's row for the rest of the transaction and gives it. Every unit that changes anything of a task does this
 * first, so that such units run one after another and take further locks in one order. Throws `not_found`.
 */
export async function lockSession(unit: Unit, sessionId: SessionId): Promise<Session> {
  await unit.db.$queryRaw`SELECT id FROM sessions WHERE id = ${sessionId}::uuid FOR UPDATE`;
  const session = await unit.db.session.findUnique({ where: { id: sessionId } });
  if (session === null) throw new NotFoundError('task', sessionId);
  return session;
}

/** The database's clock: the only one by which expiry is judged (R14). */
export async function databaseNow(unit: Unit): Promise<Date> {
  const rows = await unit.db.$queryRaw<Array<{ now: Date }>>`SELECT clock_timestamp() AS now`;
  const now = rows[0]?.now;
  if (now === undefined) throw new Error('the database gave no time');
  return now;
}

/** `at` moved by `ms`. */
export function later(at: Date, ms: number): Date {
  return new Date(at.getTime() + ms);
}
