import type { Unit } from '../db/database.ts';
import { lockRow } from '../db/lock-row.ts';
import type { Session } from '../db/rows.ts';
import { NotFoundError } from '../errors.ts';
import type { SessionId } from '../ids.ts';

/**
 * Locks a task's row for the rest of the transaction and gives it. Every unit that changes anything of a task does this
 * first, so that such units run one after another and take further locks in one order. Throws `not_found`.
 */
export async function lockSession(unit: Unit, sessionId: SessionId): Promise<Session> {
  const session = await lockRow(unit, 'sessions', sessionId);
  if (session === undefined) throw new NotFoundError('task', sessionId);
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
