import type { Database, Unit } from '../db/database.ts';
import { eachAlone } from '../db/each-alone.ts';
import type { SessionId } from '../ids.ts';
import { limits } from '../limits.ts';
import { lockSession } from '../tasks/lock.ts';

/** A reminder comes no earlier than this before the end, where there is so much time. */
const BEFORE_END_MS = 10 * 60_000;

/**
 * Brings up once more what waits for a person (C14): an approval when three quarters of its time are over or ten minutes are
 * left, whichever is later; a question, which does not expire, after as long as an approval would have been waiting. By the
 * database's clock. Returns how many were brought up.
 */
export async function remindOfWaiting(database: Database): Promise<number> {
  const approvals = await database.read.$queryRaw<Due[]>`
    SELECT id, session_id FROM approvals
    WHERE status = 'pending' AND reminded_at IS NULL AND session_id IS NOT NULL
      AND expires_at > clock_timestamp()
      AND clock_timestamp() >= greatest(created_at + (expires_at - created_at) * 0.75,
        expires_at - ${BEFORE_END_MS} * interval '1 millisecond')
    ORDER BY expires_at LIMIT 200`;
  const ttlMs = limits().approvalTtlMs;
  const afterMs = Math.max(ttlMs * 0.75, ttlMs - BEFORE_END_MS);
  const questions = await database.read.$queryRaw<Due[]>`
    SELECT id, session_id FROM questions
    WHERE status = 'open' AND reminded_at IS NULL
      AND created_at <= clock_timestamp() - ${afterMs} * interval '1 millisecond'
    ORDER BY created_at LIMIT 200`;
  const reminded = (due: readonly Due[], mark: Mark): Promise<number> =>
    eachAlone(database, 'reminder', due, async (one) => remind(database, one, mark));
  return (await reminded(approvals, markApproval)) + (await reminded(questions, markQuestion));
}

interface Due {
  id: string;
  session_id: SessionId;
}

/** Whether what is due still waits and was not brought up yet; marks it. */
type Mark = (unit: Unit, id: string) => Promise<{ count: number }>;

const markApproval: Mark = (unit, id) =>
  unit.db.approval.updateMany({
    where: { id, status: 'pending', remindedAt: null },
    data: { remindedAt: new Date() },
  });

const markQuestion: Mark = (unit, id) =>
  unit.db.question.updateMany({
    where: { id, status: 'open', remindedAt: null },
    data: { remindedAt: new Date() },
  });

async function remind(database: Database, due: Due, mark: Mark): Promise<boolean> {
  return database.write(async (unit) => {
    await lockSession(unit, due.session_id);
    const { count } = await mark(unit, due.id);
    if (count === 0) return false;
    unit.emit({ type: 'approval.reminder', sessionId: due.session_id, refId: due.id });
    return true;
  });
}
