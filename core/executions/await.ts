import type { Database, Unit } from '../db/database.ts';
import type { Execution } from '../db/rows.ts';
import { NotFoundError } from '../errors.ts';
import type { EventFeed } from '../events/subscribe.ts';
import type { ExecutionId } from '../ids.ts';
import { isFinal, lockExecution } from './states.ts';

/** Who tells the agent of an end: the call that waited, a note, or nobody yet. */
export type Teller = 'call' | 'note' | 'nobody_yet';

/** A transaction of whoever tells what it takes: it fails when they cannot tell it any more. */
export type Take = <T>(work: (unit: Unit) => Promise<T>) => Promise<T>;

/** What waiting for an execution gave: its row, and who tells its end. */
export interface Awaited {
  execution: Execution;
  teller: Teller;
}

/**
 * Waits inside a pass for an execution to end, at most `timeoutMs` (X2). Who waits takes the result: an end that is
 * returned here wakes nobody, and one that comes later wakes the agent; never both, never neither (J1, R7).
 */
export async function awaitExecution(
  deps: { database: Database; feed: EventFeed; take: Take },
  id: ExecutionId,
  options: { timeoutMs: number; signal?: AbortSignal },
): Promise<Awaited> {
  const { database, feed } = deps;
  await feed.waitFor(
    (event) => event.type === 'execution.changed' && event.refId === id,
    async () => {
      const row = await database.read.execution.findUniqueOrThrow({
        where: { id },
        select: { status: true },
      });
      // Sent back to wait for a person: nothing will end soon.
      return isFinal(row.status) || row.status === 'pending_approval' ? row.status : undefined;
    },
    options,
  );
  return takeResult(deps.take, id);
}

/**
 * Takes an ended execution's result for this pass, or leaves an unfinished one to wake the agent when it ends. A call that is
 * taken up after a crash may find that a note told the end meanwhile: then it must not be told again.
 */
export async function takeResult(take: Take, id: ExecutionId): Promise<Awaited> {
  return take(async (unit) => {
    const execution = await lockExecution(unit, id);
    if (execution === null) throw new NotFoundError('execution', id);
    const now = new Date();
    if (!isFinal(execution.status)) {
      if (execution.continuation === 'awaited') {
        await unit.db.execution.update({ where: { id }, data: { continuation: 'due' } });
      }
      return { execution, teller: 'nobody_yet' };
    }
    if (execution.continuation === 'woken' && execution.resultTakenAt === null) {
      return { execution, teller: 'note' };
    }
    if (execution.continuation === 'awaited' || execution.continuation === 'due') {
      await unit.db.execution.update({
        where: { id },
        data: { continuation: 'woken', continuedAt: now, resultTakenAt: now },
      });
    }
    return { execution, teller: 'call' };
  });
}
