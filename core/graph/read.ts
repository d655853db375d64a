import { sql, joinSql, noSql, type Reader } from '../db/database.ts';
import { healthOf, healthSql, readNow } from '../signals/health.ts';

/** Health as the checks last saw it: `unknown` without any, `stale` when that was too long ago (S1). */
export interface EntityListing {
  slug: string;
  type: string;
  name: string;
  state: string;
  health: string;
  checkedAt: Date | null;
  attributes: Record<string, unknown>;
}

/** Which entities a listing shows. Every given field narrows it; `text` looks in slug, name and attributes. */
export interface EntityFilter {
  types?: readonly string[];
  states?: readonly string[];
  health?: string;
  text?: string;
  /** Only those behind this one in the order of the listing: the last of the page before. */
  after?: { type: string; slug: string };
  /** Default 200. */
  limit?: number;
}

const DEFAULT_LIMIT = 200;

/** Entities with state, health and freshness, in one query (F1). Attributes that begin with `_` are ours and left out. */
export async function listEntities(
  db: Reader,
  filter: EntityFilter = {},
): Promise<EntityListing[]> {
  const text =
    filter.text === undefined
      ? undefined
      : `%${filter.text.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
  const rows = await db.$queryRaw<Array<EntityListing>>(sql`
    SELECT e.slug, e.type, e.name, e.state, ${healthSql} AS health,
      s.checked_at AS "checkedAt", e.attributes
    FROM entities e LEFT JOIN entity_status s ON s.entity_id = e.id
    WHERE e.gone_from_file_at IS NULL
      ${filter.types?.length ? sql`AND e.type IN (${joinSql([...filter.types])})` : noSql}
      ${filter.states?.length ? sql`AND e.state IN (${joinSql([...filter.states])})` : noSql}
      ${filter.health === undefined ? noSql : sql`AND ${healthSql} = ${filter.health}`}
      ${text === undefined ? noSql : sql`AND (e.slug ILIKE ${text} OR e.name ILIKE ${text} OR e.attributes::text ILIKE ${text})`}
      ${filter.after === undefined ? noSql : sql`AND (e.type, e.slug) > (${filter.after.type}, ${filter.after.slug})`}
    ORDER BY e.type, e.slug
    LIMIT ${filter.limit ?? DEFAULT_LIMIT}`);
  return rows.map((row) => ({ ...row, attributes: publicAttributes(row.attributes) }));
}

/** How many entities of a type there are in each state. */
export async function countStates(db: Reader, type: string): Promise<Record<string, number>> {
  const rows = await db.entity.groupBy({
    by: ['state'],
    where: { type, goneFromFileAt: null },
    _count: true,
    orderBy: { state: 'asc' },
  });
  return Object.fromEntries(rows.map(({ state, _count }) => [state, _count]));
}

/** One relation as seen from an entity. */
export interface RelationListing {
  direction: 'out' | 'in';
  type: string;
  slug: string;
}

/** The current relations of an entity, both ways. Which tasks had to do with it is no relation of its own: there are ever more. */
export async function listRelations(db: Reader, slug: string): Promise<RelationListing[]> {
  return db.$queryRaw<RelationListing[]>(sql`
    SELECT 'out' AS direction, r.type, t.slug
    FROM relationships r JOIN entities s ON s.id = r.source_id JOIN entities t ON t.id = r.target_id
    WHERE s.slug = ${slug} AND r.valid_to IS NULL
    UNION ALL
    SELECT 'in', r.type, s.slug
    FROM relationships r JOIN entities s ON s.id = r.source_id JOIN entities t ON t.id = r.target_id
    WHERE t.slug = ${slug} AND r.valid_to IS NULL AND r.type <> 'involves'
    ORDER BY 1 DESC, 2, 3`);
}

/** An entity by slug, or by name when only one has it; null when there is none. */
export async function getEntity(db: Reader, name: string): Promise<EntityListing | null> {
  const found = await db.entity.findMany({
    where: name.includes(':') ? { slug: name } : { name },
    include: { status: true },
    take: 2,
  });
  const entity = found[0];
  if (entity === undefined || found.length > 1) return null;
  return {
    slug: entity.slug,
    type: entity.type,
    name: entity.name,
    state: entity.state,
    health: entity.status === null ? 'unknown' : healthOf(entity.status, await readNow(db)),
    checkedAt: entity.status?.checkedAt ?? null,
    attributes: publicAttributes(entity.attributes as Record<string, unknown>),
  };
}

function publicAttributes(attributes: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(attributes).filter(([key]) => !key.startsWith('_')));
}
