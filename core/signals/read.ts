import { joinSql, noSql, sql, type Reader, type Sql } from '../db/database.ts';
import { checkStatusSql } from './health.ts';
import { signalDetail, type SignalState } from './states.ts';

/** A check as it counts now. */
export interface CheckListing {
  id: string;
  slug: string;
  name: string;
  kind: string;
  /** `ok`, `warn`, `fail`, `unknown`; `stale` when its result is too old, `pending` before its first look. */
  status: string;
  value: number | null;
  detail: string | null;
  severity: string;
  checkedAt: Date | null;
  /** Since when the status is what it is. */
  changedAt: Date | null;
  everyMs: number;
}

/** Which checks a listing shows: of one entity, in one of these states. */
export interface CheckFilter {
  slug?: string | undefined;
  statuses?: readonly string[] | undefined;
  /** Default 500. */
  limit?: number | undefined;
}

/** Checks with their results, what is bad first. */
export async function listChecks(db: Reader, filter: CheckFilter = {}): Promise<CheckListing[]> {
  const { slug, statuses } = filter;
  return db.$queryRaw<CheckListing[]>(sql`
    SELECT * FROM (
      SELECT c.id, e.slug, c.name, c.kind, ${checkStatusSql} AS status, c.value, c.detail, c.severity,
        c.checked_at AS "checkedAt", c.changed_at AS "changedAt", c.every_ms AS "everyMs"
      FROM checks c JOIN entities e ON e.id = c.entity_id
      WHERE c.gone_at IS NULL ${slug === undefined ? noSql : sql`AND e.slug = ${slug}`}
    ) listed
    ${statuses === undefined || statuses.length === 0 ? noSql : sql`WHERE status IN (${joinSql([...statuses])})`}
    ORDER BY array_position(ARRAY['fail', 'warn', 'stale', 'unknown', 'pending', 'ok'], status), slug, name
    LIMIT ${filter.limit ?? 500}`);
}

/** A signal as it is listed. */
export interface SignalListing {
  id: string;
  shortId: string;
  title: string;
  text: string;
  labels: Record<string, string>;
  severity: string;
  state: SignalState;
  source: string;
  slug: string | null;
  /** The check that raised it. */
  check: string | null;
  sessionId: string | null;
  /** Its task's short id. */
  task: string | null;
  mutedUntil: Date | null;
  raisedAt: Date;
  reopens: number;
  changedBy: string;
  changedAt: Date;
  resolvedAt: Date | null;
}

/** Which signals a listing shows. */
export interface SignalFilter {
  id?: string | undefined;
  slug?: string | undefined;
  states?: readonly string[] | undefined;
  /** Raised, or resolved, or still open, in so many last hours. */
  hours?: number | undefined;
  /** Those before this one, by id. */
  before?: string | undefined;
  /** Default 100. */
  limit?: number | undefined;
}

/** Signals, the newest first. */
export async function listSignals(db: Reader, filter: SignalFilter = {}): Promise<SignalListing[]> {
  const rows = await db.$queryRaw<
    Array<Omit<SignalListing, 'text' | 'labels'> & { detail: unknown }>
  >(
    sql`
    SELECT s.id, s.short_id AS "shortId", s.title, s.detail, s.severity, s.state, s.source, e.slug,
      c.name AS "check", s.session_id AS "sessionId", t.short_id AS task, s.muted_until AS "mutedUntil",
      s.raised_at AS "raisedAt", s.reopens, s.changed_by AS "changedBy", s.changed_at AS "changedAt",
      s.resolved_at AS "resolvedAt"
    FROM signals s
    LEFT JOIN entities e ON e.id = s.entity_id
    LEFT JOIN checks c ON c.id = s.check_id
    LEFT JOIN sessions t ON t.id = s.session_id
    WHERE ${conditions(filter)}
    ORDER BY s.id DESC LIMIT ${filter.limit ?? 100}`,
  );
  return rows.map(({ detail, ...row }) => {
    const { text, labels } = signalDetail.parse(detail);
    return { ...row, text, labels };
  });
}

