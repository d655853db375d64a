import { z } from 'zod';
import { sql, type Reader, type Sql } from '../db/database.ts';
import type { EntityId } from '../ids.ts';

/** How far dependencies are followed, and how many names are kept for a card. The count goes on past the names. */
const MAX_DEPTH = 6;
const MAX_NAMES = 30;

/** What depends on an entity, directly (depth 1) and through others; nearest first. Kept with each execution (P8). */
export const blastShape = z.strictObject({
  version: z.literal(1),
  total: z.int(),
  byDepth: z.array(z.int()),
  names: z.array(z.strictObject({ slug: z.string(), depth: z.int() })),
});

/** See `blastShape`. */
export type BlastRadius = z.infer<typeof blastShape>;

/** What depends on an entity at each distance, nearest first: the names that were kept, and how many there are. */
export function blastLevels({
  byDepth,
  names,
}: BlastRadius): Array<{ names: string[]; count: number }> {
  return byDepth.map((count, at) => ({
    names: names.filter(({ depth }) => depth === at + 1).map(({ slug }) => slug),
    count,
  }));
}

interface Row {
  slug: string;
  depth: number;
}

/** The recursive query, on its own so that it can be measured. Rows: slug and depth, nearest first. */
export function blastQuery(entityId: EntityId): Sql {
  return sql`
    WITH RECURSIVE affected (id, depth) AS (
      SELECT ${entityId}::uuid, 0
      UNION
      SELECT edge.dependent, affected.depth + 1
      FROM affected
      CROSS JOIN LATERAL (
        SELECT r.target_id AS dependent
        FROM relationships r JOIN relationship_types t ON t.name = r.type AND t.dependent = 'target'
        WHERE r.source_id = affected.id AND r.valid_to IS NULL
        UNION ALL
        SELECT r.source_id
        FROM relationships r JOIN relationship_types t ON t.name = r.type AND t.dependent = 'source'
        WHERE r.target_id = affected.id AND r.valid_to IS NULL
      ) edge
      WHERE affected.depth < ${MAX_DEPTH}
    )
    SELECT e.slug, min(a.depth)::int AS depth
    FROM affected a JOIN entities e ON e.id = a.id
    WHERE a.id <> ${entityId}::uuid AND e.gone_from_file_at IS NULL
    GROUP BY e.slug
    ORDER BY depth, e.slug`;
}

/** What fails when this entity does. */
export async function blastRadius(db: Reader, entityId: EntityId): Promise<BlastRadius> {
  const rows = await db.$queryRaw<Row[]>(blastQuery(entityId));
  const byDepth: number[] = [];
  for (const { depth } of rows) {
    while (byDepth.length < depth) byDepth.push(0);
    byDepth[depth - 1] = (byDepth[depth - 1] ?? 0) + 1;
  }
  return { version: 1, total: rows.length, byDepth, names: rows.slice(0, MAX_NAMES) };
}
