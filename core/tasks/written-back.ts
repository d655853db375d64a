import type { Reader } from '../db/database.ts';
import type { SessionId } from '../ids.ts';

/** The tools that write what a task learned or changed back to the graph. */
const WRITE_BACK = ['update_entity_attributes', 'create_relationship'];

/** What is said when a task ends by `complete_task` without either of them (K4). */
export const NOT_WRITTEN_BACK =
  'Nothing was written back: neither update_entity_attributes nor create_relationship was called in this task.';

/** Whether a call of this task wrote back to the graph. */
export async function wroteBack(db: Reader, sessionId: SessionId): Promise<boolean> {
  const calls = await db.toolCall.count({
    where: { sessionId, name: { in: WRITE_BACK }, state: 'done' },
  });
  return calls > 0;
}
