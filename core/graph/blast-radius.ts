import { z } from 'zod';
import type { Reader } from '../db/database.ts';
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

/** One of the first of a level, and how many the level has. */
interface Row {
  depth: number;
  slug: string;
  count: number;
}

/**
 * What fails when this entity does. One query that goes outward level by level: it keeps whom it has met, so that in a graph with many
 * ways to the same service each is looked at once (B7).
 */
export async function blastRadius(db: Reader, entityId: EntityId): Promise<BlastRadius> {
  const rows = await db.$queryRaw<Row[]>`
    WITH RECURSIVE level (depth, ids, met) AS (
      SELECT 0, ARRAY[${entityId}::uuid], ARRAY[${entityId}::uuid]
      UNION ALL
      SELECT level.depth + 1, next.ids, level.met || next.ids
      FROM level CROSS JOIN LATERAL (
        SELECT ARRAY(
          SELECT r.target_id FROM relationships r
          JOIN relationship_types t ON t.name = r.type AND t.dependent = 'target'
          WHERE r.source_id = ANY(level.ids) AND r.valid_to IS NULL
          UNION
          SELECT r.source_id FROM relationships r
          JOIN relationship_types t ON t.name = r.type AND t.dependent = 'source'
          WHERE r.target_id = ANY(level.ids) AND r.valid_to IS NULL
          EXCEPT SELECT unnest(level.met)
        ) AS ids
        -- Looked up once, and not once for each mention of it.
        OFFSET 0
      ) next
      WHERE level.depth < ${MAX_DEPTH} AND cardinality(next.ids) > 0
    )
    SELECT level.depth, here.slug, here.count
    FROM level CROSS JOIN LATERAL (
      SELECT slug, count(*) OVER ()::int AS count FROM entities
      WHERE id = ANY(level.ids) AND gone_from_file_at IS NULL
      ORDER BY slug LIMIT ${MAX_NAMES}
    ) here
    WHERE level.depth > 0 ORDER BY level.depth, here.slug`;
  const byDepth: number[] = [];
  for (const { depth, count } of rows) {
    // A level of nothing but what is gone from the file still leads on to the next.
    while (byDepth.length < depth) byDepth.push(0);
    byDepth[depth - 1] = count;
  }
  return {
    version: 1,
    total: byDepth.reduce((sum, count) => sum + count, 0),
    byDepth,
    names: rows.slice(0, MAX_NAMES).map(({ slug, depth }) => ({ slug, depth })),
  };
}
