import type { Reader } from '../../core/db/database.ts';
import type { Session } from '../../core/db/rows.ts';
import { asId, type SessionId } from '../../core/ids.ts';
import { taskDigest } from '../../core/tasks/digest.ts';
import type { DigestState, ExecutionStatus } from '../cards/state.ts';

const ORDER: readonly ExecutionStatus[] = [
  'completed',
  'failed',
  'unknown',
  'running',
  'queued',
  'approved',
  'pending_approval',
  'denied',
  'revoked',
  'expired',
  'cancelled',
];

/** The digest of a task as its card shows it (C6): statuses in the order of a story, without the task's own node. */
export async function digestState(db: Reader, session: Session): Promise<DigestState> {
  const digest = await taskDigest(db, asId<SessionId>(session.id));
  return {
    ...digest,
    title: session.goal ?? session.title,
    byStatus: ORDER.flatMap((status) => digest.byStatus.filter((one) => one.status === status)),
    entities: digest.entities.filter((slug) => !slug.startsWith('task:')),
  };
}
