import type { Database } from '../db/database.ts';
import { eachAlone } from '../db/each-alone.ts';
import { databaseNow } from '../tasks/lock.ts';
import { AT_ONCE_PER_HOST } from './run-check.ts';
import { lockSignal, moveSignal, recordSignalMove } from './states.ts';

/** Trouble that came back silently and stays for so long, with nobody looking, calls once more. */
const CALL_AGAIN_AFTER_MS = 15 * 60_000;
/** How long figures are kept. */
export const METRICS_KEPT_DAYS = 30;
/** Most rows that one statement takes away, so that it holds up nothing. */
const PRUNED_AT_ONCE = 20_000;

/**
 * Checks that are due and in nobody's hand, by the database's clock: what Redis is told again and again until it is done. Those
 * of a host that is asked by as many as it may be are left out: the many checks of one that hangs keep no other from its turn.
 */
export async function dueChecks(database: Database): Promise<Array<{ id: string; due: string }>> {
  return database.read.$queryRaw`
    SELECT id, extract(epoch FROM next_at)::text AS due FROM checks
    WHERE gone_at IS NULL AND next_at <= clock_timestamp()
      AND (lease_until IS NULL OR lease_until <= clock_timestamp())
      AND (host IS NULL OR host NOT IN (SELECT host FROM checks
        WHERE host IS NOT NULL AND lease_until > clock_timestamp()
        GROUP BY host HAVING count(*) >= ${AT_ONCE_PER_HOST}))
    ORDER BY next_at LIMIT 500`;
}

/** Ends mutes that are over, and calls again for what came back and stayed. Returns for how many people are called. */
export async function sweepSignals(database: Database): Promise<number> {
  const due = await database.read.$queryRaw<Array<{ id: string }>>`
    SELECT id FROM signals
    WHERE (state = 'muted' AND muted_until <= clock_timestamp())
      OR (state = 'raised' AND reopened_at > coalesce(called_at, raised_at)
        AND reopened_at <= clock_timestamp() - ${CALL_AGAIN_AFTER_MS} * interval '1 millisecond')
    ORDER BY raised_at LIMIT 100`;
  return eachAlone(database, 'signal', due, async ({ id }) =>
    database.write(async (unit) => {
      const signal = await lockSignal(unit, id);
      if (signal === null) return false;
      const now = await databaseNow(unit);
      const called = { calls: signal.calls + 1, calledAt: now };
      if (signal.state === 'muted' && signal.mutedUntil !== null && signal.mutedUntil <= now) {
        const mover = { actor: 'system', data: { why: 'it is not muted any more' } };
        return moveSignal(unit, signal, 'muted', 'raised', mover, { ...called, mutedUntil: null });
      }
      const { state, reopenedAt, calledAt } = signal;
      if (state !== 'raised' || reopenedAt === null || (calledAt ?? signal.raisedAt) >= reopenedAt)
        return false;
      await unit.db.signal.update({ where: { id }, data: called });
      const mover = { actor: 'system', data: { why: 'it came back and stays' } };
      recordSignalMove(unit, signal, 'raised', 'raised', mover);
      return true;
    }),
  );
}

/** Takes away all figures that are too old, piece by piece: a big fleet makes more in a while than one piece. Returns how many. */
export async function pruneMetrics(database: Database): Promise<number> {
  for (let total = 0; ;) {
    const count = await database.read.$executeRaw`
      DELETE FROM metrics WHERE id IN (
        SELECT id FROM metrics WHERE at < clock_timestamp() - ${METRICS_KEPT_DAYS} * interval '1 day'
        LIMIT ${PRUNED_AT_ONCE})`;
    total += count;
    if (count < PRUNED_AT_ONCE) return total;
  }
}
