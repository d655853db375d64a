import type { Database, Unit } from '../../core/db/database.ts';
import { NomosError } from '../../core/errors.ts';
import { faultPoint } from '../../core/faults.ts';
import type { UserId } from '../../core/ids.ts';
import type { RowChange } from './indexed-db.ts';
import { type SavedStore, type StoreLayout, layoutShape } from './rows.ts';

/** The device whose keys a store holds. */
export interface DeviceOwner {
  userId: UserId;
  deviceId: string;
}

/** Another process has loaded the store since: this one must not write any more (Z9). */
export class StoreTakenError extends NomosError {
  constructor() {
    super(
      'crypto_store_taken',
      'system',
      'The keys of the bot’s device were loaded by another process.',
    );
  }
}

/**
 * The rows of a device's store in PostgreSQL. Each load takes the next epoch, and whoever holds an older one is refused: a
 * process that lost the bot's lock and does not know it yet cannot mix its keys with the newer ones.
 */
export class CryptoStore {
  readonly #database: Database;
  readonly #owner: DeviceOwner;
  #epoch = 0n;

  constructor(database: Database, owner: DeviceOwner) {
    this.#database = database;
    this.#owner = owner;
  }

  /** Whether there are keys of this device. */
  async exists(): Promise<boolean> {
    return (await this.#database.read.matrixCryptoDevice.count({ where: this.#owner })) > 0;
  }

  /** Takes the store over and reads it whole; undefined when there is none. */
  async load(): Promise<SavedStore | undefined> {
    const { userId, deviceId } = this.#owner;
    return this.#database.write(async (unit) => {
      const [device] = await unit.db.$queryRaw<Array<{ epoch: bigint; layout: unknown }>>`
        UPDATE matrix_crypto_devices SET epoch = epoch + 1
        WHERE user_id = ${userId} AND device_id = ${deviceId} RETURNING epoch, layout`;
      if (device === undefined) return undefined;
      this.#epoch = device.epoch;
      const rows = await unit.db.matrixCryptoRow.findMany({
        where: { userId, deviceId },
        select: { store: true, key: true, value: true },
      });
      return { layout: layoutShape.parse(device.layout), rows };
    });
  }

  /** Begins an empty store. */
  async begin(layout: StoreLayout): Promise<void> {
    await this.#database.write(async (unit) => {
      await unit.db.matrixCryptoDevice.create({ data: { ...this.#owner, epoch: 1n, layout } });
    });
    this.#epoch = 1n;
  }

  /** Writes the whole store in a new layout, after the library changed it. */
  async replace({ layout, rows }: SavedStore): Promise<void> {
    const owner = this.#owner;
    await this.#fenced(async (unit) => {
      await unit.db.matrixCryptoDevice.update({
        where: { userId_deviceId: owner },
        data: { layout },
      });
      await unit.db.matrixCryptoRow.deleteMany({ where: owner });
      await this.#put(unit, rows);
    });
  }

  /** Writes what one transaction changed. */
  async keep(changes: readonly RowChange[]): Promise<void> {
    const written = changes.flatMap(({ value, ...row }) =>
      value === null ? [] : [{ ...row, value }],
    );
    const removed = changes.filter(({ value }) => value === null);
    await this.#fenced(async (unit) => {
      if (written.length > 0) await this.#put(unit, written);
      if (removed.length > 0) await this.#remove(unit, removed);
      await faultPoint('crypto.before_keep');
    });
    await faultPoint('crypto.kept');
  }

  async #fenced(work: (unit: Unit) => Promise<void>): Promise<void> {
    const { userId, deviceId } = this.#owner;
    await this.#database.write(async (unit) => {
      const mine = await unit.db.$queryRaw<unknown[]>`
        SELECT 1 FROM matrix_crypto_devices
        WHERE user_id = ${userId} AND device_id = ${deviceId} AND epoch = ${this.#epoch} FOR UPDATE`;
      if (mine.length === 0) throw new StoreTakenError();
      await work(unit);
    });
  }

  async #put(unit: Unit, rows: SavedStore['rows']): Promise<void> {
    const { userId, deviceId } = this.#owner;
    await unit.db.$executeRaw`
      INSERT INTO matrix_crypto_rows (user_id, device_id, store, key, value)
      SELECT ${userId}, ${deviceId}, store, key, value
      FROM unnest(${rows.map(({ store }) => store)}::text[], ${rows.map(({ key }) => key)}::text[],
        ${rows.map(({ value }) => value)}::text[]) AS row (store, key, value)
      ON CONFLICT (user_id, device_id, store, key) DO UPDATE SET value = excluded.value`;
  }

  async #remove(unit: Unit, rows: readonly RowChange[]): Promise<void> {
    const { userId, deviceId } = this.#owner;
    await unit.db.$executeRaw`
      DELETE FROM matrix_crypto_rows USING unnest(${rows.map(({ store }) => store)}::text[],
        ${rows.map(({ key }) => key)}::text[]) AS row (store, key)
      WHERE user_id = ${userId} AND device_id = ${deviceId}
        AND matrix_crypto_rows.store = row.store AND matrix_crypto_rows.key = row.key`;
  }
}
