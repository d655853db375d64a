import type { OlmMachine } from '@matrix-org/matrix-sdk-crypto-wasm';
import type { Database } from '../../core/db/database.ts';
import { errorText } from '../../core/errors.ts';
import { settleTrouble } from '../../core/events/settle.ts';
import { type RoomId, type UserId, asId } from '../../core/ids.ts';
import { log } from '../../core/log.ts';
import { noteReplacedKey } from '../../core/signing-keys.ts';
import type { NomosClient } from '../matrix/client.ts';
import { sortFailure } from '../matrix/errors.ts';
import type { SyncResponse } from '../matrix/events.ts';
import { UnsendableError } from '../outbox/resolve.ts';
import { DeviceKeysLostError, introduceDevice, refuseKnownDevice } from './cross-signing.ts';
import { type CryptoLibrary, Machine } from './machine.ts';
import { Audiences } from './members.ts';
import { Mutex } from './mutex.ts';
import { carryOut } from './requests.ts';
import { Sealer } from './seal.ts';
import type { DeviceOwner } from './store.ts';
import {
  keysLeft,
  meetsEncryption,
  roomsWithNewAudience,
  tellsDevice,
  wantsKeys,
} from './sync-part.ts';
import { type Unsealed, unseal } from './unseal.ts';

/** What the trouble of lost keys is called. */
const KEYS = 'device_keys';

/** See `#told`. */
const TOLD_KEPT_MS = 3_600_000;

/** What encryption works with. */
export interface RoomCryptoOptions {
  database: Database;
  client: NomosClient;
  owner: DeviceOwner;
  /** The account's password, for signing the bot's device. */
  password: string | undefined;
  /** Keys of messages in these rooms came. */
  onKeys(roomIds: readonly RoomId[]): void;
}

/**
 * End-to-end encryption for the sync loop, the inbox and the outbox. The library is loaded when it is first needed: when the
 * bot is in an encrypted room, or another device sends it something, or its own keys are to be made or renewed.
 */
export class RoomCrypto {
  readonly #options: RoomCryptoOptions;
  readonly #machine: Machine;
  readonly #audiences: Audiences;
  readonly #sealer: Sealer;
  readonly #outgoing = new Mutex();
  #needed = false;
  /** Whether there were encrypted rooms, and keys of the device, when this started. */
  #atStart: { rooms: boolean; device: boolean } | undefined;
  #lost: DeviceKeysLostError | undefined;
  /**
   * What a machine was last told of its keys on the homeserver, and when. A sync that says no more is not given to it, since each
   * one makes it write; but one an hour is, since it renews its fallback key on the way.
   */
  #told: { to: OlmMachine; keys: string; at: number } | undefined;

