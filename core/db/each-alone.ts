import { errorText } from '../errors.ts';
import { log } from '../log.ts';
import type { Database } from './database.ts';

/**
 * Works on rows one by one, each in whatever transactions it takes. One that cannot be worked on is told in the log and holds up
 * no other (R12). Returns for how many `work` gave true. Rejects when the database is away.
 */
export async function eachAlone<T extends { id: unknown }>(
  database: Database,
  what: string,
  rows: readonly T[],
  work: (row: T) => Promise<boolean>,
): Promise<number> {
  let count = 0;
  for (const row of rows) {
    try {
      if (await work(row)) count++;
    } catch (error) {
      await database.read.$queryRaw`SELECT 1`;
      log.error(
        { what, id: String(row.id), error: errorText(error) },
        'a row could not be dealt with',
      );
    }
  }
  return count;
}
