import pg from 'pg';
import { NomosError, errorText } from '../errors.ts';

/** A single connection outside the pool: for LISTEN, for session locks, for migrations. */
export type PgConnection = pg.Client;

/**
 * Opens one connection. Throws `database_unreachable` with the host and port that were tried (never the password).
 */
export async function openConnection(databaseUrl: string, name: string): Promise<PgConnection> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: name,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
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
