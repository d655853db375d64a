import { z } from 'zod';
import type { Database } from '../db/database.ts';
import { openConnection, type PgConnection } from '../db/pg.ts';
import { errorText } from '../errors.ts';
import type { SessionId } from '../ids.ts';
import { log } from '../log.ts';
import type { EventType, LoggedEvent } from './types.ts';

const CHANNELS = ['nomos_events', 'nomos_outbox', 'nomos_inbox'] as const;
/** What can be waited for besides events: rows that were put into the outbox or the inbox. */
export type Bell = 'nomos_outbox' | 'nomos_inbox';

const PAGE = 500;
const RECONNECT_MS = 500;

/** Ends a subscription. */
export type Unsubscribe = () => void;

/**
 * Hands on new events of the log, in order, to whoever subscribed in this process. One LISTEN connection; after a lost
 * connection it reads on from the last event that it saw, so subscribers miss nothing while the process lives. A
 * subscriber that must not miss events over a restart keeps a cursor of its own and reads with `readEvents`.
 */
export class EventFeed {
  readonly #database: Database;
  readonly #subscribers = new Set<(event: LoggedEvent) => void>();
  readonly #bells = new Map<Bell, Set<() => void>>();
  #connection: PgConnection | undefined;
  #cursor = 0n;
  #reading: Promise<void> | undefined;
  #again = false;
  #closed = false;

  private constructor(database: Database) {
    this.#database = database;
  }

  /** Starts to listen, from the newest event on. */
  static async open(database: Database): Promise<EventFeed> {
    const feed = new EventFeed(database);
    // First where to begin, then the ear: what is told in between is read at once, and nothing from before.
    feed.#cursor = await lastEventId(database);
    await feed.#listen();
    feed.#notified('nomos_events');
    return feed;
  }

  /** Calls `handler` for every event from now on. It must not throw and should return at once. */
  subscribe(handler: (event: LoggedEvent) => void): Unsubscribe {
    this.#subscribers.add(handler);
    return () => void this.#subscribers.delete(handler);
  }

  /** Calls `handler` when rows were put into the outbox or the inbox, and after each reconnect. */
  onBell(bell: Bell, handler: () => void): Unsubscribe {
    const handlers = this.#bells.get(bell) ?? new Set();
    this.#bells.set(bell, handlers);
    handlers.add(handler);
    return () => void handlers.delete(handler);
  }

  /**
   * Waits until `check` gives something other than undefined: looked at now, after each event that `relevant` picks, and
   * at the end of `timeoutMs`. Gives undefined when the time is over or `signal` fires.
   */
  async waitFor<T>(
    relevant: (event: LoggedEvent) => boolean,
    check: () => Promise<T | undefined>,
    options: { timeoutMs: number; signal?: AbortSignal },
  ): Promise<T | undefined> {
    let wake: () => void = () => {};
    let pending = false;
    let over = false;
    const ring = (): void => {
      pending = true;
      wake();
    };
    const unsubscribe = this.subscribe((event) => {
      if (relevant(event)) ring();
    });
    const end = (): void => {
      over = true;
      ring();
    };
    const timer = setTimeout(end, options.timeoutMs);
    options.signal?.addEventListener('abort', end, { once: true });
    if (options.signal?.aborted === true) end();
    try {
      for (;;) {
        pending = false;
        const value = await check();
        if (value !== undefined || over) return value;
        if (!pending) await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      clearTimeout(timer);
      unsubscribe();
      options.signal?.removeEventListener('abort', end);
    }
  }

  /** Stops listening. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#connection?.end();
    await this.#reading;
  }

  async #listen(): Promise<void> {
    const connection = await openConnection(this.#database.url, 'nomos-events');
    connection.on('notification', (message) => this.#notified(message.channel));
    connection.on('error', (error) =>
      log.warn({ error: error.message }, 'event feed lost its connection'),
    );
    connection.on('end', () => {
      if (!this.#closed) void this.#reconnect();
    });
    for (const channel of CHANNELS) await connection.query(`LISTEN ${channel}`);
    this.#connection = connection;
  }

  async #reconnect(): Promise<void> {
    while (!this.#closed) {
      try {
        await this.#listen();
        for (const channel of CHANNELS) this.#notified(channel);
        return;
      } catch (error) {
        log.warn({ error: errorText(error) }, 'event feed cannot reconnect yet');
        await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
      }
    }
  }

  #notified(channel: string): void {
    if (channel !== 'nomos_events') {
      for (const handler of this.#bells.get(channel as Bell) ?? []) handler();
      return;
    }
    this.#again = true;
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
  }

  async #read(): Promise<void> {
    while (this.#again && !this.#closed) {
      this.#again = false;
      try {
        const events = await readEvents(this.#database, this.#cursor, PAGE);
        for (const event of events) {
          this.#cursor = event.id;
          for (const handler of this.#subscribers) handler(event);
        }
        if (events.length === PAGE) this.#again = true;
      } catch (error) {
        log.warn({ error: errorText(error) }, 'event feed could not read; trying again');
        await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
        this.#again = true;
      }
    }
  }
}

/** The newest event's id, 0 when there is none. */
export async function lastEventId(database: Database): Promise<bigint> {
  const last = await database.read.event.findFirst({
    orderBy: { id: 'desc' },
    select: { id: true },
  });
  return last?.id ?? 0n;
}

const dataShape = z.record(z.string(), z.unknown());
/** The events after `cursor`, in order, at most `limit`: all, or those of one task. */
export async function readEvents(
  database: Database,
  cursor: bigint,
  limit: number,
  sessionId?: SessionId,
): Promise<LoggedEvent[]> {
  const rows = await database.read.event.findMany({
    where: { id: { gt: cursor }, ...(sessionId === undefined ? {} : { sessionId }) },
    orderBy: { id: 'asc' },
    take: limit,
  });
  // A type that a newer version wrote matches no subscriber and is passed by.
  return rows.map((row) => ({
    ...row,
    type: row.type as EventType,
    data: dataShape.parse(row.data),
  }));
}