  constructor(options: RoomCryptoOptions) {
    const { database, client, owner } = options;
    this.#options = options;
    this.#audiences = new Audiences(client);
    this.#machine = new Machine(database, owner, {
      beforeFirstKeys: async () => refuseKnownDevice(client, owner),
      onLoaded: async (olm, library) => this.#onLoaded(olm, library),
    });
    this.#sealer = new Sealer({
      machine: this.#machine,
      client,
      audiences: this.#audiences,
      settle: async () => this.#settle(),
    });
  }

  /** The keys of the bot's device are gone, so that nothing can be read: why. */
  get lost(): DeviceKeysLostError | undefined {
    return this.#lost;
  }

  /**
   * Takes a sync response in, before it is stored: what is not kept by then would be lost with the position that follows.
   * Throws `CryptoNotKeptError`; then the same response can be asked for again.
   */
  async receive(response: SyncResponse): Promise<void> {
    for (const roomId of roomsWithNewAudience(response)) this.#audiences.forget(roomId);
    this.#atStart ??= await this.#lookAround();
    this.#needed ||= meetsEncryption(response) || this.#atStart.rooms;
    const renew = this.#atStart.device && wantsKeys(response);
    if (!(this.#needed || renew || this.#machine.isLoaded)) return;
    await this.#orLost(async () =>
      this.#machine.use(async (olm, library) => {
        const keys = keysLeft(response);
        const told = this.#told;
        const fresh = told?.to === olm && performance.now() - told.at < TOLD_KEPT_MS;
        if (fresh && told.keys === keys && !tellsDevice(response)) return;
        const { changed, left } = response.device_lists;
        await olm.receiveSyncChanges(
          JSON.stringify(response.to_device.events),
          new library.DeviceLists(
            changed.map((id) => new library.UserId(id)),
            left.map((id) => new library.UserId(id)),
          ),
          new Map(Object.entries(response.device_one_time_keys_count)),
          response.device_unused_fallback_key_types === undefined
            ? undefined
            : new Set(response.device_unused_fallback_key_types),
          new library.DecryptionSettings(library.TrustRequirement.Untrusted),
        );
        this.#told = { to: olm, keys, at: performance.now() };
      }),
    );
  }

  /** Makes the requests that a sync led to, once it is stored. A failure is told: they are made again with the next one. */
  async afterSync(): Promise<void> {
    if (!this.#machine.isLoaded || this.#lost !== undefined) return;
    try {
      await this.#settle();
    } catch (error) {
      log.warn({ error: errorText(error) }, 'keys could not be exchanged; trying again');
    }
  }

  /**
   * Puts the bot's device on record on the homeserver and signs it: at its first start, so that whoever writes first can
   * encrypt for it, and whenever the bot is in encrypted rooms. What the homeserver refuses for good is told and left; anything
   * else is thrown.
   */
  async introduce(): Promise<void> {
    const { client, owner, password } = this.#options;
    if (!this.#needed && (await this.#machine.exists())) return;
    try {
      const introduced = await this.#orLost(async () =>
        introduceDevice({
          machine: this.#machine,
          client,
          owner,
          password,
          settle: async () => this.#settle(),
        }),
      );
      if (introduced === undefined) return;
      await this.#options.database.write(async (unit) => settleTrouble(unit, KEYS));
    } catch (error) {
      if (sortFailure(error).kind !== 'permanent') throw error;
      log.error(
        { error: errorText(error) },
        'the bot’s device stays unsigned, and clients will warn of it: the homeserver refuses it',
      );
    }
  }

  /** See `Sealer.seal`. Throws `UnsendableError` as well when the device's keys are lost. */
  async seal(
    roomId: RoomId,
    eventType: string,
    content: Record<string, unknown>,
  ): Promise<Record<string, unknown>> {
    this.#needed = true;
    const sealed = await this.#orLost(async () => this.#sealer.seal(roomId, eventType, content));
    if (sealed === undefined)
      throw new UnsendableError('room_encrypted', this.#lost?.message ?? '');
    return sealed;
  }

  /** See `unseal`. Where the device's keys are lost, nothing is readable. */
  async unseal(roomId: RoomId, sender: string, event: unknown): Promise<Unsealed> {
    this.#needed = true;
    const context = {
      machine: this.#machine,
      settle: async () => this.#settle(),
      isVouchedFor: async (userId: string, key: string) =>
        this.#options.database.write(async (unit) =>
          noteReplacedKey(unit, asId<UserId>(userId), key),
        ),
    };
    const unsealed = await this.#orLost(async () => unseal(context, roomId, sender, event));
    return unsealed ?? { kind: 'unreadable', why: this.#lost?.message ?? '' };
  }

  /** Lets go of the keys. */
  async close(): Promise<void> {
    await this.#machine.close();
  }

  async #tellLost(error: DeviceKeysLostError): Promise<void> {
    const { code, fault, message, hint } = error;
    log.error({ error: message, hint }, 'encrypted rooms cannot be read');
    await this.#options.database.write(async (unit) =>
      unit.emit({
        type: 'error.raised',
        data: { code, fault, message, hint: hint ?? null, retry: false, about: KEYS },
      }),
    );
  }

  async #lookAround(): Promise<{ rooms: boolean; device: boolean }> {
    const rooms = await this.#options.database.read.matrixRoom.count({
      where: { encrypted: true, membership: { not: 'leave' } },
    });
    return { rooms: rooms > 0, device: await this.#machine.exists() };
  }

  async #settle(): Promise<void> {
    await this.#outgoing.run(async () =>
      this.#machine.use(async (olm, library) => {
        for (const request of await olm.outgoingRequests()) {
          // Its answer says how many keys there are now: the next sync may say what was said before it.
          if (request.type === library.RequestType.KeysUpload) this.#told = undefined;
          try {
            await carryOut(this.#options.client, olm, library, request);
          } catch (error) {
            // What will never be taken must not keep everybody else from reading and writing.
            if (sortFailure(error).kind !== 'permanent') throw error;
            log.error({ error: errorText(error), type: request.type }, 'keys are refused');
          }
        }
      }),
    );
  }

  async #onLoaded(olm: OlmMachine, _library: CryptoLibrary): Promise<void> {
    olm.registerRoomKeyUpdatedCallback(async (keys) => {
      this.#options.onKeys([...new Set(keys.map((key) => asId<RoomId>(key.roomId.toString())))]);
    });
    // What changed while the library was not loaded was not followed.
    await olm.markAllTrackedUsersAsDirty();
  }

  /** Notes that the device's keys are lost: told once, and nothing is tried with them any more. */
  async #orLost<T>(work: () => Promise<T>): Promise<T | undefined> {
    if (this.#lost !== undefined) return undefined;
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof DeviceKeysLostError)) throw error;
      if (this.#lost === undefined) await this.#tellLost(error);
      this.#lost = error;
      return undefined;
    }
  }
}
