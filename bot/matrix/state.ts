import type { z } from 'zod';
import type { JsonInput, Reader, Unit } from '../../core/db/database.ts';

/** Reads one value of `matrix_state`; undefined when there is none. Throws a ZodError for a version that is not known. */
export async function readState<T>(
  db: Reader,
  key: string,
  shape: z.ZodType<T>,
): Promise<T | undefined> {
  const row = await db.matrixState.findUnique({ where: { key } });
  return row === null ? undefined : shape.parse(row.value);
}

/** Writes one value of `matrix_state`. */
export async function writeState(unit: Unit, key: string, value: JsonInput): Promise<void> {
  const updatedAt = new Date();
  await unit.db.matrixState.upsert({
    where: { key },
    create: { key, value, updatedAt },
    update: { value, updatedAt },
    select: { key: true },
  });
}
