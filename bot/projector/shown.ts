import { sql, type Reader, type Unit } from '../../core/db/database.ts';
import type { ApprovalId } from '../../core/ids.ts';
import { forgetGivenUp } from '../outbox/forget-card.ts';
import { cardKey, PROJECTOR_STATE } from './keys.ts';

/**
 * Whether all that an approval covers stands in the room (A16): its card, and the file that goes with it where the card cannot
 * show everything. What is still on its way, was given up or was removed has not been shown.
 */
export async function isShown(db: Reader, approvalId: ApprovalId): Promise<boolean> {
  const keys = await keysOf(db, approvalId);
  if (keys.length === 0 || !(await isDrawn(db, approvalId))) return false;
  const cards = await db.matrixCard.findMany({
    where: { cardKey: { in: keys.flatMap(withFiles) } },
    select: { cardKey: true, eventId: true },
  });
  const delivered = cards.filter(({ eventId }) => eventId !== null);
  return (
    delivered.length === cards.length &&
    keys.every((key) => delivered.some((card) => card.cardKey === key))
  );
}

/**
 * Whether the cards have been drawn since it was asked for. What is asked for anew stands in the room already, as the card of what
 * was decided before, until it is retired.
 */
async function isDrawn(db: Reader, approvalId: ApprovalId): Promise<boolean> {
  const newer = await db.$queryRaw<unknown[]>(sql`
    SELECT 1 FROM events WHERE type = 'approval.requested' AND ref_id = ${approvalId}
      AND id > coalesce((SELECT (value->>'cursor')::bigint FROM matrix_state WHERE key = ${PROJECTOR_STATE}), 0) LIMIT 1`);
  return newer.length === 0;
}

/**
 * Has what was given up of an approval's card and files sent once more: it could never be decided on otherwise. Returns whether
 * there was anything.
 */
export async function showAgain(unit: Unit, approvalId: ApprovalId): Promise<boolean> {
  const keys = await keysOf(unit.db, approvalId);
  if ((await forgetGivenUp(unit, keys.flatMap(withFiles))) === 0) return false;
  const { sessionId } = await unit.db.approval.findUniqueOrThrow({
    where: { id: approvalId },
    select: { sessionId: true },
  });
  unit.emit({ type: 'approval.requested', sessionId, refId: approvalId, data: { again: true } });
  return true;
}

/** The keys of the cards that an approval stands on; none if there is no such approval. */
async function keysOf(db: Reader, approvalId: ApprovalId): Promise<string[]> {
  const executions = await db.execution.findMany({
    where: { approvalId },
    select: { id: true, batchId: true },
  });
  if (executions.length > 0) return [...new Set(executions.map((one) => cardKey.execution(one)))];
  const plan = await db.approval.count({ where: { id: approvalId, kind: 'plan' } });
  return plan === 0 ? [] : [cardKey.plan(approvalId)];
}

function withFiles(key: string): string[] {
  return [key, cardKey.commandFile(key), cardKey.previewFile(key)];
}