function conditions({ id, slug, states, hours, before }: SignalFilter): Sql {
  const parts = [
    ...(id === undefined ? [] : [sql`s.id = ${id}::uuid`]),
    ...(slug === undefined ? [] : [sql`e.slug = ${slug}`]),
    ...(states === undefined || states.length === 0
      ? []
      : [sql`s.state IN (${joinSql([...states])})`]),
    ...(before === undefined ? [] : [sql`s.id < ${before}::uuid`]),
    ...(hours === undefined
      ? []
      : [
          sql`(s.state <> 'resolved' OR s.changed_at > clock_timestamp() - ${hours}::float8 * interval '1 hour')`,
        ]),
  ];
  return parts.length === 0 ? sql`true` : joinSql(parts, ' AND ');
}

/** A series of figures that is kept: how many there are, the newest, and its ends. */
export interface SeriesListing {
  name: string;
  points: number;
  last: number;
  lastAt: Date;
  least: number;
  most: number;
}

/** What is kept of an entity. */
export async function listSeries(
  db: Reader,
  entityId: string,
  hours: number,
): Promise<SeriesListing[]> {
  return db.$queryRaw<SeriesListing[]>(sql`
    SELECT name, count(*)::int AS points, (array_agg(value ORDER BY at DESC))[1] AS last,
      max(at) AS "lastAt", min(value) AS least, max(value) AS most
    FROM metrics
    WHERE entity_id = ${entityId}::uuid AND at > clock_timestamp() - ${hours}::float8 * interval '1 hour'
    GROUP BY name ORDER BY name LIMIT 200`);
}

/** A piece of time of a series. */
export interface SeriesBucket {
  from: Date;
  average: number;
  least: number;
  most: number;
  points: number;
}

/** A series in at most `buckets` pieces of the same length, the oldest first; pieces without figures are left out. */
export async function readSeries(
  db: Reader,
  args: { entityId: string; name: string; hours: number; buckets: number },
): Promise<SeriesBucket[]> {
  const { entityId, name, hours, buckets } = args;
  const seconds = Math.max(1, (hours * 3_600) / buckets);
  return db.$queryRaw<SeriesBucket[]>(sql`
    SELECT to_timestamp(floor(extract(epoch FROM at) / ${seconds}::float8) * ${seconds}::float8) AS "from",
      avg(value) AS average, min(value) AS least, max(value) AS most, count(*)::int AS points
    FROM metrics
    WHERE entity_id = ${entityId}::uuid AND name = ${name}
      AND at > clock_timestamp() - ${hours}::float8 * interval '1 hour'
    GROUP BY 1 ORDER BY 1`);
}

/** How many entities and checks are how, and what is not well. */
export interface HealthSummary {
  /** By type and health; types without any check are left out. */
  entities: Array<{ type: string; health: string; count: number }>;
  checks: Array<{ status: string; count: number }>;
  signals: Array<{ state: string; severity: string; count: number }>;
}

/** The fleet's health in figures, in a few queries whatever its size. */
export async function healthSummary(db: Reader): Promise<HealthSummary> {
  const [entities, checks, signals] = await Promise.all([
    db.$queryRaw<HealthSummary['entities']>(sql`
      SELECT e.type, CASE WHEN s.fresh_until < clock_timestamp() THEN 'stale' ELSE s.health END AS health,
        count(*)::int AS count
      FROM entity_status s JOIN entities e ON e.id = s.entity_id
      WHERE e.gone_from_file_at IS NULL GROUP BY 1, 2 ORDER BY 1, 2`),
    db.$queryRaw<HealthSummary['checks']>(sql`
      SELECT ${checkStatusSql} AS status, count(*)::int AS count FROM checks
      WHERE gone_at IS NULL GROUP BY 1 ORDER BY 1`),
    db.$queryRaw<HealthSummary['signals']>(sql`
      SELECT state, severity, count(*)::int AS count FROM signals
      WHERE state <> 'resolved' GROUP BY 1, 2 ORDER BY 1, 2`),
  ]);
  return { entities, checks, signals };
}
