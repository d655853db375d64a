import { z } from 'zod';
import type { RoomId } from '../../core/ids.ts';
import type { NomosClient } from '../matrix/client.ts';
import { sortFailure } from '../matrix/errors.ts';

/** Whom a message in a room is encrypted for, and how. */
export interface Audience {
  /** Those who are in the room, and those invited where they may read what is said until they come. The bot among them. */
  userIds: string[];
  /** As `m.room.encryption` says. */
  algorithm: string;
  rotationMs: number | undefined;
  rotationMessages: number | undefined;
}

const membersShape = z.looseObject({
  chunk: z.array(
    z.looseObject({ state_key: z.string(), content: z.looseObject({ membership: z.string() }) }),
  ),
});
const encryptionShape = z.looseObject({
  algorithm: z.string(),
  rotation_period_ms: z.number().positive().optional().catch(undefined),
  rotation_period_msgs: z.number().positive().optional().catch(undefined),
});
const visibilityShape = z.looseObject({ history_visibility: z.string() });

/** Who is in the encrypted rooms. Asked for once per room, and again after somebody came or went. */
export class Audiences {
  readonly #client: NomosClient;
  readonly #known = new Map<RoomId, Promise<Audience>>();

  constructor(client: NomosClient) {
    this.#client = client;
  }

  /** The audience of a room. Throws what the homeserver answered. */
  async of(roomId: RoomId): Promise<Audience> {
    const known = this.#known.get(roomId) ?? this.#ask(roomId);
    this.#known.set(roomId, known);
    try {
      return await known;
    } catch (error) {
      if (this.#known.get(roomId) === known) this.#known.delete(roomId);
      throw error;
    }
  }

  /** Somebody came or went, or what the room says of its encryption changed. */
  forget(roomId: RoomId): void {
    this.#known.delete(roomId);
  }

  async #ask(roomId: RoomId): Promise<Audience> {
    const room = `/_matrix/client/v3/rooms/${encodeURIComponent(roomId)}`;
    const [members, encryption, visibility] = await Promise.all([
      this.#client.doRequest('GET', `${room}/members`, { not_membership: 'leave' }),
      this.#client.doRequest('GET', `${room}/state/m.room.encryption/`),
      this.#client.doRequest('GET', `${room}/state/m.room.history_visibility/`).catch(absent),
    ]);
    const memberships =
      visibilityShape.safeParse(visibility).data?.history_visibility === 'joined'
        ? ['join']
        : ['join', 'invite'];
    const settings = encryptionShape.parse(encryption);
    return {
      userIds: membersShape
        .parse(members)
        .chunk.filter(({ content }) => memberships.includes(content.membership))
        .map((member) => member.state_key),
      algorithm: settings.algorithm,
      rotationMs: settings.rotation_period_ms,
      rotationMessages: settings.rotation_period_msgs,
    };
  }
}

/** A room that does not say who may read its history has the default, `shared`. */
function absent(error: unknown): undefined {
  if (sortFailure(error).kind !== 'permanent') throw error;
  return undefined;
}
