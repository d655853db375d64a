import { sql, type Reader, type Sql, type Unit } from '../db/database.ts';

/** How an entity is, as its checks last saw it. `stale`: they have not been made for too long; `unknown`: there are none, or they saw nothing. */
const HEALTHS = ['healthy', 'degraded', 'down', 'stale', 'unknown'] as const;
/** One of the words above. */
export type Health = (typeof HEALTHS)[number];

/** A result counts for so many of its check's intervals, and at least for so long: then it is stale (S1). */
const FRESH_INTERVALS = 3;
const FRESH_LEAST_MS = 3 * 60_000;

/** Until when a check's result counts, in SQL over its columns; null before the first. */
export const freshUntilSql: Sql = sql`(checked_at
  + greatest(${FRESH_INTERVALS} * every_ms::float8 + timeout_ms, ${FRESH_LEAST_MS}) * interval '1 millisecond')`;

/** A check's status as it counts now, in SQL over its columns: `stale` when it is too old, `pending` before the first look. */
export const checkStatusSql: Sql = sql`CASE
  WHEN status IS NULL THEN 'pending'
  WHEN ${freshUntilSql} < clock_timestamp() THEN 'stale'
  ELSE status END`;

/** An entity's health as it counts now, in SQL over `entity_status s`: never older than its checks may be (S1). */
export const healthSql: Sql = sql`CASE
  WHEN s.health IS NULL THEN 'unknown'
  WHEN s.fresh_until < clock_timestamp() THEN 'stale'
  ELSE s.health END`;

/** The same for a row that was read; `now` is by the database's clock. */
export function healthOf(status: { health: string; freshUntil: Date | null }, now: Date): string {
  return status.freshUntil !== null && status.freshUntil.getTime() < now.getTime()
    ? 'stale'
    : status.health;
}

/**
 * Works out an entity's health anew from its checks: down when one that is critical fails, degraded when any other fails or
 * warns, healthy when all are well, unknown when one could not see. Called by whoever changes a check.
 */
export async function refreshHealth(unit: Unit, entityId: string): Promise<void> {
  // One at a time: who waited for the other's row would write over it what it had worked out before.
  await unit.db
    .$executeRaw`SELECT pg_advisory_xact_lock(hashtext('nomos_health'), hashtext(${entityId}))`;
  await unit.db.$executeRaw(sql`
    WITH seen AS (
      SELECT status, severity, checked_at, detail, name, ${freshUntilSql} AS fresh_until
      FROM checks WHERE entity_id = ${entityId}::uuid AND gone_at IS NULL AND status IS NOT NULL
    ), judged AS (
      SELECT CASE
          WHEN bool_or(status = 'fail' AND severity = 'critical') THEN 'down'
          WHEN bool_or(status IN ('fail', 'warn')) THEN 'degraded'
          WHEN bool_or(status = 'unknown') THEN 'unknown'
          ELSE 'healthy' END AS health,
        jsonb_build_object('version', 1, 'not_ok', coalesce(
          jsonb_agg(name ORDER BY name) FILTER (WHERE status <> 'ok'), '[]'::jsonb)) AS detail,
        max(checked_at) AS checked_at, min(fresh_until) AS fresh_until
      FROM seen HAVING count(*) > 0
    )
    INSERT INTO entity_status (entity_id, health, detail, checked_at, fresh_until)
    SELECT ${entityId}::uuid, health, detail, checked_at, fresh_until FROM judged
    ON CONFLICT (entity_id) DO UPDATE SET health = excluded.health, detail = excluded.detail,
      checked_at = excluded.checked_at, fresh_until = excluded.fresh_until`);
  await unit.db.$executeRaw(sql`
    DELETE FROM entity_status WHERE entity_id = ${entityId}::uuid AND NOT EXISTS (
      SELECT FROM checks WHERE entity_id = ${entityId}::uuid AND gone_at IS NULL AND status IS NOT NULL)`);
}

/** The database's clock, for those that only read. */
export async function readNow(db: Reader): Promise<Date> {
  const rows = await db.$queryRaw<[{ now: Date }]>`SELECT clock_timestamp() AS now`;
  return rows[0].now;
}
