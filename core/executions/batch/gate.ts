import type { Unit } from '../../db/database.ts';
import type { Execution } from '../../db/rows.ts';
import { isFinal } from '../states.ts';

/** How many executions of one call run at a time (X13). */
export const BATCH_WIDTH = 5;

/** Whether an execution of a batch may start now, must wait for its turn, or is not to run at all, and why. */
export type Turn = { kind: 'now' } | { kind: 'later' } | { kind: 'never'; why: string };

/**
 * Whose turn it is in a batch. Asked in the transaction of the claim, under the task's lock, so that two workers cannot both
 * take the fifth place.
 */
export async function turnInBatch(unit: Unit, execution: Execution): Promise<Turn> {
  if (execution.batchId === null) return { kind: 'now' };
  const others = await unit.db.execution.findMany({
    where: { batchId: execution.batchId },
    select: { status: true, batchIndex: true, targetSlug: true },
    orderBy: { batchIndex: 'asc' },
  });
  const [canary] = others;
  if (execution.batchCanary && canary !== undefined && execution.batchIndex !== canary.batchIndex) {
    if (!isFinal(canary.status)) return { kind: 'later' };
    if (canary.status !== 'completed') {
      return { kind: 'never', why: `the canary, ${canary.targetSlug}, ended as ${canary.status}` };
    }
  }
  const running = others.filter(({ status }) => status === 'running').length;
  return running < BATCH_WIDTH ? { kind: 'now' } : { kind: 'later' };
}
