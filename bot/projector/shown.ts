import type { Reader } from '../../core/db/database.ts';
import type { ApprovalId } from '../../core/ids.ts';
import { cardKey } from './keys.ts';

/**
 * Whether all that an approval covers stands in the room (A16): its card, and the file that goes with it where the card cannot
 * show everything. What is still on its way, was given up or was removed has not been shown.
 */
export async function isShown(db: Reader, approvalId: ApprovalId): Promise<boolean> {
  const approval = await db.approval.findUnique({
    where: { id: approvalId },
    select: { kind: true, executions: { select: { id: true, batchId: true } } },
  });
  if (approval === null) return false;
  const keys = new Set(
    approval.kind === 'plan'
      ? [cardKey.plan(approvalId)]
      : approval.executions.map((execution) => cardKey.execution(execution)),
  );
  const cards = await db.matrixCard.findMany({
    where: {
      cardKey: {
        in: [...keys].flatMap((key) => [key, cardKey.commandFile(key), cardKey.previewFile(key)]),
      },
    },
    select: { cardKey: true, eventId: true },
  });
  const delivered = cards.filter(({ eventId }) => eventId !== null);
  return (
    delivered.length === cards.length &&
    [...keys].every((key) => delivered.some((card) => card.cardKey === key))
  );
}
