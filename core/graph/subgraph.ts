import { joinSql, sql, type Reader } from '../db/database.ts';
import { healthSql } from '../signals/health.ts';
import type { Dependent } from './ontology-file.ts';

/** An entity as a picture of the graph shows it. */
export interface GraphNode {
  slug: string;
  type: string;
  name: string;
  state: string;
  /** As the checks last saw it; `unknown` without any, `stale` when that was too long ago. */
  health: string;
}

/** A current relation: source, type, target, and which side suffers when the other fails. */
export interface GraphEdge {
  source: string;
  type: string;
  target: string;
  dependent: Dependent;
}

/** The named entities, those that exist, by slug. */
export async function nodesOf(db: Reader, slugs: readonly string[]): Promise<GraphNode[]> {
  if (slugs.length === 0) return [];
  return db.$queryRaw<GraphNode[]>(sql`
    SELECT e.slug, e.type, e.name, e.state, ${healthSql} AS health
    FROM entities e LEFT JOIN entity_status s ON s.entity_id = e.id
    WHERE e.slug IN (${joinSql([...slugs])})
    ORDER BY e.slug`);
}

/** The current relations of which both ends are among the named entities. */
export async function edgesAmong(db: Reader, slugs: readonly string[]): Promise<GraphEdge[]> {
  if (slugs.length === 0) return [];
  return db.$queryRaw<GraphEdge[]>(sql`
    SELECT s.slug AS source, r.type, t.slug AS target, k.dependent
    FROM relationships r
    JOIN relationship_types k ON k.name = r.type
    JOIN entities s ON s.id = r.source_id
    JOIN entities t ON t.id = r.target_id
    WHERE r.valid_to IS NULL AND s.slug IN (${joinSql([...slugs])}) AND t.slug IN (${joinSql([...slugs])})
    ORDER BY 1, 2, 3`);
}

/** Entities that are connected with one, in whatever direction, over at most `depth` relations: nearest first, itself too. */
export async function slugsAround(
  db: Reader,
  slug: string,
  bounds: { depth: number; limit: number },
): Promise<string[]> {
  const rows = await db.$queryRaw<Array<{ slug: string }>>(sql`
    WITH RECURSIVE near (id, depth) AS (
      SELECT id, 0 FROM entities WHERE slug = ${slug}
      UNION
      SELECT edge.other, near.depth + 1
      FROM near
      CROSS JOIN LATERAL (
        SELECT target_id AS other FROM relationships WHERE source_id = near.id AND valid_to IS NULL
        UNION ALL
        SELECT source_id FROM relationships WHERE target_id = near.id AND valid_to IS NULL
      ) edge
      WHERE near.depth < ${bounds.depth}
    )
    SELECT e.slug FROM near JOIN entities e ON e.id = near.id
    GROUP BY e.slug ORDER BY min(near.depth), e.slug LIMIT ${bounds.limit}`);
  return rows.map((row) => row.slug);
}
