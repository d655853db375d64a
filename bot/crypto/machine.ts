import type * as Library from '@matrix-org/matrix-sdk-crypto-wasm';
import type { Database } from '../../core/db/database.ts';
import { NomosError, errorText } from '../../core/errors.ts';
import { log } from '../../core/log.ts';
import { type KeptDatabase, openKeptDatabase } from './indexed-db.ts';
import { CryptoStore, type DeviceOwner, StoreTakenError } from './store.ts';

/** The crypto library, once it is loaded. */
export type CryptoLibrary = typeof Library;
type OlmMachine = Library.OlmMachine;

/** What the machine had done could not be kept. It is loaded again from what was kept; the same can be asked again. */
export class CryptoNotKeptError extends NomosError {
  constructor(cause: unknown) {
    super('crypto_not_kept', 'system', `The keys cannot be kept: ${errorText(cause)}`, { cause });
  }
}

/** What is done around the loading of a machine. A throw of either is thrown by whoever wanted to use it. */
export interface MachineHooks {
  /** Before the device gets its first keys. */
  beforeFirstKeys(): Promise<void>;
  /** After each load, before anything else uses the machine. */
  onLoaded(machine: OlmMachine, library: CryptoLibrary): Promise<void>;
}

interface Loaded {
  library: CryptoLibrary;
  machine: OlmMachine;
  kept: KeptDatabase;
}

/**
 * The state machine of the bot's device. It is loaded when it is first used, from the rows in PostgreSQL, and a promise of
 * its resolves only when what it wrote is kept there. When a write is refused, memory is ahead of the rows: the machine is
 * dropped, and the next use loads it again.
 */
export class Machine {
  readonly #owner: DeviceOwner;
  readonly #store: CryptoStore;
  readonly #hooks: MachineHooks;
  #loading: Promise<Loaded> | undefined;
  #closed = false;
  #taken: StoreTakenError | undefined;

  constructor(database: Database, owner: DeviceOwner, hooks: MachineHooks) {
    this.#owner = owner;
    this.#store = new CryptoStore(database, owner);
    this.#hooks = hooks;
  }

  /** Whether this device has keys already. */
  async exists(): Promise<boolean> {
    return this.#store.exists();
  }

  /** Whether it was used since the start. */
  get isLoaded(): boolean {
    return this.#loading !== undefined;
  }

  /**
   * Uses the machine. Throws `CryptoNotKeptError` when what it did could not be kept, and from then on `StoreTakenError` when
   * another process has loaded the keys.
   */
  async use<T>(work: (machine: OlmMachine, library: CryptoLibrary) => Promise<T>): Promise<T> {
    if (this.#closed) throw new Error('The crypto machine was closed.');
    if (this.#taken !== undefined) throw this.#taken;
    this.#loading ??= this.#load();
    const loading = this.#loading;
    let loaded: Loaded;
    try {
      loaded = await loading;
    } catch (error) {
      if (this.#loading === loading) this.#loading = undefined;
      throw error;
    }
    const { machine, library, kept } = loaded;
    try {
      return await work(machine, library);
    } catch (error) {
      if (kept.failure === undefined) throw error;
      if (kept.failure instanceof StoreTakenError) {
        // Loading the keys again would take them back from whoever has the lock now.
        this.#taken = kept.failure;
        drop(loaded);
        throw kept.failure;
      }
      if (this.#loading === loading) {
        this.#loading = undefined;
        log.error({ error: errorText(kept.failure) }, 'keys were not kept; loading them again');
        drop(loaded);
      }
      throw new CryptoNotKeptError(kept.failure);
    }
  }

  /** Lets go of it. Nothing that is still under way is kept. */
  async close(): Promise<void> {
    this.#closed = true;
    const loaded = await this.#loading?.catch(() => undefined);
    if (loaded !== undefined) drop(loaded);
  }

  async #load(): Promise<Loaded> {
    const startedAt = performance.now();
    const store = this.#store;
    const [library, saved] = await Promise.all([loadLibrary(), store.load()]);
    if (saved === undefined) await this.#hooks.beforeFirstKeys();
    const kept = await openKeptDatabase(saved, async (changes) => store.keep(changes));
    if (saved !== undefined) kept.watch();
    const handle = await library.StoreHandle.open(kept.name, null);
    const now = kept.watch();
    if (saved === undefined) await store.begin(now.layout);
    if (saved === undefined ? now.rows.length > 0 : saved.layout.version !== now.layout.version) {
      await store.replace(now);
    }
    const machine = await library.OlmMachine.initFromStore(
      new library.UserId(this.#owner.userId),
      new library.DeviceId(this.#owner.deviceId),
      handle,
    );
    await this.#hooks.onLoaded(machine, library);
    const tookMs = Math.round(performance.now() - startedAt);
    log.info({ device: this.#owner.deviceId, rows: now.rows.length, tookMs }, 'keys loaded');
    return { library, machine, kept };
  }
}

async function loadLibrary(): Promise<CryptoLibrary> {
  const library = await import('@matrix-org/matrix-sdk-crypto-wasm');
  await library.initAsync();
  return library;
}

function drop({ machine, kept }: Loaded): void {
  kept.drop();
  try {
    machine.close();
  } catch (error) {
    // Something of it is still under way, and fails by itself now that nothing is kept.
    log.debug({ error: errorText(error) }, 'the crypto machine was in use when it was dropped');
  }
}
