import pg from 'pg';
import { NomosError, errorText } from '../errors.ts';

/**
 * A client whose lost connection cannot end the process. The users of a connection listen for errors, but not from its very
 * first moment: what the server says in one breath with "ready" comes before they can, and an error that nobody listens for
 * is thrown by Node. Whoever uses the connection still learns of its loss, by what was asked of it or by its end.
 */
export class SteadyClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config);
    this.on('error', () => {});
  }
}

/**
 * How soon the server finds that a client is gone whose machine was cut off or lost its power: after 25 s, and not after the two
 * hours of the kernel. Until then it keeps that client's session locks, for which a stand-by waits (Z9). Without effect on Unix
 * sockets.
 */
const SERVER_KEEPALIVE =
  '-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3';

/** A single connection outside the pool: for LISTEN, for session locks, for migrations. */
export type PgConnection = pg.Client;

/**
 * Opens one connection. Throws `database_unreachable` with the host and port that were tried (never the password).
 */
export async function openConnection(databaseUrl: string, name: string): Promise<PgConnection> {
  const client = new SteadyClient({
    connectionString: databaseUrl,
    application_name: name,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    options: SERVER_KEEPALIVE,
  });
  try {
    await client.connect();
  } catch (error) {
    throw new NomosError(
      'database_unreachable',
      'system',
      `Cannot reach PostgreSQL at ${describeUrl(databaseUrl)}: ${errorText(error)}`,
      { cause: error, hint: 'Check DATABASE_URL and that the server is up.' },
    );
  }
  return client;
}

/** The URL without its user and password, fit for a log line. */
export function describeUrl(url: string): string {
  try {
    const parsed = new URL(url);
    return `${parsed.hostname}:${parsed.port || '5432'}${parsed.pathname}`;
  } catch {
    return '(not a URL)';
  }
}
