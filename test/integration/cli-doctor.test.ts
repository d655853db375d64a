import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { examine } from '../../core/cli/doctor/examine.ts';
import type { Finding } from '../../core/cli/doctor/finding.ts';
import { nomos } from '../support/cli.ts';
import { emptyDatabase, freshDatabase, testHomeserver, testRedis } from '../support/services.ts';
import { TestSshd } from '../support/sshd.ts';

let dir: string;
let sshd: TestSshd;
let model: ModelStandIn;
let good: NodeJS.ProcessEnv;
let botId: string;

beforeAll(async () => {
  dir = mkdtempSync(path.join(tmpdir(), 'nomos-doctor-'));
  const homeserver = await testHomeserver();
  const [database, redis, bot] = await Promise.all([
    freshDatabase(),
    testRedis(),
    homeserver.newUser('bot'),
  ]);
  sshd = await TestSshd.start();
  model = await ModelStandIn.open();
  botId = bot.userId;
  const { address, port, user } = sshd.endpoint;
  good = {
    DATABASE_URL: database,
    REDIS_URL: redis.url,
    MATRIX_HOMESERVER_URL: homeserver.url,
    MATRIX_ACCESS_TOKEN: bot.accessToken,
    NOMOS_OPERATORS: '@ann:test.local=admin',
    OPENAI_BASE_URL: model.url,
    OPENAI_API_KEY: 'the-right-key',
    NOMOS_MODEL: 'big-model',
    NOMOS_INVENTORY: inventory('good.yaml', [
      `{ slug: 'host:web-1', type: host, attributes: { address: ${address}, ssh_port: ${port}, ssh_user: ${user} } }`,
      `{ slug: 'host:gone', type: host, state: retired, attributes: { address: 192.0.2.9 } }`,
      `{ slug: 'lxc:db', type: lxc, attributes: { pve_id: 101, host: 'host:web-1' } }`,
    ]),
    NOMOS_SSH_KEY_FILE: sshd.keyFile,
    NOMOS_TIMEZONE: 'UTC',
  };
});
afterAll(async () => {
  await sshd.stop();
  await model.close();
  rmSync(dir, { recursive: true, force: true });
});

function file(name: string, text: string): string {
  const full = path.join(dir, name);
  writeFileSync(full, text);
  return full;
}

function inventory(name: string, entities: string[]): string {
  return file(name, `version: 1\nentities:\n${entities.map((one) => `  - ${one}\n`).join('')}`);
}

interface Examined {
  ok: boolean;
  findings: Finding[];
  of: (name: string) => Finding;
  text: string;
}

/** What the doctor finds where the good configuration is changed like this; options that are undefined are not set. */
async function examined(changes: NodeJS.ProcessEnv): Promise<Examined> {
  const findings = await examine({ ...good, ...changes });
  return {
    ok: findings.every((finding) => finding.state !== 'failed'),
    findings,
    text: JSON.stringify(findings),
    of(name) {
      const found = findings.find((finding) => finding.name === name);
      if (found === undefined) throw new Error(`nothing about ${name}`);
      return found;
    },
  };
}

