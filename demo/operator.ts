import { randomUUID } from 'node:crypto';
import { z } from 'zod';

const eventShape = z.looseObject({
  event_id: z.string(),
  sender: z.string(),
  type: z.string(),
  content: z.record(z.string(), z.unknown()),
});
const syncShape = z.looseObject({
  next_batch: z.string(),
  rooms: z
    .looseObject({
      join: z
        .record(
          z.string(),
          z.looseObject({
            timeline: z.looseObject({ events: z.array(eventShape) }).optional(),
            state: z.looseObject({ events: z.array(eventShape) }).optional(),
          }),
        )
        .optional(),
      invite: z.record(z.string(), z.unknown()).optional(),
    })
    .optional(),
});

/** An event in a room, as the operator's client sees it. */
export interface SeenEvent {
  roomId: string;
  eventId: string;
  sender: string;
  type: string;
  content: Record<string, unknown>;
}

const POLL_MS = 10_000;

/** The operator of the demonstration: a Matrix client in as few lines as it takes, which joins whatever it is invited to. */
export class DemoOperator {
  readonly #url: string;
  readonly #token: string;
  readonly #seen: SeenEvent[] = [];
  readonly #onEvent: (event: SeenEvent) => void;
  #wake: Array<() => void> = [];
  #stopped = false;
  #running: Promise<void> | undefined;
  #failure: Error | undefined;

  constructor(
    account: { url: string; accessToken: string },
    onEvent: (event: SeenEvent) => void = () => {},
  ) {
    this.#url = account.url;
    this.#token = account.accessToken;
    this.#onEvent = onEvent;
  }

  /** Starts to listen. */
  start(): void {
    this.#running = this.#sync().catch((error: unknown) => {
      this.#failure = error instanceof Error ? error : new Error(String(error));
      for (const wake of this.#wake.splice(0)) wake();
    });
  }

  /** Ends it. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  /** Joins a room. */
  async join(roomId: string): Promise<void> {
    await this.#call('POST', `join/${encodeURIComponent(roomId)}`, {});
  }

  /** Writes a message; `inReplyTo` makes it a reply. Returns its event id. */
  async say(roomId: string, body: string, inReplyTo?: string): Promise<string> {
    const relation =
      inReplyTo === undefined
        ? {}
        : { 'm.relates_to': { 'm.in_reply_to': { event_id: inReplyTo } } };
    return this.#send(roomId, 'm.room.message', { msgtype: 'm.text', body, ...relation });
  }

  /** Taps a reaction. */
  async tap(roomId: string, eventId: string, key: string): Promise<string> {
    return this.#send(roomId, 'm.reaction', {
      'm.relates_to': { rel_type: 'm.annotation', event_id: eventId, key },
    });
  }

  /** Waits for an event that `match` picks, from those seen so far on. Throws, naming `what`, after `timeoutMs`. */
  async waitFor(
    what: string,
    match: (event: SeenEvent) => boolean,
    timeoutMs = 60_000,
  ): Promise<SeenEvent> {
    const end = Date.now() + timeoutMs;
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure;
      const found = this.#seen.find(match);
      if (found !== undefined) return found;
      const left = end - Date.now();
      if (left <= 0) throw new Error(`Waited ${timeoutMs / 1000} s in vain for ${what}.`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#wake.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  async #sync(): Promise<void> {
    let since: string | undefined;
    while (!this.#stopped) {
      const query = new URLSearchParams({ timeout: since === undefined ? '0' : String(POLL_MS) });
      if (since !== undefined) query.set('since', since);
      const answer = syncShape.parse(await this.#call('GET', `sync?${query.toString()}`));
      since = answer.next_batch;
      for (const roomId of Object.keys(answer.rooms?.invite ?? {})) await this.join(roomId);
      for (const [roomId, room] of Object.entries(answer.rooms?.join ?? {})) {
        for (const event of [...(room.state?.events ?? []), ...(room.timeline?.events ?? [])]) {
          const seen = {
            roomId,
            eventId: event.event_id,
            sender: event.sender,
            type: event.type,
            content: event.content,
          };
          this.#seen.push(seen);
          this.#onEvent(seen);
        }
      }
      for (const wake of this.#wake.splice(0)) wake();
    }
  }

  async #send(roomId: string, type: string, content: object): Promise<string> {
    const path = `rooms/${encodeURIComponent(roomId)}/send/${type}/${randomUUID()}`;
    const answer = z
      .looseObject({ event_id: z.string() })
      .parse(await this.#call('PUT', path, content));
    return answer.event_id;
  }

  async #call(method: string, path: string, body?: object): Promise<unknown> {
    for (;;) {
      const response = await fetch(`${this.#url}/_matrix/client/v3/${path}`, {
        method,
        headers: { authorization: `Bearer ${this.#token}` },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const answer: unknown = await response.json();
      if (response.ok) return answer;
      const limited = z.looseObject({ retry_after_ms: z.number() }).safeParse(answer);
      if (response.status !== 429 || !limited.success) {
        throw new Error(
          `The homeserver answered ${response.status} to ${method} ${path}: ${JSON.stringify(answer)}`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, limited.data.retry_after_ms));
    }
  }
}
