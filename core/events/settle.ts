import { type Unit, sql } from '../db/database.ts';

/**
 * Tells that a trouble which no task has is over: the cards of all `error.raised` whose data names it by the same `about` show
 * so (C7). Does nothing where none of them is open.
 */
export async function settleTrouble(unit: Unit, about: string): Promise<void> {
  const open = await unit.db.$queryRaw<unknown[]>(sql`
    SELECT 1 FROM events raised WHERE session_id IS NULL AND type = 'error.raised' AND data->>'about' = ${about}
      AND NOT EXISTS (SELECT FROM events settled WHERE settled.session_id IS NULL AND settled.type = 'error.settled'
        AND settled.data->>'about' = ${about} AND settled.id > raised.id)
    LIMIT 1`);
  if (open.length > 0) unit.emit({ type: 'error.settled', data: { about } });
}
