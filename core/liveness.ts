import { hostname } from 'node:os';
import { randomBytes } from 'node:crypto';
import type { Database } from './db/database.ts';
import { openConnection, type PgConnection } from './db/pg.ts';
import { errorText } from './errors.ts';
import { log } from './log.ts';

const RECONNECT_MS = 500;
/** The first key of the advisory locks that workers hold, so that they meet no other lock. */
const LOCK_SPACE = 0x6e6f;

/**
 * A worker's name, and the proof that it lives: an advisory lock on a connection of its own, which Postgres lets go the
 * moment the process is gone. Leases end by time; this lets others see a crash at once.
 */
export class WorkerIdentity {
  readonly owner: string;
  readonly #url: string;
  #connection: PgConnection | undefined;
  #closed = false;

  private constructor(url: string) {
    this.#url = url;
    this.owner = `${hostname()}:${process.pid}:${randomBytes(4).toString('hex')}`;
  }

  /** Takes a new name and its lock. */
  static async open(database: Database): Promise<WorkerIdentity> {
    const identity = new WorkerIdentity(database.url);
    await identity.#hold();
    return identity;
  }

  /** Gives the name up. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#connection?.end();
  }

  async #hold(): Promise<void> {
    const connection = await openConnection(this.#url, 'nomos-worker');
    connection.on('error', (error) =>
      log.warn({ error: error.message }, 'worker lock lost its connection'),
    );
    connection.on('end', () => {
      if (!this.#closed) void this.#regain();
    });
    await connection.query('SELECT pg_advisory_lock($1, hashtext($2))', [LOCK_SPACE, this.owner]);
    this.#connection = connection;
  }

  async #regain(): Promise<void> {
    while (!this.#closed) {
      try {
        await this.#hold();
        return;
      } catch (error) {
        log.warn({ error: errorText(error) }, 'worker lock cannot be taken again yet');
        await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
      }
    }
  }
}

/**
 * Ends the leases of workers that are gone. A worker counts as gone when its lock was missing at two looks in a row: all
 * locks are lost for a moment when Postgres restarts, while the workers live.
 */
export class CrashWatch {
  readonly #database: Database;
  #missing = new Set<string>();

  constructor(database: Database) {
    this.#database = database;
  }

  /** One look. Returns the owners whose leases were ended now. */
  async look(): Promise<string[]> {
    const rows = await this.#database.read.$queryRaw<Array<{ owner: string }>>`
      SELECT owner FROM (
        SELECT lease_owner AS owner FROM executions WHERE status = 'running'
        UNION SELECT lease_owner FROM passes WHERE state = 'running'
      ) held
      WHERE owner IS NOT NULL AND NOT EXISTS (
        SELECT FROM pg_locks
        WHERE locktype = 'advisory' AND granted AND objsubid = 2
          AND classid = ${LOCK_SPACE}::oid AND objid = (hashtext(owner)::bigint & 4294967295)::oid
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`;
    const missing = new Set(rows.map((row) => row.owner));
    const gone = [...missing].filter((owner) => this.#missing.has(owner));
    this.#missing = missing;
    for (const owner of gone) {
      await this.#database.read.$executeRaw`
        UPDATE executions SET lease_until = clock_timestamp() WHERE status = 'running' AND lease_owner = ${owner}`;
      await this.#database.read.$executeRaw`
        UPDATE passes SET lease_until = clock_timestamp() WHERE state = 'running' AND lease_owner = ${owner}`;
    }
    return gone;
  }
}
