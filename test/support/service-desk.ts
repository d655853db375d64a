import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { removeDatabaseHome } from '../../demo/services/postgres-home.ts';
import { startPostgres } from '../../demo/services/postgres.ts';
import { Supervisor } from '../../demo/services/supervisor.ts';
import { startSynapse } from '../../demo/services/synapse.ts';
import { startValkey } from '../../demo/services/valkey.ts';
import { migrate } from '../../prisma/migrate.ts';
import type { HeldLock } from '../../scripts/lib/lock.mjs';
import { lockHolder, takeLock } from '../../scripts/lib/lock.mjs';
import { ensurePython } from '../../scripts/lib/python.mjs';

/** What the desk hands out, by the path that it is asked under. */
export interface DeskAnswers {
  /** A database of its own, migrated. */
  readonly '/database': { readonly url: string };
  /** An empty database of its own. */
  readonly '/empty-database': { readonly url: string };
  readonly '/redis': { readonly url: string };
  readonly '/homeserver': {
    readonly url: string;
    readonly serverName: string;
    readonly registrationSecret: string;
  };
  /** A homeserver with Synapse's own limits. */
  readonly '/limited-homeserver': DeskAnswers['/homeserver'];
}

const home = fileURLToPath(new URL('../../.nomos', import.meta.url));
const TEMPLATE = 'nomos_template';

/**
 * Starts the real services that tests use when the first test asks for each, one set for all workers of a run, in a
 * folder of the run's own. It listens on loopback, under a path that only this run knows.
 */
export class ServiceDesk {
  readonly #stateDir: string;
  readonly #lock: HeldLock;
  readonly #supervisor: Supervisor;
  readonly #server: Server;
  readonly #secret = randomBytes(16).toString('hex');
  readonly #started = new Map<string, Promise<unknown>>();
  #databases = 0;

  private constructor(stateDir: string, lock: HeldLock) {
    this.#stateDir = stateDir;
    this.#lock = lock;
    this.#supervisor = new Supervisor(stateDir, join(stateDir, 'logs'));
    this.#server = createServer((request, response) => {
      const path = request.url ?? '';
      void this.#answer(path.slice(0, this.#secret.length + 1), path.slice(this.#secret.length + 1))
        .then(
          (body) => ({ status: 200, body }),
          (error: unknown) => ({
            status: 500,
            body: { error: error instanceof Error ? error.message : String(error) },
          }),
        )
        .then(({ status, body }) => {
          response.writeHead(status, { 'content-type': 'application/json' });
          response.end(JSON.stringify(body));
        });
    });
  }

  static async open(): Promise<ServiceDesk> {
    await removeRunsThatDied();
    const stateDir = join(home, `test-${process.pid}`);
    mkdirSync(stateDir, { recursive: true, mode: 0o711 });
    const attempt = takeLock(join(stateDir, 'run.lock'));
    if (!attempt.taken) throw new Error(`${stateDir} is in use by process ${attempt.holder.pid}.`);
    const desk = new ServiceDesk(stateDir, attempt.lock);
    await new Promise<void>((resolve, reject) => {
      desk.#server.once('error', reject);
      desk.#server.listen(0, '127.0.0.1', resolve);
    });
    return desk;
  }

  /** What a worker needs to ask. */
  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('The desk is closed.');
    return `http://127.0.0.1:${address.port}/${this.#secret}`;
  }

  /** Ends all services and removes what they wrote. */
  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await Promise.allSettled(this.#started.values());
    await this.#supervisor.stop();
    this.#lock.release();
    removeDatabaseHome(this.#stateDir);
  }

  async #answer(secret: string, path: string): Promise<unknown> {
    if (secret !== `/${this.#secret}`) throw new Error('Unknown path.');
    switch (path as keyof DeskAnswers) {
      case '/database':
        return this.#newDatabase(true);
      case '/empty-database':
        return this.#newDatabase(false);
      case '/redis':
        return { url: (await this.#valkey()).url };
      case '/homeserver':
      case '/limited-homeserver': {
        const limits = path === '/homeserver' ? 'high' : 'default';
        const { url, serverName, registrationSecret } = await this.#synapse(limits);
        return { url, serverName, registrationSecret };
      }
      default:
        throw new Error(`The desk has no ${path}.`);
    }
  }

  #once<T>(name: string, start: () => Promise<T>): Promise<T> {
    const known = this.#started.get(name);
    if (known !== undefined) return known as Promise<T>;
    const starting = start();
    this.#started.set(name, starting);
    return starting;
  }

  #postgres(): Promise<string> {
    return this.#once('postgres', async () => {
      const { url } = await startPostgres({ ...this.#place(), fast: true });
      return url;
    });
  }

  #template(): Promise<void> {
    return this.#once('template', async () => {
      const url = await this.#postgres();
      await inDatabase(url, (client) => client.query(`CREATE DATABASE ${TEMPLATE}`));
      await migrate(withDatabase(url, TEMPLATE));
    });
  }

  async #newDatabase(migrated: boolean): Promise<DeskAnswers['/database']> {
    const url = await this.#postgres();
    if (migrated) await this.#template();
    const name = `test_${++this.#databases}`;
    await inDatabase(url, (client) =>
      client.query(`CREATE DATABASE ${name} TEMPLATE ${migrated ? TEMPLATE : 'template0'}`),
    );
    return { url: withDatabase(url, name) };
  }

  #valkey() {
    return this.#once('valkey', async () => {
      const { dir } = await this.#python();
      return startValkey({ ...this.#place(), pythonDir: dir, fast: true });
    });
  }

  #synapse(rateLimits: 'default' | 'high') {
    return this.#once(`synapse ${rateLimits}`, async () => {
      const { python } = await this.#python();
      const { supervisor, stateDir } = this.#place();
      return startSynapse({
        supervisor,
        stateDir: rateLimits === 'high' ? stateDir : join(stateDir, 'limited'),
        python,
        serverName: 'test.local',
        rateLimits,
        fast: true,
      });
    });
  }

  #python(): Promise<{ dir: string; python: string }> {
    return this.#once('python', () =>
      ensurePython({
        home,
        onProgress: (text) => process.stderr.write(`Python packages: ${text}\n`),
      }),
    );
  }

  #place(): { supervisor: Supervisor; stateDir: string } {
    return { supervisor: this.#supervisor, stateDir: this.#stateDir };
  }
}

function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
}

async function inDatabase(
  url: string,
  work: (client: pg.Client) => Promise<unknown>,
): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

/** Ends and removes what runs that were killed left behind, and nothing of runs that go on. */
async function removeRunsThatDied(): Promise<void> {
  if (!existsSync(home)) return;
  for (const name of readdirSync(home)) {
    if (!/^test-\d+$/.test(name)) continue;
    const stateDir = join(home, name);
    if (lockHolder(join(stateDir, 'run.lock')) !== undefined) continue;
    await new Supervisor(stateDir, join(stateDir, 'logs')).endLeftovers();
    removeDatabaseHome(stateDir);
  }
}
