import { z } from 'zod';
import { NomosError } from '../../core/errors.ts';

const indexShape = z.strictObject({
  name: z.string(),
  keyPath: z.union([z.string(), z.array(z.string())]),
  unique: z.boolean(),
  multiEntry: z.boolean(),
});

/** What `matrix_crypto_devices.layout` holds: the version of the database, and each object store with its indexes. */
export const layoutShape = z.strictObject({
  v: z.literal(1),
  version: z.number().int().positive(),
  stores: z.record(z.string(), z.array(indexShape)),
});
/** The layout of a store. */
export type StoreLayout = z.infer<typeof layoutShape>;

/** A store as it is kept: all its rows, key and value as JSON. */
export interface SavedStore {
  layout: StoreLayout;
  rows: Array<{ store: string; key: string; value: string }>;
}

/** A key or value of the store as JSON. Throws on what JSON cannot hold: it would come back as something else. */
export function toText(value: unknown): string {
  refuseOther(value);
  return JSON.stringify(value);
}

/** A key or value from its JSON. */
export function fromText(text: string): unknown {
  return JSON.parse(text);
}

function refuseOther(value: unknown): void {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return;
  if (typeof value === 'number' && Number.isFinite(value)) return;
  if (Array.isArray(value)) {
    for (const item of value) refuseOther(item);
    return;
  }
  if (typeof value === 'object' && isPlain(value)) {
    // A field that is undefined is read like one that is not there.
    for (const item of Object.values(value)) if (item !== undefined) refuseOther(item);
    return;
  }
  throw new NomosError(
    'crypto_store_value',
    'system',
    `The crypto library stores a value that cannot be kept (${Object.prototype.toString.call(value)}).`,
    { hint: 'Install exactly the versions of package-lock.json.' },
  );
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}
