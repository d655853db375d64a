/**
 * The whole of Nomos as a process of its own, on real services: PostgreSQL, Valkey, Synapse, OpenSSH's sshd, and people with
 * matrix-js-sdk. Only the model is scripted.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { verifyAudit } from '../../core/audit/verify.ts';
import { Database } from '../../core/db/database.ts';
import type { Role } from '../../core/operators.ts';
import type { MatrixAccount } from '../../demo/services/matrix-accounts.ts';
import { nomos, type CliResult } from './cli.ts';
import { Person, type RawEvent } from './matrix.ts';
import { startScriptedModel, type ScriptedModel } from './scripted-model.ts';
import { freshDatabase, testHomeserver, testRedis, type TestHomeserver } from './services.ts';
import { TestSshd } from './sshd.ts';

const MAIN = fileURLToPath(new URL('../../core/main.ts', import.meta.url));
const START_MS = 120_000;
const WAIT_MS = 75_000;
/** A look reads a whole room from a homeserver that all tests share: often enough to lose little, seldom enough to leave it its work. */
const LOOK_EVERY_MS = 250;

/** A message of the bot as it stands now: its newest edit. */
export interface Shown {
  eventId: string;
  kind: string;
  card: string;
  body: string;
  html: string;
  /** The root of the thread that it stands in. */
  thread: string | undefined;
  mentions: string[];
}

/** See the head of this file. */
export class NomosWorld implements AsyncDisposable {
  readonly database: Database;
  readonly model: ScriptedModel;
  readonly sshd: TestSshd;
  readonly homeserver: TestHomeserver;
  readonly bot: MatrixAccount;
  readonly #databaseUrl: string;
  readonly #redisUrl: string;
  readonly #dir: string;
  readonly #people = new Map<string, { person: Person; role: Role | undefined }>();
  #process: ChildProcess | undefined;
  #log = '';

  private constructor(parts: {
    database: Database;
    databaseUrl: string;
    redisUrl: string;
    model: ScriptedModel;
    sshd: TestSshd;
    homeserver: TestHomeserver;
    bot: MatrixAccount;
    dir: string;
  }) {
    this.database = parts.database;
    this.#databaseUrl = parts.databaseUrl;
    this.#redisUrl = parts.redisUrl;
    this.model = parts.model;
    this.sshd = parts.sshd;
    this.homeserver = parts.homeserver;
    this.bot = parts.bot;
    this.#dir = parts.dir;
  }

  /** Prepares everything but Nomos itself, which `start` starts. */
  static async open(
    options: { homeserver?: () => Promise<TestHomeserver> } = {},
  ): Promise<NomosWorld> {
    const [databaseUrl, redis, homeserver, model, sshd] = await Promise.all([
      freshDatabase(),
      testRedis(),
      (options.homeserver ?? testHomeserver)(),
      startScriptedModel(),
      TestSshd.start(),
    ]);
    const world = new NomosWorld({
      database: await Database.connect(databaseUrl, { connections: 3 }),
      databaseUrl,
      redisUrl: redis.url,
      model,
      sshd,
      homeserver,
      bot: await homeserver.newUser('nomos'),
      dir: mkdtempSync(path.join(tmpdir(), 'nomos-world-')),
    });
    world.#writeInventory();
    return world;
  }

  /** A person with a client; with a role they become an operator at the next start. */
  async person(name: string, role?: Role, options: { encrypts?: boolean } = {}): Promise<Person> {
    return this.personOf(name, await this.homeserver.newUser(name), role, options);
  }

  /** The same for an account that is there already, such as one that is also signed in elsewhere. */
  async personOf(
    name: string,
    account: MatrixAccount,
    role?: Role,
    options: { encrypts?: boolean } = {},
  ): Promise<Person> {
    const person = await Person.open(this.homeserver.url, account, options);
    this.#people.set(name, { person, role });
    return person;
  }

