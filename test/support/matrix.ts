/**
 * People in tests: clients that are not ours (matrix-js-sdk), and the homeserver's own account of what is in a room.
 */
import {
  ClientEvent,
  type MatrixClient,
  type MatrixEvent,
  RoomMemberEvent,
  createClient,
} from 'matrix-js-sdk';
import { logger } from 'matrix-js-sdk/lib/logger.js';
import { type UserId, asId } from '../../core/ids.ts';
import type { MatrixAccount } from '../../demo/services/matrix-accounts.ts';

/** An event as the homeserver tells it. */
export interface RawEvent {
  event_id: string;
  type: string;
  sender: string;
  state_key?: string;
  content: Record<string, unknown>;
  redacts?: string;
  unsigned?: Record<string, unknown>;
}

const silent = {
  trace() {},
  debug() {},
  info() {},
  warn() {},
  error() {},
  getChild: () => silent,
};

// Parts of the SDK log to one logger of all clients, which is loglevel's behind a narrower type.
const loglevel = Object.assign(logger, { methodFactory: () => () => {}, log() {} });
(loglevel as typeof loglevel & { rebuild(): void }).rebuild();

/** A person with a Matrix client. */
export class Person {
  readonly client: MatrixClient;
  readonly userId: UserId;
  /** What its syncs brought, in order. */
  readonly #seen: RawEvent[] = [];
  readonly #rooms: string[] = [];
  #looked = new Set<() => void>();

  readonly #gone: AbortController;

  private constructor(client: MatrixClient, userId: UserId, gone: AbortController) {
    this.client = client;
    this.userId = userId;
    this.#gone = gone;
  }

