import type { Database } from '../core/db/database.ts';
import { BATCH_WIDTH } from '../core/executions/batch/gate.ts';
import { FINAL_STATUSES } from '../core/executions/states.ts';
import type { EventFeed, Unsubscribe } from '../core/events/subscribe.ts';
import type { LoggedEvent } from '../core/events/types.ts';
import { errorText } from '../core/errors.ts';
import { log } from '../core/log.ts';
import type { Producer } from './queues.ts';

/** Turns events into jobs as they happen: a queued execution, a queued pass, and the next pass when one ended. */
export function startDispatcher(
  database: Database,
  feed: EventFeed,
  producer: Producer,
): Unsubscribe {
  return feed.subscribe((event) => {
    dispatch(database, producer, event).catch((error: unknown) =>
      log.warn(
        { event: event.type, error: errorText(error) },
        'event not dispatched; reconciliation will see to it',
      ),
    );
  });
}

const ENDS: ReadonlySet<string> = new Set(FINAL_STATUSES);

/** An end makes room for those of its batch that wait for their turn (X13). */
async function nextInBatch(
  database: Database,
  producer: Producer,
  endedId: string,
  round: string,
): Promise<void> {
  const ended = await database.read.execution.findUnique({
    where: { id: endedId },
    select: { batchId: true, batchCanary: true },
  });
  if (ended === null || ended.batchId === null) return;
  const next = await database.read.execution.findMany({
    where: { batchId: ended.batchId, status: 'queued' },
    orderBy: { batchIndex: 'asc' },
    select: { id: true },
    // A canary's end lets all go, or none.
    ...(ended.batchCanary ? {} : { take: BATCH_WIDTH }),
  });
  for (const { id } of next) await producer.execution(id, round);
}

async function dispatch(database: Database, producer: Producer, event: LoggedEvent): Promise<void> {
  if (event.refId === null) return;
  const round = event.id.toString();
  if (event.type === 'execution.changed') {
    if (event.data['to'] === 'queued') await producer.execution(event.refId, round);
    else if (ENDS.has(String(event.data['to'])))
      await nextInBatch(database, producer, event.refId, round);
  } else if (event.type === 'pass.queued') {
    await producer.pass(event.refId, round);
  } else if (event.type === 'pass.ended' && event.sessionId !== null) {
    const next = await database.read.pass.findFirst({
      where: { sessionId: event.sessionId, state: 'queued' },
      orderBy: { seq: 'asc' },
      select: { id: true },
    });
    if (next !== null) await producer.pass(next.id, round);
  }
}