  /** Starts Nomos and waits until it has its rooms. */
  async start(extra: NodeJS.ProcessEnv = {}): Promise<void> {
    await this.launch(extra);
    await this.until(
      'the bot is up',
      async () => {
        if (this.#process?.exitCode != null)
          throw new Error(`Nomos ended at its start:\n${this.#log}`);
        return /"to":"active"/.test(this.#log) ? true : undefined;
      },
      START_MS,
    );
  }

  /** Starts the process alone. */
  async launch(extra: NodeJS.ProcessEnv = {}): Promise<ChildProcess> {
    this.#log = '';
    const child = spawn(process.execPath, [MAIN, 'start'], {
      cwd: this.#dir,
      env: {
        PATH: process.env['PATH'],
        HOME: this.#dir,
        DATABASE_URL: this.#databaseUrl,
        REDIS_URL: this.#redisUrl,
        MATRIX_HOMESERVER_URL: this.homeserver.url,
        MATRIX_ACCESS_TOKEN: this.bot.accessToken,
        NOMOS_OPERATORS: this.#operators(),
        OPENAI_BASE_URL: this.model.baseUrl,
        OPENAI_API_KEY: 'a-key-for-tests',
        NOMOS_MODEL: 'scripted',
        NOMOS_INVENTORY: path.join(this.#dir, 'inventory.yaml'),
        NOMOS_SSH_KEY_FILE: this.sshd.keyFile,
        NOMOS_API_LISTEN: '127.0.0.1:0',
        NOMOS_CHECKS: 'off',
        NOMOS_LOG_LEVEL: 'info',
        ...extra,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.on(
        'data',
        (chunk: Buffer) => (this.#log = (this.#log + chunk.toString()).slice(-200_000)),
      );
    }
    this.#process = child;
    return child;
  }

  /** Runs a command of the command line on the same database. */
  async nomos(args: readonly string[]): Promise<CliResult> {
    return nomos(args, {
      DATABASE_URL: this.#databaseUrl,
      NOMOS_OPERATORS: this.#operators(),
    });
  }

  /** What Nomos has logged and printed since its last start. */
  get log(): string {
    return this.#log;
  }

  /** Where the API listens. */
  get apiUrl(): string {
    const url = /API at (http:\/\/[^ ]+)\./.exec(this.#log)?.[1];
    if (url === undefined) throw new Error(`no API yet:\n${this.#log}`);
    return url;
  }

  /** Halts Nomos where it stands until it is let go on: what arrives meanwhile it gets in one piece. */
  hold(): { go(): void } {
    const child = this.#process;
    child?.kill('SIGSTOP');
    return { go: () => void child?.kill('SIGCONT') };
  }

  /** Ends Nomos by a signal and waits for its end. Gives its exit code. */
  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null)
      return child?.exitCode ?? null;
    const gone = once(child, 'exit');
    child.kill(signal);
    await gone;
    return child.exitCode;
  }

  /** Waits until Nomos has ended by itself. */
  async ended(): Promise<void> {
    const child = this.#process;
    if (child !== undefined && child.exitCode === null && child.signalCode === null)
      await once(child, 'exit');
  }

  /** The lobby, once this person is in it. */
  async lobby(person: Person): Promise<string> {
    return person.room(/lobby/i);
  }

  /** Asks for something, in the lobby unless said otherwise, and gives the task's room, once the person is in it. */
  async ask(
    person: Person,
    text: string,
    where?: string,
  ): Promise<{ roomId: string; sessionId: string }> {
    const eventId = await person.say(where ?? (await this.lobby(person)), text);
    return this.until('the task has its room', async () => {
      const message = await this.database.read.message.findUnique({
        where: { eventId },
        include: { session: true },
      });
      const roomId = message?.session.roomId;
      if (message == null || roomId == null) return undefined;
      const joined = person.client.getRoom(roomId)?.getMyMembership() === 'join';
      return joined ? { roomId, sessionId: message.sessionId } : undefined;
    });
  }

  /** The bot's messages in a room as they stand now, oldest first. */
  async shown(person: Person, roomId: string): Promise<Shown[]> {
    const shown = new Map<string, Shown>();
    for (const event of await person.history(roomId)) {
      if (event.type !== 'm.room.message' || event.sender !== this.bot.userId) continue;
      const edited = relation(event, 'm.replace');
      const content = (event.content['m.new_content'] ?? event.content) as Record<string, unknown>;
      const before = edited === undefined ? undefined : shown.get(edited);
      const tags = event.content['org.nomos'] as { kind?: string; card?: string } | undefined;
      shown.set(edited ?? event.event_id, {
        eventId: edited ?? event.event_id,
        kind: before?.kind ?? tags?.kind ?? '',
        card: before?.card ?? tags?.card ?? '',
        body: text(content['body']),
        html: text(content['formatted_body']),
        thread: before?.thread ?? relation(event, 'm.thread'),
        mentions:
          (event.content['m.mentions'] as { user_ids?: string[] } | undefined)?.user_ids ??
          before?.mentions ??
          [],
      });
    }
    return [...shown.values()];
  }

  /** Waits for a message of the bot that satisfies `wanted`, in its newest form. */
  async card(
    person: Person,
    roomId: string,
    wanted: (card: Shown) => boolean,
    what: string,
  ): Promise<Shown> {
    return this.until(what, async () => (await this.shown(person, roomId)).find(wanted));
  }

  /** The card of an execution that waits for a decision; the n-th of them in the room, counted from 1. */
  async waiting(person: Person, roomId: string, n = 1): Promise<Shown> {
    return this.until(`card ${n} waits`, async () => {
      const cards = (await this.shown(person, roomId)).filter(({ kind }) => kind === 'execution');
      const waiting = await this.database.read.execution.findMany({
        where: { status: 'pending_approval' },
      });
      const keys = new Set(waiting.map(({ id }) => `execution:${id}`));
      return cards.filter(({ card }) => keys.has(card))[n - 1];
    });
  }

  /** Waits for a query's answer. */
  async until<T>(what: string, look: () => Promise<T | undefined>, limitMs = WAIT_MS): Promise<T> {
    const deadline = performance.now() + limitMs;
    for (;;) {
      const value = await look();
      if (value !== undefined) return value;
      if (performance.now() > deadline) {
        throw new Error(`It did not come to pass: ${what}\n${this.#log.slice(-4_000)}`);
      }
      // The homeserver and the database are asked again: what is waited for lies in another process.
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  }

  /** Waits until the task has ended, and gives its row. */
  async done(sessionId: string) {
    return this.until('the task ended', async () => {
      const session = await this.database.read.session.findUniqueOrThrow({
        where: { id: sessionId },
      });
      return session.endedAt === null ? undefined : session;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end('SIGTERM');
    const { broken } = await verifyAudit(this.database);
    for (const { person } of this.#people.values()) person.close();
    await Promise.all([this.database.close(), this.model.stop(), this.sshd.stop()]);
    rmSync(this.#dir, { recursive: true, force: true });
    // R15: after every test.
    if (broken !== null)
      throw new Error(`the audit chain is broken at ${broken.id}: ${broken.why}`);
  }

  #operators(): string {
    return [...this.#people.values()]
      .filter(({ role }) => role !== undefined)
      .map(({ person, role }) => `${person.userId}=${role}`)
      .join(',');
  }

  #writeInventory(): void {
    const { address, port, user } = this.sshd.endpoint;
    writeFileSync(
      path.join(this.#dir, 'inventory.yaml'),
      `version: 1
entities:
  - { slug: 'host:web-1', type: host, attributes: { address: ${address}, ssh_port: ${port}, ssh_user: ${user} } }
  - { slug: 'host:web-2', type: host, attributes: { address: ${address}, ssh_port: ${port}, ssh_user: ${user} } }
  - { slug: 'host:away', type: host, attributes: { address: 127.0.0.1, ssh_port: 1, ssh_user: ${user} } }
  - { slug: 'service:nginx@web-1', type: service }
  - { slug: 'domain:www.example.org', type: domain }
relations:
  - ['service:nginx@web-1', runs_on, 'host:web-1']
  - ['domain:www.example.org', routes_to, 'service:nginx@web-1']
`,
    );
  }
}

function relation(event: RawEvent, type: string): string | undefined {
  const related = event.content['m.relates_to'] as
    | { rel_type?: string; event_id?: string }
    | undefined;
  return related?.rel_type === type ? related.event_id : undefined;
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
