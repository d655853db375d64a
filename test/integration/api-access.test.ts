import { connect, createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { verifyAudit } from '../../core/audit/verify.ts';
import { ROUTES } from '../../core/api/routes/index.ts';
import { startApi } from '../../core/api/server.ts';
import { findToken, revokeToken } from '../../core/api/tokens.ts';
import { Database } from '../../core/db/database.ts';
import { EventFeed } from '../../core/events/subscribe.ts';
import { newId } from '../../core/ids.ts';
import { log } from '../../core/log.ts';
import { Operators } from '../../core/operators.ts';
import { ApiWorld, KNOWN_SECRET } from '../support/api-world.ts';
import { ann } from '../support/core-world.ts';
import { freshDatabase } from '../support/services.ts';

/** Every route behind a token: how it is asked, and which scopes it takes. */
const ALL = ROUTES.map(({ method, path, scopes, media }) => ({
  // A stream has no end to wait for; HEAD passes the same door.
  method: media === 'text/event-stream' ? 'HEAD' : method.toUpperCase(),
  path: path.replaceAll(/:\w+/g, () => newId()),
  scopes,
}));

describe('who is let in', () => {
  let world: ApiWorld;
  const tokens = { read: '', operate: '', approve: '' };
  beforeAll(async () => {
    world = await ApiWorld.open();
    for (const scope of ['read', 'operate', 'approve'] as const) {
      tokens[scope] = await world.token([scope]);
    }
  });
  afterAll(() => world[Symbol.asyncDispose]());

  it('Z1, H3: without a token there is health and nothing else, not even what there is', async () => {
    // An address is refused for a while after ten of these.
    for (let at = 0; at < ALL.length; at += 10) {
      await using own = await ApiWorld.open();
      for (const { method, path } of ALL.slice(at, at + 10)) {
        const { status, headers, body } = await own.call(method, path, {
          body: method === 'GET' || method === 'HEAD' ? undefined : {},
        });
        expect([method, path, status]).toEqual([method, path, 401]);
        expect(headers['www-authenticate']).toBe('Bearer');
        if (method !== 'HEAD') expect(body).toMatchObject({ code: 'not_signed_in', status: 401 });
      }
    }
    await using other = await ApiWorld.open();
    for (const path of ['/', '/api/v1', '/metrics', '/api/v1/nothing', '/healthz/x', '/readyz/']) {
      expect((await other.get(path)).status).toBe(path === '/readyz/' ? 503 : 401);
    }
  });

  it('H5, Z1: health tells whether it lives and is ready, and no more', async () => {
    const health = await world.get('/healthz');
    expect(health).toMatchObject({ status: 200, body: { status: 'ok' } });
    expect(health.text).toBe('{"status":"ok"}');
    expect((await world.call('HEAD', '/healthz')).status).toBe(200);
    expect(await world.get('/readyz')).toMatchObject({
      status: 503,
      body: { status: 'not ready', database: true, homeserver: false, syncAgeMs: null },
    });
    const heard = async (ago: string): Promise<void> => {
      await world.core.database.read.$executeRaw`
        INSERT INTO matrix_state (key, value, updated_at)
        VALUES ('sync:@bot:test', '{}', clock_timestamp() - ${ago}::interval)
        ON CONFLICT (key) DO UPDATE SET updated_at = excluded.updated_at`;
    };
    await heard('1 second');
    const ready = await world.get('/readyz');
    expect(ready).toMatchObject({ status: 200, body: { status: 'ready', homeserver: true } });
    expect(ready.body['syncAgeMs']).toBeGreaterThanOrEqual(1000);
    await heard('2 minutes');
    expect(await world.get('/readyz')).toMatchObject({ status: 503, body: { homeserver: false } });
  });

  it('H5: a process whose Redis is away is not ready', async () => {
    await using own = await ApiWorld.open({ redis: false });
    expect(await own.get('/readyz')).toMatchObject({ status: 503, body: { redis: false } });
  });

  it.each(ALL)(
    'H3: $method $path takes a token with the scopes $scopes and no other',
    async (route) => {
      const { method, path, scopes } = route;
      const body = method === 'GET' || method === 'HEAD' ? undefined : {};
      for (const scope of ['read', 'operate', 'approve'] as const) {
        const answer = await world.call(method, path, { body, token: tokens[scope] });
        if (scopes.includes(scope)) expect([200, 400, 404]).toContain(answer.status);
        else if (method === 'HEAD') expect(answer.status).toBe(403);
        else expect(answer).toMatchObject({ status: 403, body: { code: 'scope_missing' } });
      }
    },
  );

  it('H3: only a whole, known, living token in the one right form is taken', async () => {
    const token = await world.token(['read']);
    const tries: Array<Record<string, string>> = [
      { authorization: token },
      { authorization: `Basic ${token}` },
      { authorization: `Bearer ${token.slice(0, -1)}` },
      { authorization: `Bearer ${token}x` },
      { authorization: `Bearer ${token.toUpperCase()}` },
      { authorization: `Bearer ${token} ${token}` },
      { authorization: 'Bearer' },
      { authorization: 'Bearer nomos_' },
      { 'x-api-key': token, cookie: `token=${token}` },
    ];
    for (const headers of tries) {
      expect((await world.call('GET', '/api/v1/sessions', { headers })).status).toBe(401);
    }
    expect((await world.get(`/api/v1/sessions?token=${token}`)).status).toBe(401);
    await using own = await ApiWorld.open();
    const good = await own.token(['read']);
    expect(
      (await own.call('GET', '/api/v1/sessions', { headers: { authorization: `bearer ${good}` } }))
        .status,
    ).toBe(200);
    const [record] = await own.core.database.read.apiToken.findMany();
    expect(record?.lastUsedAt).not.toBeNull();
    await revokeToken(own.core.database, record?.name ?? '');
    expect(await own.get('/api/v1/sessions', good)).toMatchObject({
      status: 401,
      body: { detail: 'The token is not known, or it was revoked.' },
    });
  });

  it('H3: a token is kept as a hash alone, and a hash is no token', async () => {
    const token = await world.token(['read']);
    const rows = await world.core.database.read.apiToken.findMany();
    expect(JSON.stringify(rows)).not.toContain(token.slice(8));
    for (const { hash } of rows) expect(await findToken(world.core.database, hash)).toBeNull();
    expect(await findToken(world.core.database, token)).toMatchObject({ scopes: ['read'] });
  });

  it('T12, A15: a token of someone who is no operator any more changes nothing, and reads nothing (Z1)', async () => {
    await using own = await ApiWorld.open();
    const gone = { ...ann, userId: '@gone:test' } as typeof ann;
    const token = await own.token(['read', 'operate', 'approve'], gone);
    const before = await own.core.database.read.session.count();
    expect(await own.post('/api/v1/sessions', token, { text: 'hello' })).toMatchObject({
      status: 403,
      body: { code: 'role_missing' },
    });
    expect(
      await own.call('PUT', '/api/v1/settings/pause', { token, body: { paused: true } }),
    ).toMatchObject({ status: 403 });
    expect(await own.core.database.read.session.count()).toBe(before);
    for (const path of ['/api/v1/sessions', '/api/v1/events/stream', '/metrics']) {
      expect(await own.get(path, token)).toMatchObject({ status: 403 });
    }
  });
});

describe('failed attempts', () => {
  it('H3: ten in a minute close the door to the address, to a good token too, and it is told for how long', async () => {
    await using world = await ApiWorld.open();
    const token = await world.token(['read']);
    for (let n = 1; n <= 10; n++) {
      expect((await world.get('/api/v1/sessions', `nomos_wrong_${n}`)).status).toBe(401);
      if (n < 10) expect((await world.get('/api/v1/sessions', token)).status).toBe(200);
    }
    const { status, headers, body } = await world.get('/api/v1/sessions', token);
    expect(status).toBe(429);
    const wait = Number(headers['retry-after']);
    expect(wait).toBeGreaterThan(50);
    expect(wait).toBeLessThanOrEqual(60);
    expect(body).toMatchObject({ code: 'too_many_failures', fields: { retryAfterS: wait } });
    // What no proxy wrote counts for nothing: the door stays closed.
    const spoofed = await world.call('GET', '/api/v1/sessions', {
      token,
      headers: {
        'x-forwarded-for': '203.0.113.9',
        'x-real-ip': '203.0.113.9',
        forwarded: 'for=203.0.113.9',
      },
    });
    expect(spoofed.status).toBe(429);
    expect((await world.get('/healthz')).status).toBe(200);
  });

  it('H3: requests without any token are refused and limited as well, but close the door to no good token', async () => {
    await using world = await ApiWorld.open();
    const token = await world.token(['read']);
    const answers = await Promise.all(
      Array.from({ length: 25 }, () => world.get('/api/v1/sessions')),
    );
    expect(answers.filter((one) => one.status === 401)).toHaveLength(10);
    expect(answers.filter((one) => one.status === 429)).toHaveLength(15);
    expect((await world.get('/api/v1/sessions', token)).status).toBe(200);
    // A wrong token is still heard, and counts for itself.
    expect((await world.get('/api/v1/sessions', 'nomos_wrong')).status).toBe(401);
    expect((await world.get('/api/v1/sessions', token)).status).toBe(200);
    expect(
      await world.core.database.read.auditEntry.count({ where: { action: 'api.refused' } }),
    ).toBe(11);
  });

  it('H3: each failure stands in the audit log with its address, ten a minute at most, and never with what was shown', async () => {
    await using world = await ApiWorld.open();
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        world.get('/api/v1/sessions', `nomos_guess-${n}-abcdef`),
      ),
    );
    expect(answers.filter((one) => one.status === 401)).toHaveLength(10);
    expect(answers.filter((one) => one.status === 429)).toHaveLength(30);
    const entries = await world.core.database.read.auditEntry.findMany({
      where: { action: 'api.refused' },
    });
    expect(entries).toHaveLength(10);
    for (const entry of entries) {
      expect(entry).toMatchObject({ actor: 'stranger', subject: '127.0.0.1' });
      expect(JSON.stringify(entry.data)).not.toContain('guess');
    }
    expect(await verifyAudit(world.core.database)).toMatchObject({ broken: null });
  });
});

