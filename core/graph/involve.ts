import { sql, type Reader, type Unit } from '../db/database.ts';
import type { SessionOutcome } from '../db/rows.ts';
import type { EntityId, SessionId, ToolCallId } from '../ids.ts';
import { safeText } from '../text/safe.ts';

/**
 * Notes what a tool call was about (K9): task —involves→ entity, for every entity that it names by its slug or by a name that only
 * one has, and for every target of a command that it asked for. One query, however many; what is noted already stays. A name of
 * nothing notes nothing, and neither does an installation whose ontology has no such relation.
 */
export async function noteInvolved(
  unit: Unit,
  args: { sessionId: SessionId; toolCallId: ToolCallId; names: readonly string[] },
): Promise<void> {
  const names = [...new Set(args.names.map(safeText))];
  const bare = names.filter((name) => !name.includes(':'));
  await unit.db.$executeRaw(sql`
    INSERT INTO relationships (id, source_id, type, target_id, origin)
    SELECT gen_random_uuid(), s.entity_id, 'involves', involved.id, 'task'
    FROM sessions s CROSS JOIN LATERAL (
      SELECT id FROM entities WHERE slug = ANY (${names}::text[])
      UNION SELECT (array_agg(id))[1] FROM entities WHERE name = ANY (${bare}::text[]) GROUP BY name HAVING count(*) = 1
      UNION SELECT e.id FROM executions x JOIN entities e ON e.id = x.entity_id
        WHERE x.session_id = s.id AND x.tool_call_id = ${args.toolCallId}::uuid
    ) involved
    WHERE s.id = ${args.sessionId}::uuid AND s.entity_id IS NOT NULL AND involved.id <> s.entity_id
      AND EXISTS (SELECT FROM relationship_types WHERE name = 'involves')
    ON CONFLICT (source_id, type, target_id) WHERE valid_to IS NULL DO NOTHING`);
}

/** A task that had to do with an entity. */
export interface InvolvedTask {
  task: string;
  title: string | null;
  status: string;
  outcome: SessionOutcome | null;
  since: Date;
}

/** The tasks that had to do with an entity, the newest first. */
export async function tasksInvolving(
  db: Reader,
  entityId: EntityId,
  limit: number,
): Promise<InvolvedTask[]> {
  return db.$queryRaw<InvolvedTask[]>(sql`
    SELECT s.short_id AS task, coalesce(s.goal, s.title) AS title, s.status::text AS status, s.outcome, r.valid_from AS since
    FROM relationships r JOIN sessions s ON s.entity_id = r.source_id
    WHERE r.target_id = ${entityId}::uuid AND r.type = 'involves' AND r.valid_to IS NULL
    ORDER BY r.valid_from DESC, s.id DESC LIMIT ${limit}`);
}