describe('nomos doctor', () => {
  it('finds a good configuration good, piece by piece', async () => {
    const { ok, findings, of } = await examined({});
    expect(findings.filter((finding) => finding.state !== 'ok')).toEqual([]);
    expect(ok).toBe(true);
    expect(of('database').detail).toMatch(/^PostgreSQL \d+.* at 127\.0\.0\.1:\d+\//);
    expect(of('redis').detail).toMatch(/^Valkey \d+/);
    expect(of('redis memory policy').detail).toBe('noeviction');
    expect(of('matrix account').detail).toBe(`signed in as ${botId}`);
    expect(of('encryption').detail).toContain('without MATRIX_PASSWORD');
    expect(of('model').detail).toContain('big-model');
    expect(of('inventory').detail).toContain('3 entities');
    expect(of('host:web-1').detail).toContain('SSH-2.0-OpenSSH');
    // A retired machine is not asked, and neither is a container, which has no port of its own.
    expect(findings.some((finding) => /gone|lxc/.test(finding.name))).toBe(false);
    const words = await nomos(['doctor'], good);
    expect(words.code).toBe(0);
    expect(words.stdout).toMatch(/^ok {6}settings: .*\n[^]*\nAll is well\.\n$/);
    expect(model.bodies).toEqual([]);
    const bad = await nomos(['doctor', '--json'], { ...good, OPENAI_API_KEY: 'a-wrong-key' });
    expect(bad.code).toBe(1);
    expect(JSON.parse(bad.stdout)).toMatchObject({
      ok: false,
      findings: expect.arrayContaining([
        { name: 'model', state: 'failed', detail: expect.any(String), mend: expect.any(String) },
      ]),
    });
  });

  it('changes nothing: an empty database stays empty', async () => {
    const url = await emptyDatabase();
    const { ok, of } = await examined({ DATABASE_URL: url });
    expect(of('database tables')).toMatchObject({
      state: 'warning',
      detail: expect.stringContaining('0 of '),
    });
    expect(of('database tables').mend).toContain('nomos migrate');
    expect(ok).toBe(true);
    expect((await examined({ DATABASE_URL: url })).of('database tables').detail).toContain('0 of ');
  });

  it('logs in with a password and out again, and says when that is refused', async () => {
    const homeserver = await testHomeserver();
    const bot = await homeserver.newUser('passbot');
    const name = bot.userId.slice(1).split(':')[0] ?? '';
    const withPassword = { MATRIX_ACCESS_TOKEN: undefined, MATRIX_USER: name };
    const right = await examined({ ...withPassword, MATRIX_PASSWORD: bot.password });
    expect(right.of('matrix account')).toMatchObject({
      state: 'ok',
      detail: `${bot.userId} can log in`,
    });
    expect(right.of('encryption').detail).toContain('signed at its first start');
    const devices = await fetch(`${homeserver.url}/_matrix/client/v3/devices`, {
      headers: { authorization: `Bearer ${bot.accessToken}` },
    });
    expect(((await devices.json()) as { devices: unknown[] }).devices).toHaveLength(1);
    const wrong = await examined({ ...withPassword, MATRIX_PASSWORD: 'not-the-password' });
    expect(wrong.of('matrix account')).toMatchObject({
      state: 'failed',
      detail: expect.stringContaining('M_FORBIDDEN'),
      mend: expect.stringContaining('MATRIX_PASSWORD'),
    });
    expect(wrong.text).not.toContain('not-the-password');
    expect(wrong.ok).toBe(false);
  });

  it('says what is wrong with each, how to mend it, and goes on with the others', async () => {
    const silent = await Silent.open();
    const key = file('broken_key', 'no key');
    chmodSync(key, 0o600);
    const { address } = sshd.endpoint;
    const { ok, of, text } = await examined({
      DATABASE_URL: 'postgres://nomos:pg-secret@127.0.0.1:1/nomos',
      REDIS_URL: 'redis://:redis-secret@127.0.0.1:1/0',
      MATRIX_ACCESS_TOKEN: 'a-wrong-token',
      OPENAI_API_KEY: 'a-wrong-key',
      NOMOS_SSH_KEY_FILE: key,
      NOMOS_INVENTORY: inventory('bad-hosts.yaml', [
        `{ slug: 'host:refuses', type: host, attributes: { address: ${address}, ssh_port: 1 } }`,
        `{ slug: 'host:no-ssh', type: host, attributes: { address: ${address}, ssh_port: ${model.port} } }`,
        `{ slug: 'host:silent', type: host, attributes: { address: ${address}, ssh_port: ${silent.port} } }`,
        `{ slug: 'host:unknown', type: host, attributes: { address: nowhere.invalid } }`,
        `{ slug: 'host:web-1', type: host, attributes: { address: ${address}, ssh_port: ${sshd.endpoint.port} } }`,
      ]),
    });
    silent.close();
    expect(ok).toBe(false);
    const bad = (name: string): Finding => {
      expect(of(name)).toMatchObject({ state: 'failed', mend: expect.stringMatching(/\w/) });
      return of(name);
    };
    expect(bad('database').detail).toContain('Cannot reach PostgreSQL at 127.0.0.1:1/nomos');
    expect(bad('redis').detail).toContain('nothing listens there');
    expect(of('homeserver').state).toBe('ok');
    expect(bad('matrix account')).toMatchObject({
      detail: expect.stringContaining('M_UNKNOWN_TOKEN'),
      mend: expect.stringContaining('MATRIX_ACCESS_TOKEN'),
    });
    expect(bad('model')).toMatchObject({
      detail: expect.stringContaining('refuses the key (401)'),
      mend: expect.stringContaining('OPENAI_API_KEY'),
    });
    expect(bad('ssh key').detail).toContain('cannot be used');
    expect(bad('host:refuses').detail).toContain('nothing listens there');
    expect(bad('host:no-ssh').detail).toMatch(/no SSH server|not answer/);
    expect(bad('host:silent').detail).toContain('does not answer in time');
    expect(bad('host:unknown').detail).toMatch(/host name/);
    expect(of('host:web-1').state).toBe('ok');
    expect(text).not.toMatch(/pg-secret|redis-secret|a-wrong-token|a-wrong-key/);
  });

  it('a file with faults is told with its line, and what hangs on it is not guessed', async () => {
    const { ok, of } = await examined({
      NOMOS_INVENTORY: inventory('bad.yaml', [`{ slug: 'host:x', type: spaceship }`]),
      NOMOS_POLICY: file(
        'policy.yaml',
        'version: 1\nrules:\n  - name: x\n    minimum_class: huge\n',
      ),
    });
    expect(of('inventory')).toMatchObject({
      state: 'failed',
      detail: expect.stringMatching(/spaceship[^]*allowed|line 3|:3/),
    });
    expect(of('policy')).toMatchObject({
      state: 'failed',
      detail: expect.stringContaining('huge'),
    });
    expect(of('hosts').state).toBe('skipped');
    expect(of('ontology').state).toBe('ok');
    expect(ok).toBe(false);
  });

  it('K10: each runbook with a fault is told with its line', async () => {
    const book = readFileSync('seeds/runbooks/restart-service.yaml', 'utf8');
    const folder = path.join(dir, 'books');
    mkdirSync(folder);
    for (const [name, text] of [
      ['good.yaml', book],
      ['quotes.yaml', book.replace('restart {{unit}}\n', 'restart "{{unit}}"\n')],
      ['old.yaml', book.replace('version: 1', 'version: 0')],
    ] as const) {
      file(`books/${name}`, text);
    }
    file('books/notes.txt', 'no runbook');
    const { ok, of, findings } = await examined({ NOMOS_RUNBOOKS: folder });
    expect(of('runbooks')).toMatchObject({ state: 'ok', detail: `${folder}: 3 files` });
    const bad = findings.filter(({ name }) => name === 'runbook');
    expect(bad.map(({ detail }) => detail)).toEqual([
      expect.stringMatching(/old\.yaml:1:10: version: this version of Nomos reads version 1/),
      expect.stringMatching(
        /quotes\.yaml:\d+:\d+: run of step 2: \{\{unit\}\} must stand by itself/,
      ),
    ]);
    expect(ok).toBe(false);
  });

  it('P6: a rule about what the inventory does not have is a warning with its line, for it protects nothing', async () => {
    const { ok, of } = await examined({
      NOMOS_POLICY: file(
        'policy.yaml',
        'version: 1\nrules:\n  - { name: slip, match: { target: [web-9] }, never_auto_act: true }\n',
      ),
    });
    expect(of('policy').state).toBe('ok');
    expect(of('policy rule')).toMatchObject({
      state: 'warning',
      detail: 'line 3: rule "slip" is about the target "web-9", but there is no such entity',
      mend: expect.stringContaining('such as host:db-1'),
    });
    expect(ok).toBe(true);
  });

  it('options that are wrong or missing are told by name, all at once, and the rest is looked at', async () => {
    const { ok, of, findings } = await examined({
      REDIS_URL: undefined,
      NOMOS_OPERATORS: '@ann:test.local=king',
      NOMOS_GRANT_TTL: 'soon',
      NOMOS_INVENTORY: '/nowhere/inventory.yaml',
    });
    const told = findings
      .filter((finding) => finding.name === 'settings')
      .map((finding) => finding.detail);
    expect(told).toHaveLength(4);
    for (const name of ['REDIS_URL', 'NOMOS_OPERATORS', 'NOMOS_GRANT_TTL', 'NOMOS_INVENTORY']) {
      expect(told.some((detail) => detail.startsWith(`${name} `))).toBe(true);
    }
    expect(of('redis').state).toBe('skipped');
    expect(of('files').state).toBe('skipped');
    expect(of('database').state).toBe('ok');
    expect(of('matrix account').state).toBe('ok');
    expect(ok).toBe(false);
  });

  it('a Redis that drops jobs, one that wants a password, and what is no Redis are told apart', async () => {
    const dropping = await RedisStandIn.open({ policy: 'allkeys-lru', version: '6.2.0' });
    const locked = await RedisStandIn.open({ password: 'open-sesame' });
    const unasked = await RedisStandIn.open({ policy: undefined });
    try {
      const one = await examined({ REDIS_URL: dropping.url });
      expect(one.of('redis')).toMatchObject({
        state: 'failed',
        mend: expect.stringContaining('Redis 7'),
      });
      expect(one.of('redis memory policy')).toMatchObject({
        state: 'failed',
        detail: expect.stringContaining('allkeys-lru'),
        mend: expect.stringContaining('noeviction'),
      });
      for (const url of [locked.url, locked.url.replace('//', '//:wrong@')]) {
        expect((await examined({ REDIS_URL: url })).of('redis')).toMatchObject({
          state: 'failed',
          mend: expect.stringContaining('password'),
        });
      }
      expect(
        (await examined({ REDIS_URL: locked.url.replace('//', '//:open-sesame@') })).of('redis')
          .state,
      ).toBe('ok');
      expect((await examined({ REDIS_URL: unasked.url })).of('redis memory policy').state).toBe(
        'warning',
      );
      const other = await examined({ REDIS_URL: `redis://127.0.0.1:${model.port}` });
      expect(other.of('redis')).toMatchObject({
        state: 'failed',
        detail: expect.stringContaining('no Redis server'),
      });
    } finally {
      for (const server of [dropping, locked, unasked]) server.close();
    }
  });

  it('a model that is not listed, an endpoint without a list, and an address that is no homeserver are told apart', async () => {
    expect((await examined({ NOMOS_MODEL: 'big-model,huge-model' })).of('model')).toMatchObject({
      state: 'warning',
      detail: expect.stringContaining('does not list huge-model'),
      mend: expect.stringContaining('big-model'),
    });
    expect((await examined({ OPENAI_BASE_URL: `${model.url}/elsewhere` })).of('model').state).toBe(
      'warning',
    );
    const swapped = await examined({ MATRIX_HOMESERVER_URL: model.url });
    expect(swapped.of('homeserver')).toMatchObject({
      state: 'failed',
      detail: expect.stringContaining('it is not a Matrix homeserver'),
    });
    expect(swapped.findings.some((finding) => finding.name === 'matrix account')).toBe(false);
  });

  it('the bot among the operators and a key that others can read are warnings', async () => {
    const key = file('open_key', '');
    writeFileSync(key, (await import('node:fs')).readFileSync(sshd.keyFile));
    chmodSync(key, 0o644);
    const { ok, of } = await examined({
      NOMOS_OPERATORS: `${botId}=admin`,
      NOMOS_SSH_KEY_FILE: key,
    });
    expect(of('operators').state).toBe('warning');
    expect(of('ssh key')).toMatchObject({ state: 'warning', mend: `chmod 600 ${key}` });
    expect(ok).toBe(true);
  });
});

/** An OpenAI-compatible endpoint that has a list of models and takes one key. */
class ModelStandIn {
  readonly bodies: string[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(): Promise<ModelStandIn> {
    const server = createServer((request, response) => {
      const known = request.url === '/v1/models';
      const right = request.headers.authorization === 'Bearer the-right-key';
      response.writeHead(known ? (right ? 200 : 401) : 404, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify(
          known && right
            ? { object: 'list', data: [{ id: 'big-model' }] }
            : { error: { message: 'no' } },
        ),
      );
    });
    const standIn = new ModelStandIn(server);
    server.on('request', (request) => {
      if (request.method !== 'GET') standIn.bodies.push(request.url ?? '');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return standIn;
  }

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/v1`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Accepts connections and says nothing. */
class Silent {
  readonly #server: net.Server;
  readonly #sockets: net.Socket[] = [];

  private constructor(server: net.Server) {
    this.#server = server;
    server.on('connection', (socket) => this.#sockets.push(socket));
  }

  static async open(): Promise<Silent> {
    const server = net.createServer();
    const silent = new Silent(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return silent;
  }

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}

/** Says what a badly set up Redis would say: the one that runs here is set up well. */
class RedisStandIn {
  readonly #server: net.Server;

  private constructor(server: net.Server) {
    this.#server = server;
  }

  static async open(as: {
    policy?: string | undefined;
    version?: string;
    password?: string;
  }): Promise<RedisStandIn> {
    const text = (value: string): string => `$${Buffer.byteLength(value)}\r\n${value}\r\n`;
    const server = net.createServer((socket) => {
      let allowed = as.password === undefined;
      socket.on('error', () => {});
      socket.on('data', (bytes: Buffer) => {
        const words = bytes
          .toString()
          .split('\r\n')
          .filter((_, index) => index > 0 && index % 2 === 0);
        if (words[0] === 'AUTH') {
          allowed = words[1] === as.password;
          socket.write(allowed ? '+OK\r\n' : '-WRONGPASS invalid username-password pair\r\n');
        } else if (!allowed) {
          socket.write('-NOAUTH Authentication required.\r\n');
        } else if (words[0] === 'INFO') {
          socket.write(text(`# Server\r\nredis_version:${as.version ?? '7.2.4'}\r\n`));
        } else if (as.policy === undefined && !('password' in as)) {
          socket.write(
            "-NOPERM User default has no permissions to run the 'config|get' command\r\n",
          );
        } else {
          socket.write(`*2\r\n${text('maxmemory-policy')}${text(as.policy ?? 'noeviction')}`);
        }
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new RedisStandIn(server);
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.#server.address() as net.AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
  }
}
