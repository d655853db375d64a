import { randomUUID } from 'node:crypto';
import {
  type Factory,
  type RawDatabase,
  type RawRecords,
  type RawStore,
  checked,
  fill,
  savedFrom,
} from './raw-idb.ts';
import { type SavedStore, fromText, toText } from './rows.ts';

/** A row of a store that was written or, with `value` null, removed. Key and value as JSON. */
export interface RowChange {
  store: string;
  key: string;
  value: string | null;
}

/**
 * Where the rows of a finished transaction go. Until it resolves, the transaction counts for nothing; when it rejects, the
 * transaction and all that follow it fail, since what is in memory is then ahead of what is kept.
 */
export type Keep = (changes: RowChange[]) => Promise<void>;

/** A database in memory whose transactions are held back until they are kept. */
export interface KeptDatabase {
  /** The name under which the crypto library opens it. */
  readonly name: string;
  /** The first failure to keep a transaction; undefined as long as there was none. */
  readonly failure: unknown;
  /** Begins to keep what is written; to be called again after the library changed the layout. Gives all there is. */
  watch(): SavedStore;
  /** Forgets it. Nothing that still runs on it is kept. */
  drop(): void;
}

interface IdbEvent {
  type: string;
  eventPath: unknown[];
}
interface Transaction {
  mode: string;
  error: unknown;
  db: { _rawDatabase: RawDatabase };
  _scope: Set<string>;
  dispatchEvent(event: IdbEvent): boolean;
}
interface Idb {
  factory: Factory;
  newEvent(type: string): IdbEvent;
}

const keepers = new WeakMap<RawDatabase, (transaction: Transaction, done: () => void) => void>();
let loading: Promise<Idb> | undefined;

/**
 * Loads the IndexedDB in memory and gives it to the crypto library, which looks for one among the globals of the process.
 * About 50 ms, once.
 */
function loadIdb(): Promise<Idb> {
  loading ??= (async () => {
    const module = (await import('fake-indexeddb')) as unknown as Record<string, unknown>;
    const globals = globalThis as unknown as Record<string, unknown>;
    for (const [name, value] of Object.entries(module)) {
      if (name.startsWith('IDB') || name === 'indexedDB') globals[name] ??= value;
    }
    const { IDBTransaction, IDBVersionChangeEvent, indexedDB } = module as {
      IDBTransaction: { prototype: Transaction };
      IDBVersionChangeEvent: new (type: string) => IdbEvent;
      indexedDB: Factory;
    };
    holdBack(IDBTransaction.prototype);
    return { factory: indexedDB, newEvent: (type) => new IDBVersionChangeEvent(type) };
  })();
  return loading;
}

/** Lets the end of a watched transaction through only when its keeper says so. */
function holdBack(prototype: Transaction): void {
  const dispatch = prototype.dispatchEvent;
  prototype.dispatchEvent = function dispatchWhenKept(this: Transaction, event) {
    const keeper = keepers.get(this.db._rawDatabase);
    if (keeper === undefined || event.type !== 'complete' || this.mode !== 'readwrite') {
      return dispatch.call(this, event);
    }
    keeper(this, () => dispatch.call(this, event));
    return true;
  };
}

/** Makes a database in memory, filled with what was kept; undefined for an empty one. */
export async function openKeptDatabase(
  saved: SavedStore | undefined,
  keep: Keep,
): Promise<KeptDatabase> {
  const { factory, newEvent } = await loadIdb();
  const prefix = `nomos-${randomUUID()}`;
  // The library adds this ending to the name that it is given.
  const name = `${prefix}::matrix-sdk-crypto`;
  if (saved !== undefined) await fill(factory, name, saved);
  const dirty = new Map<string, Set<string>>();
  const watched = new WeakSet<RawRecords>();
  let last: Promise<void> = Promise.resolve();
  let failed = false;
  let failure: unknown;
  let raw: RawDatabase | undefined;

  const keeper = (transaction: Transaction, done: () => void): void => {
    const changes = takeChanges(transaction.db._rawDatabase, transaction._scope, dirty);
    const before = last;
    last = (async () => {
      await before;
      try {
        if (failed) throw failure;
        if (changes.length > 0) await keep(changes);
      } catch (error) {
        failed = true;
        failure ??= error;
        const event = newEvent('abort');
        event.eventPath = [transaction.db];
        transaction.error = new DOMException('The transaction was not kept.', 'UnknownError');
        transaction.dispatchEvent(event);
        return;
      }
      done();
    })();
  };

  return {
    name: prefix,
    get failure() {
      return failure;
    },
    watch() {
      raw = checked(factory._databases.get(name));
      for (const store of raw.rawObjectStores.values()) {
        if (watched.has(store.records)) continue;
        watched.add(store.records);
        noteChanges(store, dirty);
      }
      keepers.set(raw, keeper);
      return savedFrom(raw);
    },
    drop() {
      failed = true;
      failure ??= new Error('The store was dropped.');
      factory._databases.delete(name);
    },
  };
}

/** Notes the key of every row that changes. Transactions on one store never run at the same time. */
function noteChanges(store: RawStore, dirty: Map<string, Set<string>>): void {
  const { records } = store;
  const keys = new Set<string>();
  dirty.set(store.name, keys);
  const note = (key: unknown): unknown => keys.add(toText(key));
  const { put, delete: remove, clear } = records;
  records.put = (record, noOverwrite) => {
    const before = put.call(records, record, noOverwrite);
    note(record.key);
    return before;
  };
  records.delete = (key) => {
    const gone = remove.call(records, key);
    for (const record of gone) note(record.key);
    return gone;
  };
  records.clear = () => {
    const gone = clear.call(records);
    for (const record of gone) note(record.key);
    return gone;
  };
}

function takeChanges(
  raw: RawDatabase,
  scope: ReadonlySet<string>,
  dirty: Map<string, Set<string>>,
): RowChange[] {
  const changes: RowChange[] = [];
  for (const store of scope) {
    const keys = dirty.get(store);
    if (keys === undefined) continue;
    for (const key of keys) {
      const record = raw.rawObjectStores.get(store)?.records.get(fromText(key));
      changes.push({ store, key, value: record === undefined ? null : toText(record.value) });
    }
    keys.clear();
  }
  return changes;
}
