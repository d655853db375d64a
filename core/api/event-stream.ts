import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Database } from '../db/database.ts';
import { errorText } from '../errors.ts';
import { readEvents, type EventFeed } from '../events/subscribe.ts';
import type { LoggedEvent } from '../events/types.ts';
import type { Mask } from '../executions/finish.ts';
import type { SessionId } from '../ids.ts';
import { log } from '../log.ts';
import { maskDeep } from './mask-deep.ts';
import { isTokenAlive } from './tokens.ts';

/** Times and sizes of a stream; tests make them small. */
export interface StreamLimits {
  /** A comment goes out after so long, and the token is looked at again. */
  heartbeatMs: number;
  /** A reader that takes nothing for so long is let go. */
  stalledMs: number;
  /** So many live events wait for a reader; past that they are read from the log when it is ready. */
  queued: number;
}

/** What a stream is made of. */
export interface StreamParts {
  readonly database: Database;
  readonly feed: EventFeed;
  readonly mask: Mask;
  readonly limits: StreamLimits;
}

const PAGE = 200;
/** How soon a client that lost its stream comes back. */
const RETRY_MS = 2_000;

/**
 * One client's view of the event log (H2). It reads on from a cursor until it has caught up and then takes events as they are
 * told; whenever it falls behind, it goes back to reading. So it holds one page or one short queue, however slow its reader,
 * and since ids grow in the order of commits, none is left out and none comes twice.
 */
export class EventStream {
  readonly #parts: StreamParts;
  readonly #response: ServerResponse;
  readonly #tokenId: string;
  readonly #session: SessionId | undefined;
  /** The last event that was written, or passed by as another task's. */
  #cursor: bigint;
  #queue: LoggedEvent[] = [];
  #behind = true;
  /** Something was told while reading: the page that is being read may end before it. */
  #more = false;
  #over = false;
  #wake: () => void = () => {};

  constructor(
    parts: StreamParts,
    response: ServerResponse,
    from: { tokenId: string; cursor: bigint; session: SessionId | undefined },
  ) {
    this.#parts = parts;
    this.#response = response;
    this.#tokenId = from.tokenId;
    this.#session = from.session;
    this.#cursor = from.cursor;
  }

  /** Writes until the client goes, the token ends, or `end` is called. Never throws. */
  async run(): Promise<void> {
    const unsubscribe = this.#parts.feed.subscribe((event) => this.#told(event));
    const gone = (): void => this.end();
    this.#response.on('close', gone);
    const beat = setInterval(() => void this.#beat(), this.#parts.limits.heartbeatMs);
    try {
      // The place is told before the first event, so that a client that is cut off until then misses nothing either.
      await this.#write(`retry: ${RETRY_MS}\nid: ${this.#cursor}\n\n`);
      while (!this.#over) await this.#step();
    } catch (error) {
      if (!this.#over) log.warn({ error: errorText(error) }, 'an event stream broke off');
    } finally {
      this.#over = true;
      clearInterval(beat);
      unsubscribe();
      this.#response.off('close', gone);
      this.#response.end();
    }
  }

  /** Ends the stream after what is being written. */
  end(): void {
    this.#over = true;
    this.#wake();
  }

  async #step(): Promise<void> {
    if (this.#behind) return this.#catchUp();
    const [event] = this.#queue;
    if (event === undefined) return new Promise<void>((resolve) => (this.#wake = resolve));
    await this.#show(event);
    // It stays in the queue until then, so that the place does not move on past it; meanwhile the queue may have been given up.
    if (this.#queue[0] === event) this.#queue.shift();
  }

  async #catchUp(): Promise<void> {
    this.#more = false;
    const { database } = this.#parts;
    const events = await readEvents(database, this.#cursor, PAGE, this.#session);
    for (const event of events) await this.#show(event);
    // No await between the question and the answer: what is told from here on goes into the queue.
    this.#behind = events.length === PAGE || this.#more;
  }

  #told(event: LoggedEvent): void {
    if (event.type === 'token.revoked' && event.refId === this.#tokenId) this.end();
    if (this.#session !== undefined && event.sessionId !== this.#session) {
      // The client's place moves on too, where nothing of its own is on the way, and never back: the log is read ahead of the feed.
      const clear = !this.#behind && this.#queue.length === 0;
      if (clear && event.id > this.#cursor) this.#cursor = event.id;
      return;
    }
    if (this.#behind) this.#more = true;
    else if (this.#queue.length < this.#parts.limits.queued) this.#queue.push(event);
    else {
      this.#queue = [];
      this.#behind = true;
    }
    this.#wake();
  }

  async #show(event: LoggedEvent): Promise<void> {
    // Told and read: an event can come both ways.
    if (this.#over || event.id <= this.#cursor) return;
    const data = JSON.stringify(maskDeep(event, this.#parts.mask));
    await this.#write(`id: ${event.id}\ndata: ${data}\n\n`);
    this.#cursor = event.id;
  }

  async #beat(): Promise<void> {
    try {
      if (!(await isTokenAlive(this.#parts.database, this.#tokenId))) return this.end();
    } catch (error) {
      // The database is away: the next beat looks again.
      log.debug({ error: errorText(error) }, 'the token of an event stream could not be looked at');
    }
    const idle = !this.#behind && this.#queue.length === 0 && !this.#response.writableNeedDrain;
    if (!this.#over && idle) this.#response.write(`: still here\nid: ${this.#cursor}\n\n`);
  }

  async #write(text: string): Promise<void> {
    if (this.#over || this.#response.write(text)) return;
    const settled = new AbortController();
    const late = AbortSignal.timeout(this.#parts.limits.stalledMs);
    const signal = AbortSignal.any([settled.signal, late]);
    try {
      await Promise.race([
        once(this.#response, 'drain', { signal }),
        once(this.#response, 'close', { signal }),
      ]);
    } catch {
      log.info('an event stream was ended: its reader takes nothing');
      this.#over = true;
      this.#response.destroy();
    } finally {
      settled.abort();
    }
  }
}
