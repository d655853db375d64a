import { NomosError } from '../../core/errors.ts';
import { type SavedStore, type StoreLayout, fromText, toText } from './rows.ts';

// The parts of fake-indexeddb that this stands on. They are not its public face: the version is pinned, and `checked`
// refuses to work with another shape.
/** The rows of an object store. */
export interface RawRecords {
  put(record: { key: unknown }, noOverwrite?: boolean): unknown;
  delete(key: unknown): Array<{ key: unknown }>;
  clear(): Array<{ key: unknown }>;
  get(key: unknown): { value: unknown } | undefined;
  values(): Iterable<{ key: unknown; value: unknown }>;
}
interface RawIndex {
  name: string;
  keyPath: string | string[];
  unique: boolean;
  multiEntry: boolean;
}
/** An object store. */
export interface RawStore {
  name: string;
  keyPath: unknown;
  autoIncrement: boolean;
  rawIndexes: Map<string, RawIndex>;
  records: RawRecords;
}
/** A database. */
export interface RawDatabase {
  version: number;
  rawObjectStores: Map<string, RawStore>;
}
interface StoreHandle {
  put(value: unknown, key: unknown): unknown;
  createIndex(name: string, keyPath: string | string[], options: object): unknown;
}
interface OpenRequest {
  result: { createObjectStore(name: string): StoreHandle; close(): void };
  error: unknown;
  onupgradeneeded: () => void;
  onsuccess: () => void;
  onerror: () => void;
}
/** Where the databases are. */
export interface Factory {
  _databases: Map<string, RawDatabase>;
  open(name: string, version: number): OpenRequest;
}
/** All that a database holds. */
export function savedFrom(raw: RawDatabase): SavedStore {
  const layout: StoreLayout = { v: 1, version: raw.version, stores: {} };
  const rows: SavedStore['rows'] = [];
  for (const [name, store] of raw.rawObjectStores) {
    layout.stores[name] = [...store.rawIndexes.values()].map((index) => ({
      name: index.name,
      keyPath: index.keyPath,
      unique: index.unique,
      multiEntry: index.multiEntry,
    }));
    for (const { key, value } of store.records.values()) {
      rows.push({ store: name, key: toText(key), value: toText(value) });
    }
  }
  return { layout, rows };
}

/** Makes a database with a layout and rows. */
export async function fill(
  factory: Factory,
  name: string,
  { layout, rows }: SavedStore,
): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const request = factory.open(name, layout.version);
    request.onupgradeneeded = () => {
      const handles = new Map<string, StoreHandle>();
      for (const [store, indexes] of Object.entries(layout.stores)) {
        const handle = request.result.createObjectStore(store);
        for (const { name: index, keyPath, unique, multiEntry } of indexes) {
          handle.createIndex(index, keyPath, { unique, multiEntry });
        }
        handles.set(store, handle);
      }
      for (const { store, key, value } of rows) {
        handles.get(store)?.put(fromText(value), fromText(key));
      }
    };
    request.onsuccess = () => {
      request.result.close();
      resolve();
    };
    request.onerror = () =>
      reject(new Error('The store cannot be filled.', { cause: request.error }));
  });
}

/** The database, if it has the form that is known. Throws `crypto_store_unknown` otherwise. */
export function checked(raw: RawDatabase | undefined): RawDatabase {
  const stores = [...(raw?.rawObjectStores.values() ?? [])];
  const known =
    raw !== undefined &&
    stores.length > 0 &&
    stores.every(
      ({ records, keyPath, autoIncrement }) =>
        typeof records.put === 'function' &&
        typeof records.clear === 'function' &&
        keyPath === null &&
        !autoIncrement,
    );
  if (known) return raw;
  throw new NomosError(
    'crypto_store_unknown',
    'system',
    'The store of the crypto library has another form than this version of Nomos knows.',
    { hint: 'Install exactly the versions of package-lock.json.' },
  );
}
