import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { listTokens, revokeToken } from '../../core/api/tokens.ts';
import { lastEventId } from '../../core/events/subscribe.ts';
import type { Unit } from '../../core/db/database.ts';
import { newId } from '../../core/ids.ts';
import { ApiWorld, KNOWN_SECRET } from '../support/api-world.ts';

let world: ApiWorld;
let token: string;

beforeAll(async () => {
  world = await ApiWorld.open({ streams: { heartbeatMs: 200, stalledMs: 1_500, queued: 5 } });
  token = await world.token(['read']);
});
afterAll(() => world[Symbol.asyncDispose]());

interface Told {
  id: number;
  type: string;
  sessionId: string | null;
  data: Record<string, unknown>;
}

/** A client of the stream, by the rules of the event stream format, as a browser's would be. */
class Client {
  readonly #request: ClientRequest;
  readonly #response: IncomingMessage;
  readonly raw: string[] = [];
  readonly events: Told[] = [];
  readonly ended: Promise<void>;
  lastId = '';
  comments = 0;

  private constructor(sent: ClientRequest, response: IncomingMessage) {
    this.#request = sent;
    this.#response = response;
    let rest = '';
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => {
      this.raw.push(chunk);
      const blocks = (rest + chunk).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) this.#take(block);
    });
    this.ended = new Promise((resolve) => response.on('close', resolve));
    response.on('error', () => {});
  }

  static async open(path = '', headers: Record<string, string> = {}, by = token): Promise<Client> {
    const sent = request(new URL(`${world.server.url}/api/v1/events/stream${path}`), {
      headers: { authorization: `Bearer ${by}`, ...headers },
      agent: false,
    });
    sent.on('error', () => {});
    sent.end();
    const response = await new Promise<IncomingMessage>((resolve) => sent.on('response', resolve));
    expect([response.statusCode, response.headers['content-type']]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
    ]);
    return new Client(sent, response);
  }

  #take(block: string): void {
    let data: string | undefined;
    for (const line of block.split('\n')) {
      if (line.startsWith(':')) this.comments++;
      else if (line.startsWith('id: ')) this.lastId = line.slice(4);
      else if (line.startsWith('data: ')) data = line.slice(6);
      else expect(line).toMatch(/^retry: \d+$/);
    }
    if (data === undefined) return;
    const event = JSON.parse(data) as Told;
    expect(String(event.id)).toBe(this.lastId);
    this.events.push(event);
  }

  /** Waits until `count` events have come. */
  async has(count: number): Promise<void> {
    await vi.waitFor(() => expect(this.events.length).toBeGreaterThanOrEqual(count), 20_000);
  }

  pause(): void {
    this.#response.pause();
  }

  close(): void {
    this.#request.destroy();
  }
}

const newestId = async (): Promise<number> => Number(await lastEventId(world.core.database));
const emit = (work: (unit: Unit) => void): Promise<void> =>
  world.core.database.write(async (unit) => work(unit));
const change = (n: number, sessionId: string | null = null) =>
  emit((unit) => unit.emit({ type: 'graph.changed', sessionId, refId: newId(), data: { n } }));
const numbers = (client: Client): unknown[] => client.events.map(({ data }) => data['n']);

