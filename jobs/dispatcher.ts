import type { Database } from '../core/db/database.ts';
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

async function dispatch(database: Database, producer: Producer, event: LoggedEvent): Promise<void> {
  if (event.refId === null) return;
  const round = event.id.toString();
  if (event.type === 'execution.changed' && event.data['to'] === 'queued') {
    await producer.execution(event.refId, round);
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
