import type { RoomId } from '../../core/ids.ts';
import type { NomosClient } from '../matrix/client.ts';
import { UnsendableError } from '../outbox/resolve.ts';
import type { Audience, Audiences } from './members.ts';
import type { CryptoLibrary, Machine } from './machine.ts';
import { Mutex } from './mutex.ts';
import { carryOut } from './requests.ts';

const MEGOLM = 'm.megolm.v1.aes-sha2';

/** Encrypts what the bot says in a room. */
export class Sealer {
  readonly #machine: Machine;
  readonly #client: NomosClient;
  readonly #audiences: Audiences;
  /** Makes the requests that the machine has ready, first of all those for the keys of devices. */
  readonly #settle: () => Promise<void>;
  readonly #rooms = new Map<RoomId, Mutex>();
  readonly #claims = new Mutex();

  constructor(options: {
    machine: Machine;
    client: NomosClient;
    audiences: Audiences;
    settle: () => Promise<void>;
  }) {
    this.#machine = options.machine;
    this.#client = options.client;
    this.#audiences = options.audiences;
    this.#settle = options.settle;
  }

  /**
   * Encrypts an event for everyone in a room and gives the content of the `m.room.encrypted` event. The keys have reached
   * the devices when it resolves. One at a time per room: the library must not be asked to encrypt while the session is
   * being renewed. Throws what the homeserver answered, `CryptoNotKeptError`, and `UnsendableError` for a room whose
   * algorithm nobody knows.
   */
  async seal(
    roomId: RoomId,
    eventType: string,
    content: Record<string, unknown>,
  ): Promise<Record<string, unknown>> {
    const room = this.#rooms.get(roomId) ?? new Mutex();
    this.#rooms.set(roomId, room);
    return room.run(async () => {
      const audience = await this.#audiences.of(roomId);
      if (audience.algorithm !== MEGOLM) {
        throw new UnsendableError(
          'room_algorithm',
          `The room ${roomId} wants to be encrypted by ${audience.algorithm}, which is not known.`,
        );
      }
      await this.#share(roomId, audience);
      return this.#machine.use(async (machine, library) => {
        const text = JSON.stringify(content);
        const sealed = await machine.encryptRoomEvent(new library.RoomId(roomId), eventType, text);
        return JSON.parse(sealed) as Record<string, unknown>;
      });
    });
  }

  /** Brings the room's session to every device that must have it. Costs nothing where all have it. */
  async #share(roomId: RoomId, audience: Audience): Promise<void> {
    await this.#machine.use(async (machine, library) =>
      machine.updateTrackedUsers(userIds(library, audience)),
    );
    await this.#settle();
    await this.#claims.run(async () =>
      this.#machine.use(async (machine, library) => {
        const claim = await machine.getMissingSessions(userIds(library, audience));
        if (claim != null) await carryOut(this.#client, machine, library, claim);
      }),
    );
    await this.#machine.use(async (machine, library) => {
      const requests = await machine.shareRoomKey(
        new library.RoomId(roomId),
        userIds(library, audience),
        settingsOf(library, audience),
      );
      for (const request of requests) await carryOut(this.#client, machine, library, request);
    });
  }
}

/** Made anew for each call: the library takes them away. */
function userIds({ UserId }: CryptoLibrary, { userIds: ids }: Audience) {
  return ids.map((id) => new UserId(id));
}

function settingsOf(library: CryptoLibrary, audience: Audience) {
  const settings = new library.EncryptionSettings();
  const { rotationMs, rotationMessages } = audience;
  // Microseconds.
  if (rotationMs !== undefined) settings.rotationPeriod = BigInt(Math.round(rotationMs)) * 1_000n;
  if (rotationMessages !== undefined) {
    settings.rotationPeriodMessages = BigInt(Math.round(rotationMessages));
  }
  return settings;
}