  /** Signs in, accepts every invitation from now on, and syncs until `close`. */
  static async open(url: string, account: MatrixAccount): Promise<Person> {
    const { userId, accessToken, deviceId } = account;
    const gone = new AbortController();
    const client = createClient({
      baseUrl: url,
      userId,
      accessToken,
      deviceId,
      logger: silent,
      // The SDK leaves requests unhandled that end when it stops; those never end here.
      fetchFn: async (input, init) =>
        fetch(input, init).catch((error: unknown) => {
          if (gone.signal.aborted) return new Promise<never>(() => {});
          throw error;
        }),
    });
    const person = new Person(client, asId<UserId>(userId), gone);
    client.on(ClientEvent.Event, (event) => person.#notice(event));
    client.on(ClientEvent.Sync, () => person.#accept());
    client.on(RoomMemberEvent.Typing, () => person.#accept());
    await client.startClient({ initialSyncLimit: 50 });
    return person;
  }

  /** Stops syncing. */
  close(): void {
    this.#gone.abort();
    this.client.stopClient();
  }

  /** The room with this name, once this person has joined it. */
  async room(name: string | RegExp): Promise<string> {
    return this.until(
      () => {
        const room = this.client
          .getRooms()
          .find(
            (candidate) =>
              candidate.getMyMembership() === 'join' &&
              (typeof name === 'string' ? candidate.name === name : name.test(candidate.name)),
          );
        return room?.roomId;
      },
      `a room ${String(name)}`,
    );
  }

  /** An event of a room that satisfies `wanted`, already seen or still to come. */
  async event(
    roomId: string,
    wanted: (event: RawEvent) => boolean,
    timeoutMs?: number,
  ): Promise<RawEvent> {
    return this.until(
      () => this.#seen.find((event, index) => this.#rooms[index] === roomId && wanted(event)),
      'an event',
      timeoutMs,
    );
  }

  /** The first message of a room with this body. */
  async message(roomId: string, body: string, timeoutMs?: number): Promise<RawEvent> {
    return this.event(roomId, (event) => event.content['body'] === body, timeoutMs);
  }

  /** Says something, maybe in a thread. Gives the event's id. */
  async say(roomId: string, body: string, threadRoot?: string): Promise<string> {
    return this.send(roomId, 'm.room.message', {
      msgtype: 'm.text',
      body,
      ...(threadRoot === undefined
        ? {}
        : {
            'm.relates_to': {
              rel_type: 'm.thread',
              event_id: threadRoot,
              is_falling_back: true,
              'm.in_reply_to': { event_id: threadRoot },
            },
          }),
    });
  }

  /** Reacts to an event. Gives the reaction's id. */
  async react(roomId: string, target: string, key: string): Promise<string> {
    return this.send(roomId, 'm.reaction', {
      'm.relates_to': { rel_type: 'm.annotation', event_id: target, key },
    });
  }

  /** Sends any event. */
  async send(roomId: string, type: string, content: Record<string, unknown>): Promise<string> {
    const answer = await this.request(
      'PUT',
      `/rooms/${roomId}/send/${type}/${crypto.randomUUID()}`,
      {
        ...content,
      },
    );
    return String(answer['event_id']);
  }

  /** Takes an event back. */
  async redact(roomId: string, target: string): Promise<string> {
    const answer = await this.request(
      'PUT',
      `/rooms/${roomId}/redact/${target}/${crypto.randomUUID()}`,
      {},
    );
    return String(answer['event_id']);
  }

  /** Makes a room and gives its id. */
  async createRoom(body: Record<string, unknown>): Promise<string> {
    return String((await this.request('POST', '/createRoom', body))['room_id']);
  }

  /** Everything in a room from its beginning on, as the homeserver tells it now. */
  async history(roomId: string): Promise<RawEvent[]> {
    const events: RawEvent[] = [];
    let from = '';
    for (;;) {
      const page = await this.request(
        'GET',
        `/rooms/${roomId}/messages?dir=f&limit=500${from === '' ? '' : `&from=${from}`}`,
      );
      events.push(...(page['chunk'] as RawEvent[]));
      if (typeof page['end'] !== 'string') return events;
      from = page['end'];
    }
  }

  /** The messages of a sender in a room: bodies, in order, edits left out. */
  async bodies(roomId: string, sender: string): Promise<string[]> {
    return (await this.history(roomId))
      .filter((event) => event.sender === sender && event.type === 'm.room.message')
      .filter((event) => !('m.new_content' in event.content))
      .map((event) => String(event.content['body']));
  }

  /** One request to the client API, path without `/_matrix/client/v3`. Throws on anything but 200. */
  async request(
    method: 'GET' | 'PUT' | 'POST',
    path: string,
    body?: Record<string, unknown>,
  ): Promise<Record<string, unknown>> {
    const url = `${this.client.getHomeserverUrl()}/_matrix/client/v3${path.replaceAll('!', '%21').replaceAll('$', '%24')}`;
    const response = await fetch(url, {
      method,
      headers: {
        authorization: `Bearer ${this.client.getAccessToken() ?? ''}`,
        'content-type': 'application/json',
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as Record<string, unknown>;
    if (!response.ok) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
    return answer;
  }

  /** Waits until `look` gives something; it is asked after each sync and each event. */
  async until<T>(look: () => T | undefined, what: string, timeoutMs = 45_000): Promise<T> {
    const found = look();
    if (found !== undefined) return found;
    return new Promise<T>((resolve, reject) => {
      const stop = (): void => {
        clearTimeout(timer);
        this.#looked.delete(again);
      };
      const again = (): void => {
        const value = look();
        if (value === undefined) return;
        stop();
        resolve(value);
      };
      const timer = setTimeout(() => {
        stop();
        reject(new Error(`${this.userId} did not see ${what} in ${timeoutMs} ms.`));
      }, timeoutMs);
      this.#looked.add(again);
    });
  }

  #notice(event: MatrixEvent): void {
    const raw = event.event;
    if (raw.event_id === undefined || this.#seen.some((known) => known.event_id === raw.event_id)) {
      return;
    }
    this.#seen.push(raw as unknown as RawEvent);
    this.#rooms.push(event.getRoomId() ?? '');
    for (const look of this.#looked) look();
  }

  #accept(): void {
    for (const room of this.client.getRooms()) {
      if (room.getMyMembership() === 'invite') {
        // A second try for one invitation answers like the first.
        this.client.joinRoom(room.roomId).catch(() => {});
      }
    }
    for (const look of this.#looked) look();
  }
}
