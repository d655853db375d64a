import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { expect, it, vi } from 'vitest';
import type { Database } from '../db/database.ts';
import type { EventFeed } from '../events/subscribe.ts';
import type { LoggedEvent } from '../events/types.ts';
import { asId, type SessionId } from '../ids.ts';
import { EventStream } from './event-stream.ts';

const MINE = asId<SessionId>('mine');
const event = (id: number, sessionId: string): LoggedEvent => ({
  id: BigInt(id),
  at: new Date(0),
  type: 'graph.changed',
  sessionId,
  refId: null,
  data: {},
});

/** A reader that keeps what it is given. */
class Reader extends EventEmitter {
  readonly writableNeedDrain = false;
  readonly #ids: number[] = [];
  onEvent: (id: number) => unknown = () => undefined;
  write(text: string): boolean {
    if (!text.includes('data: ')) return true;
    const id = Number(/^id: (\d+)/.exec(text)?.[1]);
    this.#ids.push(id);
    void this.onEvent(id);
    return true;
  }
  end(): void {}
  /** The ids of the events that it got, in order. */
  ids(): readonly number[] {
    return this.#ids;
  }
}

/** A stream of one task behind `cursor`, over a log that holds `log` and a feed that tells what the test says. */
function follow(log: readonly LoggedEvent[], cursor: number) {
  const reader = new Reader();
  let tell: (event: LoggedEvent) => void = () => {};
  const asked = vi.fn((after: bigint) => log.filter(({ id }) => id > after));
  const findMany = ({ where }: { where: { id: { gt: bigint } } }) =>
    Promise.resolve(asked(where.id.gt));
  const stream = new EventStream(
    {
      database: { read: { event: { findMany } } } as unknown as Database,
      feed: {
        subscribe: (handler: typeof tell) => {
          tell = handler;
          return () => {};
        },
      } as unknown as EventFeed,
      mask: (text) => text,
      limits: { heartbeatMs: 60_000, stalledMs: 60_000, queued: 10 },
    },
    reader as unknown as ServerResponse,
    { tokenId: 't', cursor: BigInt(cursor), session: MINE },
  );
  const over = stream.run();
  return { reader, stream, over, asked, tell: (one: LoggedEvent) => tell(one) };
}

it('H2: what waits for its turn is not lost, whenever another task has an event meanwhile', async () => {
  for (let turns = 0; turns < 10; turns++) {
    const { reader, stream, over, asked, tell } = follow([], 1);
    await vi.waitFor(() => expect(asked).toHaveBeenCalledOnce());
    await new Promise(setImmediate);
    reader.onEvent = async (id) => {
      for (let turn = 0; turn < turns; turn++) await Promise.resolve();
      if (id === 2) tell(event(4, 'other'));
    };
    tell(event(2, MINE));
    tell(event(3, MINE));
    await new Promise(setImmediate);
    expect(reader.ids(), `after ${turns} turns`).toEqual([2, 3]);
    stream.end();
    await over;
  }
});

it('H2: an event that was read already does not come again when the feed is behind the log', async () => {
  const { reader, stream, over, tell } = follow([event(3, MINE), event(5, MINE)], 1);
  await vi.waitFor(() => expect(reader.ids()).toEqual([3, 5]));
  await new Promise(setImmediate);
  for (const one of [event(2, 'other'), event(3, MINE), event(4, 'other'), event(5, MINE)])
    tell(one);
  tell(event(6, MINE));
  await vi.waitFor(() => expect(reader.ids().at(-1)).toBe(6));
  expect(reader.ids()).toEqual([3, 5, 6]);
  stream.end();
  await over;
});
