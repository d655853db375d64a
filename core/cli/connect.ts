import { readDatabaseUrl } from '../config/config.ts';
import { Database } from '../db/database.ts';
import { NomosError } from '../errors.ts';

/**
 * Lends a connection to the configured database to a command. Throws `database_empty` when the tables are not there yet, so
 * that the command need not fail on the first one it looks for.
 */
export async function withDatabase<T>(work: (database: Database) => Promise<T>): Promise<T> {
  const database = await Database.connect(readDatabaseUrl(process.env), {
    connections: 2,
    name: 'nomos-cli',
  });
  try {
    const rows = await database.read.$queryRaw<Array<{ found: boolean }>>`
      SELECT to_regclass('audit_log') IS NOT NULL AS found`;
    if (rows[0]?.found !== true) {
      throw new NomosError(
        'database_empty',
        'operator',
        'The database has no tables of Nomos in it.',
        { hint: 'Run `nomos migrate` first, or correct DATABASE_URL.' },
      );
    }
    return await work(database);
  } finally {
    await database.close();
  }
}
