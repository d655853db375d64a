import { readdir } from 'node:fs/promises';
import { openConnection, type PgConnection } from '../../db/pg.ts';
import { describeUrl } from '../../db/pg.ts';
import { failed, failure, ok, warning, type Finding } from './finding.ts';

const OLDEST = 14;
const MIGRATIONS = new URL('../../../prisma/migrations', import.meta.url);

/** PostgreSQL: reachable, new enough, with the tables of this version. */
export async function checkDatabase(url: string): Promise<Finding[]> {
  let connection: PgConnection;
  try {
    connection = await openConnection(url, 'nomos-doctor');
  } catch (error) {
    return [failure('database', error)];
  }
  try {
    return [await version(connection, url), await tables(connection)];
  } catch (error) {
    return [failure('database', error, 'The account in DATABASE_URL must own its database.')];
  } finally {
    await connection.end();
  }
}

async function version(connection: PgConnection, url: string): Promise<Finding> {
  const { rows } = await connection.query<{ number: number; text: string }>(
    `SELECT current_setting('server_version_num')::int AS number, current_setting('server_version') AS text`,
  );
  const { number = 0, text = 'of an unknown version' } = rows[0] ?? {};
  const detail = `PostgreSQL ${text} at ${describeUrl(url)}`;
  return number >= OLDEST * 10_000
    ? ok('database', detail)
    : failed('database', detail, `Nomos needs PostgreSQL ${OLDEST} or newer.`);
}

async function tables(connection: PgConnection): Promise<Finding> {
  const name = 'database tables';
  const ours = (await readdir(MIGRATIONS, { withFileTypes: true }))
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name);
  const { rows: found } = await connection.query<{ there: boolean }>(
    `SELECT to_regclass('_prisma_migrations') IS NOT NULL AS there`,
  );
  const { rows } =
    found[0]?.there === true
      ? await connection.query<{ migration_name: string }>(
          'SELECT migration_name FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL',
        )
      : { rows: [] };
  const applied = new Set(rows.map((row) => row.migration_name));
  const unknown = [...applied].filter((migration) => !ours.includes(migration));
  if (unknown.length > 0) {
    return failed(
      name,
      `the database has a migration that this version does not know: ${unknown.join(', ')}`,
      'It was made by a newer version of Nomos: start that one.',
    );
  }
  const missing = ours.filter((migration) => !applied.has(migration));
  if (missing.length === 0) return ok(name, `${applied.size} of ${ours.length} migrations applied`);
  return warning(
    name,
    `${applied.size} of ${ours.length} migrations applied`,
    '`nomos start` applies the rest by itself; `nomos migrate` does only that.',
  );
}
