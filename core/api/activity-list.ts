import type { Reader } from '../db/database.ts';
import type { ToolCall } from '../db/rows.ts';

/** A tool call of the agent, with the task that it belongs to. */
export interface Activity {
  id: string;
  /** Its place in the order of calls. */
  seq: bigint;
  sessionId: string;
  /** The task's short id. */
  task: string;
  title: string | null;
  tool: string;
  /** The slug of the entity that the call was about. */
  entity: string | null;
  state: ToolCall['state'];
  executionId: string | null;
  durationMs: number | null;
  at: Date;
}

/** What the agent did in all tasks, the newest first. `next` is the `before` of the following page, null at the end. */
export async function recentActivity(
  db: Reader,
  query: {
    session?: string | undefined;
    entity?: string | undefined;
    limit: number;
    before?: number | undefined;
  },
): Promise<{ activity: Activity[]; next: bigint | null }> {
  const rows = await db.toolCall.findMany({
    where: {
      ...(query.session === undefined ? {} : { sessionId: query.session }),
      ...(query.entity === undefined ? {} : { entitySlug: query.entity }),
      ...(query.before === undefined ? {} : { seq: { lt: BigInt(query.before) } }),
    },
    // A call keeps its number, so that each is on exactly one page.
    orderBy: { seq: 'desc' },
    take: query.limit + 1,
    include: { session: { select: { shortId: true, title: true, goal: true } } },
  });
  const page = rows.slice(0, query.limit);
  return {
    activity: page.map((row) => ({
      id: row.id,
      seq: row.seq,
      sessionId: row.sessionId,
      task: row.session.shortId,
      title: row.session.goal ?? row.session.title,
      tool: row.name,
      entity: row.entitySlug,
      state: row.state,
      executionId: row.executionId,
      durationMs: row.durationMs,
      at: row.createdAt,
    })),
    next: rows.length > query.limit ? (page.at(-1)?.seq ?? null) : null,
  };
}
