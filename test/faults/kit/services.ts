import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import pg from 'pg';
import { removeDatabaseHome } from '../../../demo/services/postgres-home.ts';
import { startPostgres, type EmbeddedPostgres } from '../../../demo/services/postgres.ts';
import { Supervisor } from '../../../demo/services/supervisor.ts';
import { startSynapse, type EmbeddedSynapse } from '../../../demo/services/synapse.ts';
import { FakeClock, findFaketime } from '../../support/fake-clock.ts';
import { startValkey, type EmbeddedValkey } from '../../../demo/services/valkey.ts';
import { ensurePython } from '../../../scripts/lib/python.mjs';

const home = fileURLToPath(new URL('../../../.nomos', import.meta.url));

/**
 * Services that may be hurt: a PostgreSQL, a Valkey and (on request) a Synapse of this run's own. PostgreSQL writes to disk
 * as in earnest: what it acknowledged must be there after an immediate stop (R9).
 */
export class HurtServices {
  readonly dir: string;
  /** The clock of PostgreSQL; undefined where libfaketime is not installed. */
  readonly clock: FakeClock | undefined;
  readonly #supervisor: Supervisor;
  readonly #pythonDir: string;
  readonly #python: string;
  #postgres: EmbeddedPostgres;
  #valkey: EmbeddedValkey;
  #synapse: EmbeddedSynapse | undefined;

  private constructor(parts: {
    dir: string;
    clock: FakeClock | undefined;
    supervisor: Supervisor;
    pythonDir: string;
    python: string;
    postgres: EmbeddedPostgres;
    valkey: EmbeddedValkey;
  }) {
    this.dir = parts.dir;
    this.clock = parts.clock;
    this.#supervisor = parts.supervisor;
    this.#pythonDir = parts.pythonDir;
    this.#python = parts.python;
    this.#postgres = parts.postgres;
    this.#valkey = parts.valkey;
  }

  /** Starts PostgreSQL and Valkey in a folder of this process's own. `fast`: nothing is flushed to disk, nothing may be crashed. */
  static async start(options: { fast?: boolean } = {}): Promise<HurtServices> {
    const dir = path.join(home, `faults-${process.pid}`);
    mkdirSync(dir, { recursive: true, mode: 0o711 });
    const supervisor = new Supervisor(dir, path.join(dir, 'logs'));
    const { dir: pythonDir, python } = await ensurePython({
      home,
      onProgress: (text) => process.stderr.write(`Python packages: ${text}\n`),
    });
    const clock =
      findFaketime() === undefined ? undefined : new FakeClock(path.join(dir, 'clock-postgres'));
    const [postgres, valkey] = await Promise.all([
      startPostgres({
        supervisor,
        stateDir: dir,
        fast: options.fast === true,
        ...(clock && { env: clock.env }),
      }),
      startValkey({ supervisor, stateDir: dir, pythonDir, fast: true }),
    ]);
    return new HurtServices({ dir, clock, supervisor, pythonDir, python, postgres, valkey });
  }

  get redisUrl(): string {
    return this.#valkey.url;
  }

  /** A database of one's own with nothing in it. */
  async database(name: string): Promise<string> {
    await this.#admin((client) => client.query(`CREATE DATABASE ${name}`));
    const url = new URL(this.#postgres.url);
    url.pathname = `/${name}`;
    return url.href;
  }

  /** The homeserver, started when first asked for. */
  async homeserver(): Promise<EmbeddedSynapse> {
    return (this.#synapse ??= await startSynapse({
      supervisor: this.#supervisor,
      stateDir: this.dir,
      python: this.#python,
      serverName: 'faults.local',
      rateLimits: 'high',
      fast: true,
    }));
  }

  /** Cuts every connection to a database at once. Returns how many there were. */
  async cutDatabaseConnections(name: string): Promise<number> {
    return this.#admin(async (client) => {
      const { rowCount } = await client.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1',
        [name],
      );
      return rowCount ?? 0;
    });
  }

  /** Stops PostgreSQL as a crash does (SIGQUIT: immediate) and starts it again; it recovers from its log. */
  async crashPostgres(): Promise<void> {
    const { port, pid } = this.#postgres;
    process.kill(pid, 'SIGQUIT');
    await this.#postgres.stop();
    this.#postgres = await startPostgres({
      supervisor: this.#supervisor,
      stateDir: this.dir,
      port,
      ...(this.clock && { env: this.clock.env }),
    });
  }

  /** Forgets everything in Redis. */
  async flushRedis(): Promise<void> {
    const redis = new Redis(this.#valkey.url, { lazyConnect: true, maxRetriesPerRequest: 1 });
    redis.on('error', () => {});
    try {
      await redis.connect();
      await redis.flushall();
    } finally {
      redis.disconnect();
    }
  }

  /** Kills Valkey, which keeps nothing on disk, and starts it again after `downMs`. */
  async crashRedis(downMs: number): Promise<void> {
    const { port, pid } = this.#valkey;
    process.kill(pid, 'SIGKILL');
    await this.#valkey.stop();
    await new Promise((resolve) => setTimeout(resolve, downMs));
    this.#valkey = await startValkey({
      supervisor: this.#supervisor,
      stateDir: this.dir,
      pythonDir: this.#pythonDir,
      port,
      fast: true,
    });
  }

  /** Ends everything and removes what it wrote. */
  async stop(): Promise<void> {
    await this.#supervisor.stop();
    removeDatabaseHome(this.dir);
  }

  async #admin<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const client = new pg.Client({ connectionString: this.#postgres.url });
      client.on('error', () => {});
      try {
        await client.connect();
        return await work(client);
      } catch (error) {
        // Another world of the run may just have it started again.
        if (attempt >= 50) throw error;
        await new Promise((resolve) => setTimeout(resolve, 200));
      } finally {
        await client.end().catch(() => {});
      }
    }
  }
}
