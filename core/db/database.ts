import { PrismaPg } from '@prisma/adapter-pg';
import { NomosError } from '../errors.ts';
import { Prisma, PrismaClient } from './generated/client.ts';
import { describeUrl, SteadyClient } from './pg.ts';
import { flushRecord, type NewAudit, type NewEvent } from './record.ts';
import { statementNames } from './statement-names.ts';

/** Reads, and the statements of a transaction. Only `core/db` knows that it is Prisma. */
export type Reader = Omit<
  PrismaClient,
  '$connect' | '$disconnect' | '$on' | '$transaction' | '$use' | '$extends'
>;

/** Typed SQL for what the client cannot say: `sql` is a tagged template, its values are always parameters. */
export const sql = Prisma.sql;
/** Joins a list of values or fragments for `IN (…)`. */
export const joinSql = Prisma.join;
/** No SQL at all, for an optional clause. */
export const noSql = Prisma.empty;
/** A fragment of SQL. */
export type Sql = Prisma.Sql;
/** What a jsonb column takes. */
export type JsonInput = Prisma.InputJsonValue;

/**
 * One unit of work: a transaction, the events and audit entries that commit with it, and what is to happen only once it
 * has committed.
 */
export interface Unit {
  readonly db: Reader;
  /** Adds an event to the log; it is written last, so that event ids are in the order of commits. */
  emit(event: NewEvent): void;
  /** Adds an entry to the audit log, likewise. */
  audit(entry: NewAudit): void;
  /** Runs after the commit, in order; not at all if the transaction fails. Must not throw. */
  afterCommit(action: () => void): void;
}

const RETRIES = 4;
// Deadlock, serialization failure, and Prisma's name for both: nothing was written, so the work can be done again.
const RETRYABLE = /40P01|40001|P2034|deadlock detected|could not serialize/;

/**
 * Query plans that Prisma keeps. It keeps one for each number of look-ups that happen to be made in the same moment, too, so
 * that with its own 1,000 the heap grows for thousands of turns (R13); the program has about 300 queries of its own.
 */
const PLANS_KEPT = 400;

/**
 * A transaction that says nothing for so long is ended by PostgreSQL. A process that is frozen, or cut off without being told, in
 * the middle of one would otherwise keep its rows locked for good, and whoever takes its work over would wait for them (R6). Under
 * the lease, so that they are free when that ends.
 */
const IDLE_TRANSACTION_MS = 20_000;

/** How long the pool may take to close. */
const CLOSE_MS = 3_000;

/** Postgres, as the rest of the program sees it. */
export class Database {
  readonly url: string;
  readonly #client: PrismaClient;

  private constructor(url: string, client: PrismaClient) {
    this.url = url;
    this.#client = client;
  }

  /**
   * Connects a pool of at most `connections` (default 10). A transaction of its that is idle for `idleTransactionMs` (default
   * 20 s) is ended. Throws `database_unreachable` with host and port.
   */
  static async connect(
    url: string,
    options: { connections?: number; name?: string; idleTransactionMs?: number } = {},
  ): Promise<Database> {
    const adapter = new PrismaPg(
      {
        connectionString: url,
        max: options.connections ?? 10,
        connectionTimeoutMillis: 10_000,
        application_name: options.name ?? 'nomos',
        keepAlive: true,
        idle_in_transaction_session_timeout: options.idleTransactionMs ?? IDLE_TRANSACTION_MS,
        Client: SteadyClient,
      },
      { statementNameGenerator: statementNames() },
    );
    const client = new PrismaClient({ adapter, queryPlanCacheMaxSize: PLANS_KEPT });
    const database = new Database(url, client);
    try {
      await client.$queryRaw`SELECT 1`;
    } catch (error) {
      await client.$disconnect();
      throw new NomosError(
        'database_unreachable',
        'system',
        `Cannot reach PostgreSQL at ${describeUrl(url)}.`,
        { cause: error, hint: 'Check DATABASE_URL and that the server is up.' },
      );
    }
    return database;
  }

  /** For reads outside a transaction. */
  get read(): Reader {
    return this.#client;
  }

  /**
   * Runs `work` in a transaction (read committed) and commits it with its events and audit entries. It is run again, up
   * to 4 times, when Postgres gave it up for a deadlock: `work` must have no effect outside the transaction. Any other
   * error rolls back and is thrown.
   */
  async write<T>(work: (unit: Unit) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const after: Array<() => void> = [];
      try {
        const result = await this.#client.$transaction(
          async (transaction) => {
            const events: NewEvent[] = [];
            const audits: NewAudit[] = [];
            const value = await work({
              db: transaction,
              emit: (event) => events.push(event),
              audit: (entry) => audits.push(entry),
              afterCommit: (action) => after.push(action),
            });
            await flushRecord(transaction, events, audits);
            return value;
          },
          { maxWait: 10_000, timeout: 30_000 },
        );
        for (const action of after) action();
        return result;
      } catch (error) {
        if (attempt >= RETRIES || !RETRYABLE.test(String(error))) throw error;
      }
    }
  }

  /** Closes the pool. Does not wait for what hangs, such as a query behind a lock: that ends with the process (J7). */
  async close(): Promise<void> {
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, CLOSE_MS);
    await Promise.race([this.#client.$disconnect(), late.promise]).finally(() =>
      clearTimeout(timer),
    );
  }
}
