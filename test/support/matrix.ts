/**
 * People in tests: clients that are not ours (matrix-js-sdk), and the homeserver's own account of what is in a room.
 */
import {
  ClientEvent,
  EventType,
  type MatrixClient,
  MatrixEvent,
  MatrixEventEvent,
  RoomMemberEvent,
  type TimelineEvents,
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

/** Requests that do not leave, by what their URLs match. */
type Withheld = Map<RegExp, Kept[]>;
interface Kept {
  input: string | URL | Request;
  init: RequestInit | undefined;
}

/** A person with a Matrix client. */
export class Person {
  readonly client: MatrixClient;
  readonly userId: UserId;
  /** What its syncs brought, in order. */
  readonly #seen: RawEvent[] = [];
  readonly #rooms: string[] = [];
  #looked = new Set<() => void>();
  /** What receipts said, as `user event`. */
  readonly #receipts = new Set<string>();

  readonly #gone: AbortController;
  readonly #withheld: Withheld;

  private constructor(
    client: MatrixClient,
    userId: UserId,
    gone: AbortController,
    withheld: Withheld,
  ) {
    this.client = client;
    this.userId = userId;
    this.#gone = gone;
    this.#withheld = withheld;
  }

  /**
   * Signs in, accepts every invitation from now on, and syncs until `close`. With `encrypts` it has keys of its own: what it
   * sends to encrypted rooms is encrypted, and what it is told is decrypted.
   */
  static async open(
    url: string,
    account: MatrixAccount,
    options: { encrypts?: boolean } = {},
  ): Promise<Person> {
    const { userId, accessToken, deviceId } = account;
    const gone = new AbortController();
    const withheld: Withheld = new Map();
    const client = createClient({
      baseUrl: url,
      userId,
      accessToken,
      deviceId,
      logger: silent,
      // The SDK leaves requests unhandled that end when it stops; those never end here.
      fetchFn: async (input, init) => {
        const url = input instanceof Request ? input.url : String(input);
        const [, kept] = [...withheld].find(([match]) => match.test(url)) ?? [];
        if (kept !== undefined) {
          kept.push({ input, init });
          return Response.json({ event_id: `$withheld-${crypto.randomUUID()}` });
        }
        return fetch(input, init).catch((error: unknown) => {
          if (gone.signal.aborted) return new Promise<never>(() => {});
          throw error;
        });
      },
    });
    const person = new Person(client, asId<UserId>(userId), gone, withheld);
    if (options.encrypts === true) {
      await client.initRustCrypto({ useIndexedDB: false });
      client.on(MatrixEventEvent.Decrypted, (event) => person.#notice(event));
    }
    client.on(ClientEvent.Event, (event) => person.#notice(event));
    client.on(ClientEvent.Sync, () => person.#accept());
    client.on(RoomMemberEvent.Typing, () => person.#accept());
    await client.startClient({ initialSyncLimit: 50 });
    return person;
  }

  /**
   * From now on the client's requests whose URL matches do not leave, and the client believes that they did. They leave when
   * the function that it gives is called, with bodies that it may change.
   */
  withhold(match: RegExp): (change?: (body: object) => object) => Promise<void> {
    const kept: Kept[] = [];
    this.#withheld.set(match, kept);
    return async (change = (body) => body) => {
      this.#withheld.delete(match);
      for (const { input, init } of kept) {
        const before = typeof init?.body === 'string' ? init.body : '{}';
        const body = JSON.stringify(change(JSON.parse(before) as object));
        await fetch(input, { ...init, body });
      }
    };
  }

  /** Makes cross-signing keys for this person, new ones if asked for, and signs this device with them. */
  async signDevice(password: string, anew = false): Promise<void> {
    await this.client.getCrypto()?.bootstrapCrossSigning({
      setupNewCrossSigning: anew,
      authUploadDeviceSigningKeys: async (request) => {
        const identifier = { type: 'm.id.user', user: this.userId };
        await request({ type: 'm.login.password', identifier, password });
      },
    });
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

  /** Sends any event; a message in an encrypted room is encrypted by who has keys. */
  async send(roomId: string, type: string, content: Record<string, unknown>): Promise<string> {
    if (this.client.getCrypto() === undefined || type !== 'm.room.message') {
      return this.sendInClear(roomId, type, content);
    }
    const sent = await this.client.sendEvent(
      roomId,
      null,
      EventType.RoomMessage,
      content as unknown as TimelineEvents[EventType.RoomMessage],
    );
    return sent.event_id;
  }

  /** Sends any event as it is, whatever the room wants. */
  async sendInClear(
    roomId: string,
    type: string,
    content: Record<string, unknown>,
  ): Promise<string> {
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

  /**
   * Whether the homeserver has told that somebody read an event. The client's own account is no help: it takes who writes for
   * somebody who has read all before, and then drops the receipt.
   */
  hasRead(userId: string, eventId: string): boolean {
    return this.#receipts.has(`${userId} ${eventId}`);
  }

  /** Everything in a room from its beginning on, as the homeserver tells it now; `sealed`: what is encrypted is left so. */
  async history(roomId: string, options: { sealed?: boolean } = {}): Promise<RawEvent[]> {
    const events: RawEvent[] = [];
    let from = '';
    for (;;) {
      const page = await this.request(
        'GET',
        `/rooms/${roomId}/messages?dir=f&limit=500${from === '' ? '' : `&from=${from}`}`,
      );
      for (const event of page['chunk'] as RawEvent[])
        events.push(options.sealed === true ? event : await this.#clear(event));
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
  async until<T>(look: () => T | undefined, what: string, timeoutMs = 75_000): Promise<T> {
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

  async #clear(raw: RawEvent): Promise<RawEvent> {
    if (raw.type !== 'm.room.encrypted' || this.client.getCrypto() === undefined) return raw;
    const event = new MatrixEvent(raw);
    await this.client.decryptEventIfNeeded(event);
    return inClear(event);
  }

  #notice(event: MatrixEvent): void {
    if (event.getType() === 'm.receipt') this.#noteReceipts(event);
    const raw = inClear(event);
    if (raw.event_id === undefined) return;
    const known = this.#seen.findIndex((one) => one.event_id === raw.event_id);
    if (known >= 0 && !event.isEncrypted()) return;
    if (known >= 0) {
      this.#seen[known] = raw;
    } else {
      this.#seen.push(raw);
      this.#rooms.push(event.getRoomId() ?? '');
    }
    for (const look of this.#looked) look();
  }

  #noteReceipts(event: MatrixEvent): void {
    const told = event.getContent<Record<string, { 'm.read'?: Record<string, unknown> }>>();
    for (const [eventId, { 'm.read': readers = {} }] of Object.entries(told))
      for (const userId of Object.keys(readers)) this.#receipts.add(`${userId} ${eventId}`);
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

/** An event as it reads once it is decrypted; as it came where it is not, or not yet. */
function inClear(event: MatrixEvent): RawEvent {
  const raw = event.event as unknown as RawEvent;
  if (!event.isEncrypted() || event.isBeingDecrypted() || event.getClearContent() === null)
    return raw;
  const relation = raw.content['m.relates_to'];
  return {
    ...raw,
    type: event.getType(),
    content: {
      ...event.getClearContent(),
      ...(relation === undefined ? {} : { 'm.relates_to': relation }),
    },
  };
}
