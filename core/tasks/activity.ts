import { noSql, sql, type Reader } from '../db/database.ts';
import type { SessionId, ToolCallId } from '../ids.ts';

/** One call of the agent's, as it went. */
export interface AgentCall {
  at: Date;
  task: string;
  tool: string;
  entity: string | null;
  state: string;
  success: boolean | null;
  durationMs: number | null;
}

/** How often a tool was called, and how often it did not do what was asked. */
export interface ToolCount {
  tool: string;
  calls: number;
  failed: number;
}

/** Which part of the agent's work is looked at. */
export interface ActivityFilter {
  /** Hours back from now. */
  hours: number;
  sessionId?: SessionId | undefined;
  /** Only calls about this entity. */
  entity?: string | undefined;
  /** Not this call: the one that asks. */
  except?: ToolCallId | undefined;
  /** How many single calls are given, newest first. */
  limit: number;
}

/** What the agent did, over all tasks or in one: counts by tool, and the newest calls. */
export async function agentActivity(
  db: Reader,
  filter: ActivityFilter,
): Promise<{ byTool: ToolCount[]; calls: AgentCall[] }> {
  const { hours, sessionId, entity, except, limit } = filter;
  const which = sql`c.created_at > clock_timestamp() - make_interval(hours => ${hours}::int)
    ${sessionId === undefined ? noSql : sql`AND c.session_id = ${sessionId}::uuid`}
    ${entity === undefined ? noSql : sql`AND c.entity_slug = ${entity}`}
    ${except === undefined ? noSql : sql`AND c.id <> ${except}::uuid`}`;
  const [byTool, calls] = await Promise.all([
    db.$queryRaw<ToolCount[]>(sql`
      SELECT c.name AS tool, count(*)::int AS calls,
        (count(*) FILTER (WHERE c.success = false))::int AS failed
      FROM tool_calls c WHERE ${which} GROUP BY c.name ORDER BY calls DESC, c.name`),
    db.$queryRaw<AgentCall[]>(sql`
      SELECT c.created_at AS at, s.short_id AS task, c.name AS tool, c.entity_slug AS entity,
        c.state::text AS state, c.success, c.duration_ms AS "durationMs"
      FROM tool_calls c JOIN sessions s ON s.id = c.session_id
      WHERE ${which} ORDER BY c.created_at DESC, c.seq DESC LIMIT ${limit}`),
  ]);
  return { byTool, calls };
}