describe('the stream of events', () => {
  it('H2: begins with what comes next, with ids, without event names, and masked', async () => {
    await change(0);
    const client = await Client.open();
    await emit((unit) => {
      unit.emit({ type: 'graph.changed', refId: 'x', data: { n: 1, note: `is ${KNOWN_SECRET}` } });
      unit.emit({ type: 'graph.changed', refId: 'y', data: { n: 2, password: 'plain-words' } });
    });
    await client.has(2);
    expect(numbers(client)).toEqual([1, 2]);
    expect(client.events[0]).toEqual({
      id: expect.any(Number),
      at: expect.stringMatching(/^\d{4}-.*Z$/),
      type: 'graph.changed',
      sessionId: null,
      refId: 'x',
      data: { n: 1, note: 'is [masked]' },
    });
    expect(client.events[1]?.data['password']).toBe('[masked]');
    expect(client.raw.join('')).not.toMatch(/^event:/m);
    client.close();
  });

  it('H2: goes on behind Last-Event-ID or after, and nothing is lost or doubled while it connects', async () => {
    const before = await newestId();
    let writing = true;
    const writer = (async () => {
      let n = 0;
      while (writing) await change(n++);
      return n;
    })();
    const clients: Client[] = [];
    for (let index = 0; index < 6; index++) {
      clients.push(
        await Client.open(
          index % 2 === 0 ? `?after=${before}` : '?after=0',
          index % 2 === 0 ? {} : { 'last-event-id': String(before) },
        ),
      );
    }
    writing = false;
    const total = await writer;
    for (const client of clients) {
      await client.has(total);
      expect(numbers(client)).toEqual(Array.from({ length: total }, (_, n) => n));
      client.close();
    }
  });

  it('H2: one that is cut off again and again and comes back sees every event once, in order', async () => {
    const seen: unknown[] = [];
    let from = await newestId();
    for (let round = 0; round < 4; round++) {
      const client = await Client.open('', { 'last-event-id': String(from) });
      await Promise.all(Array.from({ length: 10 }, (_, n) => change(round * 10 + n)));
      await client.has(1 + round * 3);
      client.close();
      await client.ended;
      seen.push(...numbers(client));
      from = Number(client.lastId);
    }
    const last = await Client.open('', { 'last-event-id': String(from) });
    await last.has(40 - seen.length);
    seen.push(...numbers(last));
    last.close();
    expect(seen).toHaveLength(40);
    expect(new Set(seen).size).toBe(40);
  });

  it('H2: shows one task alone, whose place moves on with the others’ events', async () => {
    const task = await world.core.task('mine');
    const client = await Client.open(`?session=${task.sessionId}`);
    await change(1);
    await change(2, task.sessionId);
    await change(3);
    await client.has(1);
    expect(numbers(client)).toEqual([2]);
    await vi.waitFor(() => expect(Number(client.lastId)).toBeGreaterThan(client.events[0]!.id));
    client.close();
    const whole = await Client.open(`?session=${task.sessionId}&after=0`);
    await whole.has(4);
    expect(new Set(whole.events.map(({ sessionId }) => sessionId))).toEqual(
      new Set([task.sessionId]),
    );
    whole.close();
  });

  it('H2: says that it is there while nothing happens', async () => {
    const client = await Client.open();
    await vi.waitFor(() => expect(client.comments).toBeGreaterThanOrEqual(2), 10_000);
    expect(client.events).toEqual([]);
    client.close();
  });

  it('H2: lets go of a reader that takes nothing, who comes back and misses nothing', async () => {
    const from = await newestId();
    const client = await Client.open();
    client.pause();
    const filler = 'x '.repeat(600_000);
    const sent = 12;
    for (let n = 0; n < sent; n++) {
      await emit((unit) => unit.emit({ type: 'graph.changed', refId: 'z', data: { n, filler } }));
    }
    await vi.waitFor(() => expect(world.server.streams.size).toBe(0), 20_000);
    client.close();
    const again = await Client.open(`?after=${from}`);
    await again.has(sent);
    expect(numbers(again)).toEqual(Array.from({ length: sent }, (_, n) => n));
    again.close();
  });

  it('H2, H3: ends at once when its token is revoked', async () => {
    const own = await world.token(['read']);
    const client = await Client.open('', {}, own);
    const other = await Client.open();
    const [newest] = await listTokens(world.core.database);
    await revokeToken(world.core.database, newest?.name ?? '');
    await client.ended;
    expect((await world.get('/api/v1/events', own)).status).toBe(401);
    await change(7);
    await other.has(1);
    other.close();
  });

  it('H2: gives one token eight streams and no more, until one of them ends', async () => {
    const own = await world.token(['read']);
    const clients = await Promise.all(Array.from({ length: 8 }, () => Client.open('', {}, own)));
    const refused = await world.get('/api/v1/events/stream', own);
    expect(refused).toMatchObject({ status: 429, body: { code: 'too_many_streams' } });
    const other = await Client.open();
    other.close();
    clients[0]?.close();
    await vi.waitFor(async () => (await Client.open('', {}, own)).close(), 10_000);
    for (const client of clients) client.close();
  });

  it.each([
    ['?after=-1', {}],
    ['?after=x', {}],
    ['?after=9999999999', {}],
    ['?session=1', {}],
    ['?follow=1', {}],
    ['', { 'last-event-id': 'x' }],
    ['', { 'last-event-id': '9'.repeat(17) }],
  ])('Z7: refuses %s %j', async (query, headers) => {
    const answer = await world.call('GET', `/api/v1/events/stream${query}`, { token, headers });
    expect(answer).toMatchObject({ status: 400, body: { code: 'request_invalid' } });
  });

  it('Z7: refuses the stream of a task that is not there, and gives HEAD a head alone', async () => {
    const answer = await world.get(`/api/v1/events/stream?session=${newId()}`, token);
    expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } });
    const head = await world.call('HEAD', '/api/v1/events/stream', { token });
    expect([head.status, head.text]).toEqual([200, '']);
  });

  it('H1: the log can be read page by page too', async () => {
    const task = await world.core.task('list it');
    const path = `/api/v1/events?session=${task.sessionId}`;
    const all = (await world.get(path, token)).body as { events: Told[]; last: number };
    expect(all.events.map(({ type }) => type)).toContain('session.created');
    const found: Told[] = [];
    for (let after = 0; ;) {
      const { events, last } = (await world.get(`${path}&limit=2&after=${after}`, token))
        .body as typeof all;
      if (events.length === 0) break;
      found.push(...events);
      after = last;
    }
    expect(found).toEqual(all.events);
  });

  it('J7: ends with the API, and the client has its place', async () => {
    await using own = await ApiWorld.open();
    const reader = await own.token(['read']);
    const response = await fetch(`${own.server.url}/api/v1/events/stream`, {
      headers: { authorization: `Bearer ${reader}` },
    });
    const text = response.text();
    await vi.waitFor(() => expect(own.server.streams.size).toBe(1));
    await own.server.stop();
    expect(await text).toMatch(/^retry: 2000\nid: \d+\n\n/);
  });
});
