import type { ServerResponse } from 'node:http';
import type { SessionId } from '../ids.ts';
import { EventStream, type StreamLimits, type StreamParts } from './event-stream.ts';
import { ApiError } from './problem.ts';

/** So many streams one token may have open, and all together in this process. */
const PER_TOKEN = 8;
const IN_ALL = 200;

const LIMITS: StreamLimits = { heartbeatMs: 15_000, stalledMs: 30_000, queued: 500 };

/** The event streams that are open in this process (H2). */
export class EventStreams {
  readonly #parts: StreamParts;
  readonly #open = new Map<EventStream, string>();
  #closed = false;

  constructor(parts: Omit<StreamParts, 'limits'>, limits: Partial<StreamLimits> = {}) {
    this.#parts = { ...parts, limits: { ...LIMITS, ...limits } };
  }

  /** How many there are. */
  get size(): number {
    return this.#open.size;
  }

  /** Throws `too_many_streams` when the token may not have another one. */
  checkRoom(tokenId: string): void {
    const own = [...this.#open.values()].filter((one) => one === tokenId).length;
    if (own < PER_TOKEN && this.#open.size < IN_ALL && !this.#closed) return;
    throw new ApiError(
      'too_many_streams',
      own < PER_TOKEN
        ? 'There are too many event streams open.'
        : `The token has ${PER_TOKEN} event streams open already.`,
      { hint: 'Close one, or read GET /api/v1/events.' },
    );
  }

  /** Writes events to the response until the stream ends. The head must be written. */
  async serve(
    response: ServerResponse,
    from: { tokenId: string; cursor: bigint; session: SessionId | undefined },
  ): Promise<void> {
    const stream = new EventStream(this.#parts, response, from);
    this.#open.set(stream, from.tokenId);
    try {
      await stream.run();
    } finally {
      this.#open.delete(stream);
    }
  }

  /** Ends all of them, and lets none begin (J7): a client comes back to wherever the API is next, and misses nothing. */
  close(): void {
    this.#closed = true;
    for (const stream of this.#open.keys()) stream.end();
  }
}
