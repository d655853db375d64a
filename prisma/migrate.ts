import { createHash, randomUUID } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { NomosError, errorText } from '../core/errors.ts';
import { openConnection, type PgConnection } from '../core/db/pg.ts';

const MIGRATIONS = path.join(path.dirname(fileURLToPath(import.meta.url)), 'migrations');

// The lock and the table that `prisma migrate` itself uses, so that both can be run on one database.
const PRISMA_LOCK = 72_707_369;
const TABLE = `CREATE TABLE IF NOT EXISTS _prisma_migrations (
  id varchar(36) PRIMARY KEY NOT NULL,
  checksum varchar(64) NOT NULL,
  finished_at timestamptz,
  migration_name varchar(255) NOT NULL,
  logs text,
  rolled_back_at timestamptz,
  started_at timestamptz NOT NULL DEFAULT now(),
  applied_steps_count integer NOT NULL DEFAULT 0
)`;

interface Migration {
  name: string;
  sql: string;
  checksum: string;
}

/**
 * Applies what is missing from `prisma/migrations`, in the order of the folder names, each in one transaction with its
 * mark. Returns the names that were applied now. Two runners at once wait for each other.
 *
 * Throws `migration_changed` when an applied file differs from what was applied, `migration_unknown` when the database
 * is newer than this program, and `migration_failed` with the database's words; a failed one leaves nothing behind.
 */
export async function migrate(databaseUrl: string, folder: string = MIGRATIONS): Promise<string[]> {
  const migrations = await readMigrations(folder);
  const connection = await openConnection(databaseUrl, 'nomos-migrate');
  try {
    await connection.query('SELECT pg_advisory_lock($1)', [PRISMA_LOCK]);
    await connection.query(TABLE);
    const applied = await readApplied(connection);
    checkHistory(migrations, applied);
    const done: string[] = [];
    for (const migration of migrations) {
      if (applied.has(migration.name)) continue;
      await apply(connection, migration);
      done.push(migration.name);
    }
    return done;
  } finally {
    await connection.end();
  }
}

async function readMigrations(folder: string): Promise<Migration[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .toSorted();
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(path.join(folder, name, 'migration.sql'), 'utf8');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}

async function readApplied(connection: PgConnection): Promise<Map<string, string>> {
  const { rows } = await connection.query<{ migration_name: string; checksum: string }>(
    'SELECT migration_name, checksum FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL',
  );
  return new Map(rows.map((row) => [row.migration_name, row.checksum]));
}

function checkHistory(migrations: Migration[], applied: Map<string, string>): void {
  const known = new Map(migrations.map((migration) => [migration.name, migration.checksum]));
  for (const [name, checksum] of applied) {
    const ours = known.get(name);
    if (ours === undefined) {
      throw new NomosError(
        'migration_unknown',
        'operator',
        `The database has the migration ${name}, which this program does not know.`,
        {
          hint: 'It was made by a newer version. Start that version, or restore an older database.',
        },
      );
    }
    if (ours !== checksum) {
      throw new NomosError(
        'migration_changed',
        'system',
        `The migration ${name} was changed after it had been applied to this database.`,
        { hint: 'Restore the file as it was; put new changes into a new migration.' },
      );
    }
  }
}

async function apply(connection: PgConnection, migration: Migration): Promise<void> {
  await connection.query('BEGIN');
  try {
    await connection.query(migration.sql);
    await connection.query(
      `INSERT INTO _prisma_migrations (id, checksum, finished_at, migration_name, applied_steps_count)
       VALUES ($1, $2, now(), $3, 1)`,
      [randomUUID(), migration.checksum, migration.name],
    );
    await connection.query('COMMIT');
  } catch (error) {
    await connection.query('ROLLBACK');
    throw new NomosError(
      'migration_failed',
      'system',
      `The migration ${migration.name} failed: ${errorText(error)}`,
      { cause: error },
    );
  }
}
