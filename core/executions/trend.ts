import { noSql, sql, type Reader } from '../db/database.ts';
import type { EntityId } from '../ids.ts';

/** What ran on one day: in the zone that was asked for, `2026-11-29`. */
export interface TrendDay {
  day: string;
  /** Commands that ended well. */
  succeeded: number;
  /** Commands that failed, and those whose outcome is not known. */
  failed: number;
}

/** How many days a trend has. */
export const TREND_DAYS = 30;

/**
 * Executions by day of their end, the oldest day first, days without any among them. Those that never ran (denied, expired,
 * cancelled before their start) are not counted. `timeZone` is an IANA name; `entityId` narrows it to one target.
 */
export async function executionTrend(
  db: Reader,
  args: { timeZone: string; entityId?: EntityId; days?: number },
): Promise<TrendDay[]> {
  const days = args.days ?? TREND_DAYS;
  const zone = args.timeZone;
  return db.$queryRaw<TrendDay[]>(sql`
    WITH today AS (SELECT (now() AT TIME ZONE ${zone})::date AS day),
    ended AS (
      SELECT (e.ended_at AT TIME ZONE ${zone})::date AS day, e.status
      FROM executions e, today
      WHERE e.ended_at >= ((today.day - ${days - 1}::int)::timestamp AT TIME ZONE ${zone})
        AND e.status IN ('completed', 'failed', 'unknown')
        ${args.entityId === undefined ? noSql : sql`AND e.entity_id = ${args.entityId}::uuid`}
    )
    SELECT to_char(d.day, 'YYYY-MM-DD') AS day,
      (count(*) FILTER (WHERE ended.status = 'completed'))::int AS succeeded,
      (count(*) FILTER (WHERE ended.status IN ('failed', 'unknown')))::int AS failed
    FROM today, LATERAL (SELECT (today.day - n)::date AS day FROM generate_series(0, ${days - 1}::int) AS n) d
    LEFT JOIN ended ON ended.day = d.day
    GROUP BY d.day ORDER BY d.day`);
}
