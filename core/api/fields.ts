import { z } from 'zod';
import { asId, isRowId, type AnyId } from '../ids.ts';

const UUID_PATTERN = '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$';

/** A text from outside that the database can hold: no NUL character and no half of a surrogate pair. */
export function plainText(maxLength: number) {
  return z
    .string()
    .max(maxLength, `at most ${maxLength} characters`)
    .refine((text) => !text.includes('\0'), 'a NUL character cannot be stored')
    .refine((text) => text.isWellFormed(), 'half of a surrogate pair is no valid text')
    .meta({ pattern: String.raw`^[^\u0000]*$` });
}

/** As `plainText`, without white space around it, and not empty. */
export function words(maxLength: number) {
  return plainText(maxLength)
    .transform((text) => text.trim())
    .refine((text) => text !== '', 'it is empty')
    .meta({ minLength: 1, pattern: String.raw`^[^\u0000]*[^\s\u0000][^\u0000]*$` });
}

/** A number in a query string: plain digits, nothing else that JavaScript would read as a number. */
export function count(bounds: { min: number; max: number }) {
  const allowed = `a whole number from ${bounds.min} to ${bounds.max}`;
  return z
    .string()
    .regex(/^\d{1,16}$/, allowed)
    .transform(Number)
    .refine((value) => value >= bounds.min && value <= bounds.max, allowed)
    .meta({ type: 'integer', minimum: bounds.min, maximum: bounds.max });
}

/** How many rows a page may have, in a query string: 1 to `max`, `otherwise` when it is not said. */
export function pageSize({ max, otherwise }: { max: number; otherwise: number }) {
  return count({ min: 1, max }).default(otherwise);
}

/** The id of a row: of the path, the query or a body. `what` says of which kind of thing. */
export function rowId<T extends AnyId>(what: string) {
  return z
    .string()
    .refine(isRowId, `no id of a ${what}; ids are UUIDs in lower case`)
    .transform((id) => asId<T>(id))
    .meta({ format: 'uuid', pattern: UUID_PATTERN });
}

/** The id of a row in an answer. */
export const idOut = z.string().meta({ format: 'uuid' });

/**
 * A value of an answer whose type the database does not know (a jsonb column), described by another schema. The schema
 * describes; it is the writer of the column who keeps to it.
 */
export function stored(schema: z.ZodType) {
  const { $schema: _dialect, ...described } = z.toJSONSchema(schema, { io: 'output' });
  return z.unknown().meta(described);
}