describe('what is no good request', () => {
  let world: ApiWorld;
  let token: string;
  beforeAll(async () => {
    world = await ApiWorld.open({ headersMs: 300, requestMs: 600 });
    token = await world.token(['read', 'operate', 'approve']);
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const isProblem = (answer: {
    status: number;
    text: string;
    headers: Record<string, unknown>;
  }): void => {
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.status).toBeLessThan(500);
    expect(answer.headers['content-type']).toBe('application/problem+json; charset=utf-8');
    expect(answer.headers['x-content-type-options']).toBe('nosniff');
    expect(answer.text).not.toMatch(/\bat .*\.[jt]s\b|node_modules|node:|\/core\//);
    expect(JSON.parse(answer.text)).toMatchObject({
      type: 'about:blank',
      title: expect.stringMatching(/\w/),
      status: answer.status,
      code: expect.stringMatching(/^[a-z_]+$/),
      detail: expect.stringMatching(/\w/),
    });
  };

  it('Z7: refuses a body over 1 MiB with words that its sender gets to read, announced or not', async () => {
    const exact = JSON.stringify({ text: 'x' }).padEnd(1024 * 1024, ' ');
    expect((await world.post('/api/v1/sessions', token, exact)).status).toBe(201);
    for (const size of [1024 * 1024 + 1, 5 * 1024 * 1024]) {
      const answer = await world.post('/api/v1/sessions', token, '{}'.padEnd(size, ' '));
      isProblem(answer);
      expect(answer).toMatchObject({ status: 413, body: { code: 'body_too_large' } });
    }
    const { socket, all } = await world.raw();
    socket.write(
      `POST /api/v1/sessions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`;
    for (let n = 0; n < 20; n++) socket.write(chunk);
    socket.write('0\r\n\r\n');
    expect(await all).toMatch(/^HTTP\/1\.1 413 /);
  });

  it('Z7: cuts off a body without end', async () => {
    const { socket, all } = await world.raw();
    socket.write(
      `POST /api/v1/sessions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    const chunk = `100000\r\n${' '.repeat(0x100000)}\r\n`;
    const push = (): void => {
      while (!socket.destroyed && socket.write(chunk));
    };
    socket.on('drain', push);
    push();
    const text = await all;
    if (text !== '') expect(text).toMatch(/^HTTP\/1\.1 4(13|08) /);
  });

  it.each([
    ['a head that never ends', 'GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: '],
    ['no head at all', ''],
    [
      'a body that never comes',
      'POST /api/v1/sessions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer TOKEN\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"te',
    ],
  ])('Z7: a slow client is told 408 and let go: %s', async (_what, start) => {
    const { socket, all } = await world.raw();
    socket.write(start.replace('TOKEN', token));
    const text = await all;
    if (start !== '') {
      expect(text).toMatch(/^HTTP\/1\.1 408 /);
      expect(text).toContain('application/problem+json');
      expect(text).toContain('"code":"request_too_slow"');
    }
  });

  it.each([
    [
      'a head over 16 KiB',
      `GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: ${'a'.repeat(20_000)}\r\n\r\n`,
      431,
    ],
    ['an unknown method', 'FETCH /healthz HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n\r\n', 400],
    ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
    [
      'two lengths',
      'POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello',
      400,
    ],
    [
      'length and chunks',
      'POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    ['no host', 'GET /healthz HTTP/1.1\r\n\r\n', 400],
  ])('Z7: answers %s clearly', async (_what, sent, status) => {
    const { socket, all } = await world.raw();
    socket.write(sent, 'latin1');
    const text = await all;
    expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(text).not.toMatch(/node:|\.ts\b/);
  });

  it('Z7: refuses what is not JSON, or not said to be, or compressed, or not UTF-8', async () => {
    const path = '/api/v1/sessions';
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
    ]) {
      const answer = await world.call('POST', path, {
        token,
        body: '{"text":"x"}',
        headers: { 'content-type': type },
      });
      isProblem(answer);
      expect(answer.status).toBe(415);
    }
    const packed = await world.call('POST', path, {
      token,
      body: '{"text":"x"}',
      headers: { 'content-encoding': 'gzip' },
    });
    expect(packed.status).toBe(415);
    for (const body of [
      '{',
      '{"text":',
      "{'text':'x'}",
      '{"text":"x"} x',
      'x',
      '{"text":"x",}',
      '['.repeat(200_000),
      Buffer.from([0x7b, 0xff, 0x7d]),
    ]) {
      const answer = await world.call('POST', path, { token, body });
      isProblem(answer);
      expect(answer.status).toBe(400);
    }
    isProblem(await world.call('POST', path, { token }));
    const stop = `/api/v1/sessions/${(await world.core.task('x')).sessionId}/stop`;
    for (const headers of [{}, { 'content-length': '0' }]) {
      expect((await world.call('POST', stop, { token, headers })).status).toBe(200);
    }
  });

  it('Z7: says which methods there are, and that there is nothing at other paths', async () => {
    for (const method of ['PATCH', 'DELETE', 'OPTIONS', 'PROPFIND']) {
      const answer = await world.call(method, '/api/v1/sessions', { token });
      isProblem(answer);
      expect(answer.status).toBe(405);
      expect(String(answer.headers['allow']).split(', ').toSorted()).toEqual([
        'GET',
        'HEAD',
        'POST',
      ]);
    }
    expect((await world.call('POST', '/healthz', { token, body: {} })).status).toBe(405);
    for (const path of [
      '/',
      '/api/v2/sessions',
      '/api/v1/',
      '/api/v1/sessions/x/y/z',
      `/${'a'.repeat(3_000)}`,
      '//',
      '/api/v1/%00',
      '/%',
      '/..%2f',
    ]) {
      const answer = await world.get(path, token);
      isProblem(answer);
      expect(answer.status).toBe(404);
      expect(answer.text.length).toBeLessThan(600);
    }
  });
});

describe('what nobody expected', () => {
  it('Z7: is an incident for the log, and the answer has its number and nothing else', async () => {
    await using world = await ApiWorld.open();
    const token = await world.token(['read']);
    const task = await world.core.task('x');
    const logged = vi.spyOn(log, 'error').mockImplementation(() => {});
    const broken = vi.spyOn(world.core.database.read.message, 'findMany');
    broken.mockRejectedValueOnce(new Error(`secret detail ${KNOWN_SECRET}`));
    try {
      const { status, text, body, headers } = await world.get(
        `/api/v1/sessions/${task.sessionId}`,
        token,
      );
      expect(status).toBe(500);
      expect(headers['content-type']).toBe('application/problem+json; charset=utf-8');
      expect(body).toEqual({
        type: 'about:blank',
        title: 'Internal error',
        status: 500,
        code: 'internal_error',
        detail: 'Something went wrong inside Nomos. The log has the details under the incident.',
        incident: expect.stringMatching(/^[0-9a-f]{12}$/),
      });
      expect(text).not.toContain('secret detail');
      expect(logged).toHaveBeenCalledTimes(1);
      const entry = JSON.stringify(logged.mock.calls[0]);
      expect(entry).toContain(String(body['incident']));
      expect(entry).toContain('secret detail [masked]');
      expect(entry).not.toContain(KNOWN_SECRET);
    } finally {
      broken.mockRestore();
      logged.mockRestore();
    }
  });

  it('H5, R9: a database that is away makes 503 with a time to come back, and all is well when it is back', async () => {
    const url = new URL(await freshDatabase());
    const gate = await Gate.open(Number(url.port));
    url.port = String(gate.port);
    const database = await Database.connect(url.href, { connections: 2 });
    const feed = await EventFeed.open(database);
    const server = await startApi(
      {
        database,
        feed,
        operators: new Operators([ann]),
        languages: ['en'],
        mask: (text) => text,
        version: '1',
        timeZone: 'UTC',
        redisReady: () => undefined,
      },
      { host: '127.0.0.1', port: 0 },
    );
    try {
      const headers = { authorization: `Bearer nomos_${'x'.repeat(43)}` };
      expect((await fetch(`${server.url}/api/v1/sessions`, { headers })).status).toBe(401);
      gate.close();
      const away = await fetch(`${server.url}/api/v1/sessions`, { headers });
      expect(away.status).toBe(503);
      expect(away.headers.get('retry-after')).toBe('5');
      expect(await away.json()).toMatchObject({ code: 'database_away' });
      const ready = await fetch(`${server.url}/readyz`);
      expect(ready.status).toBe(503);
      expect(await ready.json()).toMatchObject({ database: false });
      expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
      gate.reopen();
      await vi.waitFor(
        async () =>
          expect((await fetch(`${server.url}/api/v1/sessions`, { headers })).status).toBe(401),
        { timeout: 20_000, interval: 100 },
      );
    } finally {
      await server.stop();
      await feed.close();
      await database.close();
      gate.end();
    }
  });
});

/** A way to the database that can be cut. */
class Gate {
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  #closed = false;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(target: number): Promise<Gate> {
    const server = createServer();
    const gate = new Gate(server);
    server.on('connection', (client) => {
      if (gate.#closed) return client.destroy();
      const onward = connect(target, '127.0.0.1');
      for (const socket of [client, onward]) {
        gate.#open.add(socket);
        socket.on('error', () => {});
        socket.on('close', () => gate.#open.delete(socket));
      }
      client.pipe(onward).pipe(client);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return gate;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#closed = true;
    for (const socket of this.#open) socket.destroy();
  }

  reopen(): void {
    this.#closed = false;
  }

  end(): void {
    this.close();
    this.#server.close();
  }
}
