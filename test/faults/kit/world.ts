/**
 * A whole Nomos that may be hurt: its processes, a PostgreSQL, a Valkey, an sshd and (on request) a homeserver of its own. It
 * lives through many rounds of faults. A keeper starts a process again when it ends, as an init system would.
 */
import { mkdtempSync, readFileSync, rmSync, existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { createToken } from '../../../core/api/tokens.ts';
import { Database } from '../../../core/db/database.ts';
import { asId, type UserId } from '../../../core/ids.ts';
import { loadGraph } from '../../../core/graph/load.ts';
import { parseInventory } from '../../../core/graph/inventory-file.ts';
import { loadOntology } from '../../../core/graph/ontology-file.ts';
import { limits } from '../../../core/limits.ts';
import type { Operator } from '../../../core/operators.ts';
import type { MatrixAccount } from '../../../demo/services/matrix-accounts.ts';
import { migrate } from '../../../prisma/migrate.ts';
import { HomeserverProxy } from '../../support/matrix-proxy.ts';
import { Person } from '../../support/matrix.ts';
import { CabledHost } from '../../support/netns.ts';
import { TestSshd } from '../../support/sshd.ts';
import { lineTo, type Link } from './link.ts';
import { PlanningModel } from './model.ts';
import { NomosProcess, type Worker } from './process.ts';
import { Random } from './random.ts';
import type { HurtServices } from './services.ts';
import { commandsOn, writeInventory } from './setting.ts';
import { LightWorker } from './worker.ts';

/** What a world is made of. */
export interface WorldOptions {
  services: HurtServices;
  /** Fit for the name of a database. */
  name: string;
  seed: number;
  /** With a homeserver and an operator in it; without, the operator uses the API and the domain's own verbs. */
  matrix: boolean;
  /** What has the jobs role: 1 or 2. */
  workers: number;
  /** Whether the database's clock is moved: it is that of all worlds on these services. */
  movesClock: boolean;
  /** Workers inside this process instead of processes of their own; not with a homeserver. */
  light: boolean;
  /** With a homeserver: every room is encrypted, and the operator's client has keys. */
  encrypted?: boolean;
  /** The hosts stand at the far end of a cable that can be pulled; wants network namespaces. */
  cabled?: boolean;
  /** The fault points (`name#n`) at which the first process's first lives end. */
  firstDeaths?: readonly string[];
}

/** What a command of the workload wrote on its host. */
export interface HostLine {
  executionId: string;
  /** `t17-2`: task and step. */
  token: string;
  atMs: number;
}

/** The homeserver's side of a world. */
export interface MatrixSide {
  proxy: HomeserverProxy;
  bot: MatrixAccount;
  person: Person;
  serverUrl: string;
  encrypted: boolean;
}

/** Leases in a world: short, so that a freeze can outlast one; long enough for a machine that has other work to do. */
export const LEASE_MS = 6_000;
/** When a task counts as idle in a world (J4). */
export const IDLE_AFTER_MS = 8_000;

const SOUL = fileURLToPath(new URL('../../../SOUL.md', import.meta.url));
const ONTOLOGY = fileURLToPath(new URL('../../../seeds/ontology.yaml', import.meta.url));

/** See the head of this file. */
export class FaultWorld {
  readonly services: HurtServices;
  readonly database: Database;
  readonly databaseName: string;
  readonly sshd: TestSshd;
  readonly model: PlanningModel;
  readonly processes: readonly Worker[];
  readonly operator: Operator;
  readonly matrix: MatrixSide | undefined;
  readonly apiToken: string;
  /** What went wrong outside of rounds: a process that ended by itself. */
  readonly oddities: string[] = [];
  /** The cable that the hosts hang on, where there is one. */
  readonly cable: CabledHost | undefined;
  readonly movesClock: boolean;
  readonly #lines: readonly Link[];
  /** Since then times of before and after cannot be compared. */
  clockMoved = false;
  readonly #dir: string;
  readonly #armed: string[] = [];
  /** The fault point at which each process will end itself, while that is still to come. */
  readonly #fuse = new Map<Worker, string>();
  readonly fired: Record<string, number> = {};
  #keeping = true;
  #held = new Set<Worker>();

  private constructor(parts: {
    services: HurtServices;
    database: Database;
    databaseName: string;
    sshd: TestSshd;
    model: PlanningModel;
    processes: readonly Worker[];
    operator: Operator;
    matrix: MatrixSide | undefined;
    apiToken: string;
    movesClock: boolean;
    cable: CabledHost | undefined;
    lines: readonly Link[];
    dir: string;
  }) {
    this.cable = parts.cable;
    this.#lines = parts.lines;
    this.services = parts.services;
    this.database = parts.database;
    this.databaseName = parts.databaseName;
    this.sshd = parts.sshd;
    this.model = parts.model;
    this.processes = parts.processes;
    this.operator = parts.operator;
    this.matrix = parts.matrix;
    this.apiToken = parts.apiToken;
    this.movesClock = parts.movesClock;
    this.#dir = parts.dir;
  }

  static async open(options: WorldOptions): Promise<FaultWorld> {
    const { services, name } = options;
    const databaseUrl = await services.database(name);
    await migrate(databaseUrl);
    const cable = options.cabled === true ? new CabledHost() : undefined;
    const [database, sshd] = await Promise.all([
      Database.connect(databaseUrl, { connections: 3, name: 'fault-kit' }),
      TestSshd.start({
        slug: 'web',
        ...(cable && { address: cable.address, launcher: cable.launcher }),
      }),
    ]);
    const model = await PlanningModel.start(commandsOn(sshd), new Random(options.seed ^ 0x5eed));
    const dir = mkdtempSync(path.join(tmpdir(), 'nomos-faults-'));
    const encrypted = options.encrypted === true;
    const matrix = options.matrix ? await openMatrix(services, name, encrypted) : undefined;
    const userId = matrix?.person.userId ?? asId<UserId>('@ann:faults.local');
    const { token } = await createToken(database, {
      name: 'faults',
      scopes: ['read', 'operate', 'approve'],
      operator: userId,
    });
    writeInventory(dir, sshd);
    if (options.light) {
      const ontology = loadOntology(ONTOLOGY);
      const file = path.join(dir, 'inventory.yaml');
      await loadGraph(
        database,
        ontology,
        parseInventory(readFileSync(file, 'utf8'), file, ontology),
      );
    }
    const env = {
      PATH: process.env['PATH'],
      HOME: dir,
      NODE_COMPILE_CACHE: path.join(services.dir, 'compile-cache'),
      MATRIX_HOMESERVER_URL: matrix?.proxy.url ?? 'http://127.0.0.1:9',
      MATRIX_ACCESS_TOKEN: matrix?.bot.accessToken ?? 'none-in-this-world',
      NOMOS_OPERATORS: `${userId}=admin`,
      OPENAI_BASE_URL: model.baseUrl,
      OPENAI_API_KEY: 'a-key-for-tests',
      NOMOS_MODEL: 'planner',
      NOMOS_INVENTORY: path.join(dir, 'inventory.yaml'),
      NOMOS_SSH_KEY_FILE: sshd.keyFile,
      NOMOS_API_LISTEN: '127.0.0.1:0',
      NOMOS_CHECKS: 'off',
      NOMOS_INLINE_WAIT: '1s',
      NOMOS_IDLE_AFTER: `${IDLE_AFTER_MS / 1_000}s`,
      NOMOS_GRANT_TTL: `${limits().grantTtlMs / 1_000}s`,
      NOMOS_FAULT_LEASE_MS: String(LEASE_MS),
      NOMOS_LOG_LEVEL: 'info',
      NOMOS_ENCRYPTION: encrypted ? 'always' : 'auto',
    };
    const lines: Link[] = [];
    const make = async (workerName: string): Promise<Worker> => {
      if (options.light) {
        return new LightWorker({
          name: workerName,
          databaseUrl,
          redisUrl: services.redisUrl,
          modelUrl: model.baseUrl,
          sshKeyFile: sshd.keyFile,
          soulFile: SOUL,
        });
      }
      // A second bot is a stand-by (Z9).
      const roles = options.matrix ? 'bot,jobs,api' : 'jobs,api';
      const [toDatabase, toRedis] = [await lineTo(databaseUrl), await lineTo(services.redisUrl)];
      lines.push(toDatabase.line, toRedis.line);
      return new NomosProcess({
        name: workerName,
        roles,
        env: { ...env, DATABASE_URL: toDatabase.url, REDIS_URL: toRedis.url },
        cwd: dir,
        lines: { database: toDatabase.line, Redis: toRedis.line },
      });
    };
    const processes: Worker[] = [];
    for (let n = 1; n <= options.workers; n++) processes.push(await make(`worker-${n}`));
    const world = new FaultWorld({
      services,
      database,
      databaseName: name,
      sshd,
      model,
      processes,
      operator: { userId, role: 'admin' },
      matrix,
      apiToken: token,
      movesClock: options.movesClock,
      cable,
      lines,
      dir,
    });
    await world.#startAll(options.firstDeaths ?? []);
    return world;
  }

  /** Does something with the database of the world, again and again while the database is being hurt. */
  async steady<T>(work: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work();
      } catch (error) {
        if (attempt >= 900 || !isAway(error)) throw error;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  }

  /** Waits until `look` gives something; throws with `what` after `limitMs`. */
  async until<T>(what: string, limitMs: number, look: () => Promise<T | undefined>): Promise<T> {
    const deadline = performance.now() + limitMs;
    for (;;) {
      const found = await this.steady(look);
      if (found !== undefined) return found;
      if (performance.now() > deadline) throw new Error(`it did not come to pass: ${what}`);
      // What is waited for happens in other processes.
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  /** Lets the next life of a process end at this point (`name#n`). A process without a fuse is killed now to begin that life. */
  armKill(point: string, victim: Worker): void {
    this.#armed.push(point);
    if (!this.#fuse.has(victim) && !this.#held.has(victim)) victim.signal('SIGKILL');
  }

  /** Keeps a process from being started again, for a fault that stops it by itself. */
  hold(process: Worker): () => void {
    this.#held.add(process);
    return () => {
      this.#held.delete(process);
    };
  }

  /** Takes back what was armed and did not happen yet; a process that was started with it is ended and started without. */
  async disarm(victim: Worker): Promise<void> {
    this.#armed.length = 0;
    if (this.#fuse.delete(victim)) await victim.end('SIGTERM');
  }

  /** What commands of the workload wrote on the hosts: when they began, or when they ended. */
  hostLog(which: 'starts' | 'ends'): HostLine[] {
    const file = path.join(this.sshd.home, `${which}.log`);
    if (!existsSync(file)) return [];
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => {
        const [executionId = '', token = '', atMs = '0'] = line.split(' ');
        return { executionId, token, atMs: Number(atMs) };
      });
  }

  /** Ends everything. */
  async close(): Promise<void> {
    this.#keeping = false;
    for (const one of this.processes) one.signal('SIGCONT');
    this.cable?.plug();
    await Promise.all(this.processes.map((one) => one.end('SIGTERM')));
    this.matrix?.person.close();
    await this.matrix?.proxy.close();
    for (const line of this.#lines) line.cut();
    await Promise.all([this.database.close(), this.model.stop(), this.sshd.stop()]);
    this.cable?.[Symbol.dispose]();
    rmSync(this.#dir, { recursive: true, force: true });
  }

  async #startAll(firstDeaths: readonly string[]): Promise<void> {
    const [first, ...rest] = firstDeaths;
    this.#armed.push(...rest);
    for (const one of this.processes) {
      const point = one === this.processes[0] ? first : undefined;
      if (point !== undefined) this.#fuse.set(one, point);
      one.start(point);
      void this.#keep(one);
    }
    await this.until('Nomos is up', 150_000, async () =>
      this.processes.every((one) => one.up) ? true : undefined,
    );
    const { matrix } = this;
    if (matrix !== undefined) await matrix.person.room(/lobby/i);
  }

  async #keep(one: Worker): Promise<void> {
    while (this.#keeping) {
      const { code, signal } = await one.ended;
      if (!this.#keeping) return;
      const fuse = this.#fuse.get(one);
      if (signal === 'SIGKILL' && fuse !== undefined) {
        this.fired[fuse.split('#')[0] ?? ''] = (this.fired[fuse.split('#')[0] ?? ''] ?? 0) + 1;
      }
      this.#fuse.delete(one);
      if (signal === null && code !== 0 && !isAway(one.log.slice(-2_000))) {
        this.oddities.push(
          `${one.name} ended by itself with code ${code}:\n${one.log.slice(-3_000)}`,
        );
      }
      // As an init system waits before it starts again what cannot start.
      if (signal === null && code !== 0) await new Promise((resolve) => setTimeout(resolve, 300));
      while (this.#held.has(one)) await new Promise((resolve) => setTimeout(resolve, 50));
      if (!this.#keeping) return;
      const point = this.#armed.shift();
      if (point !== undefined) this.#fuse.set(one, point);
      one.start(point);
    }
  }
}

async function openMatrix(
  services: HurtServices,
  name: string,
  encrypted: boolean,
): Promise<MatrixSide> {
  const homeserver = await services.homeserver();
  const account = async (who: string): Promise<MatrixAccount> => {
    const made = await homeserver.accounts.register(`${who}-${name}`, `password-of-${who}`);
    if (made === undefined) throw new Error(`${who}-${name} is there already`);
    return made;
  };
  const [proxy, bot, ann] = await Promise.all([
    HomeserverProxy.open(homeserver.url),
    account('nomos'),
    account('ann'),
  ]);
  return {
    proxy,
    bot,
    person: await Person.open(homeserver.url, ann, { encrypts: encrypted }),
    serverUrl: homeserver.url,
    encrypted,
  };
}

/** Whether an error says that the database was away or went away, so that the work may be done again. */
export function isAway(error: unknown): boolean {
  return /terminat|connection|ECONN|closed|57P0|P1001|P1017|P2024|P2028|starting up|shutting down|recovery mode|Timed out|reach|socket|too many clients|accepting connections|start a transaction|Transaction API|trying to connect/i.test(
    String(error),
  );
}
