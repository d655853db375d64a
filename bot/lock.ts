import type { PgConnection } from '../core/db/pg.ts';
import { openConnection } from '../core/db/pg.ts';
import { errorText } from '../core/errors.ts';
import type { UserId } from '../core/ids.ts';
import { log } from '../core/log.ts';
import { pause } from './matrix/retry.ts';

/** How often a stand-by looks whether the lock is free. */
const POLL_MS = 500;
/** How often the holder makes sure of its connection, and how long an answer may take. */
const HEARTBEAT_MS = 3_000;
const HEARTBEAT_TIMEOUT_MS = 5_000;

/** The right to act for an account, as long as `lost` has not fired. */
export interface BotLock {
  /** Fires when the connection that holds the lock is gone: whoever holds it must stop at once (Z9). */
  readonly lost: AbortSignal;
  /** Gives the lock back. */
  release(): Promise<void>;
}

/**
 * Takes the lock of a bot account, on a connection of its own, waiting as long as another process has it. `onWait` is
 * called once if it must wait. Throws the signal's reason when that fires.
 */
export async function takeBotLock(
  databaseUrl: string,
  botUserId: UserId,
  signal: AbortSignal,
  onWait: () => void = () => {},
): Promise<BotLock> {
  let waited = false;
  let connection: PgConnection | undefined;
  for (;;) {
    if (signal.aborted) {
      await connection?.end();
      signal.throwIfAborted();
    }
    try {
      connection ??= await connect(databaseUrl);
      if (await tryLock(connection, botUserId)) return hold(connection);
      if (!waited) onWait();
      waited = true;
    } catch (error) {
      log.warn({ error: errorText(error) }, 'the bot lock cannot be asked for; trying again');
      await connection?.end().catch(() => {});
      connection = undefined;
    }
    await pause(POLL_MS, signal);
  }
}

async function connect(databaseUrl: string): Promise<PgConnection> {
  const connection = await openConnection(databaseUrl, 'nomos-bot-lock');
  // Without a listener a broken connection would end the process; the query at hand fails anyway.
  connection.on('error', (error) => log.warn({ error: error.message }, 'bot lock connection'));
  return connection;
}

async function tryLock(connection: PgConnection, botUserId: UserId): Promise<boolean> {
  const result = await connection.query<{ locked: boolean }>(
    'SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS locked',
    [`nomos_bot:${botUserId}`],
  );
  return result.rows[0]?.locked === true;
}

function hold(connection: PgConnection): BotLock {
  const lost = new AbortController();
  let released = false;
  const lose = (why: string): void => {
    if (released || lost.signal.aborted) return;
    clearInterval(heartbeat);
    log.error({ why }, 'the bot lock is lost; stopping at once');
    lost.abort(new Error(`The bot lock is lost: ${why}`));
    // It may hang half dead; the server must see that it is over.
    void connection.end().catch(() => {});
  };
  connection.on('end', () => lose('the connection to PostgreSQL ended'));
  connection.on('error', (error) => lose(error.message));
  const heartbeat = setInterval(() => {
    const late = setTimeout(() => lose('PostgreSQL does not answer'), HEARTBEAT_TIMEOUT_MS);
    connection.query('SELECT 1').then(
      () => clearTimeout(late),
      (error: unknown) => {
        clearTimeout(late);
        lose(errorText(error));
      },
    );
  }, HEARTBEAT_MS);
  return {
    lost: lost.signal,
    async release() {
      released = true;
      clearInterval(heartbeat);
      await connection.end().catch((error: unknown) => {
        log.debug({ error: errorText(error) }, 'the bot lock connection was gone already');
      });
    },
  };
}
