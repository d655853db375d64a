import { z } from 'zod';
import type { Database } from '../../core/db/database.ts';
import { type RoomId, type UserId, asId } from '../../core/ids.ts';
import { log } from '../../core/log.ts';
import type { NomosClient } from '../matrix/client.ts';
import { sortFailure } from '../matrix/errors.ts';
import { stateShape } from '../matrix/events.ts';
import { madeFor } from './room-state.ts';

/** What a room of the bot's own was made for. */
export type Purpose = NonNullable<ReturnType<typeof madeFor>>;

const joinedShape = z.looseObject({ joined_rooms: z.array(z.string()) });
const stateListShape = z.array(z.unknown());

/**
 * Looks for a room that the bot made for a purpose and could not write down, by its creation content. Only rooms whose
 * rows do not say what they are for are asked about.
 */
export async function findMadeRoom(
  database: Database,
  client: NomosClient,
  botUserId: UserId,
  wanted: Purpose,
): Promise<RoomId | undefined> {
  const { joined_rooms: joined } = joinedShape.parse(
    await client.doRequest('GET', '/_matrix/client/v3/joined_rooms'),
  );
  const rows = await database.read.matrixRoom.findMany({ where: { roomId: { in: joined } } });
  const match = rows.find((row) =>
    wanted.kind === 'task' ? row.sessionId === wanted.sessionId : row.kind === wanted.kind,
  );
  if (match !== undefined) return asId<RoomId>(match.roomId);
  const settled = new Set(rows.filter((row) => row.kind !== 'new').map((row) => row.roomId));
  for (const id of joined.filter((roomId) => !settled.has(roomId))) {
    const state = stateListShape.parse(
      await client.doRequest('GET', `/_matrix/client/v3/rooms/${encodeURIComponent(id)}/state`),
    );
    const purpose = state.flatMap((item) => {
      const event = stateShape.safeParse(item);
      return event.success && event.data.type === 'm.room.create'
        ? [madeFor(event.data, botUserId)]
        : [];
    })[0];
    if (purpose !== undefined && samePurpose(purpose, wanted)) return asId<RoomId>(id);
  }
  return undefined;
}

function samePurpose(a: Purpose, b: Purpose): boolean {
  if (a.kind === 'task' && b.kind === 'task') return a.sessionId === b.sessionId;
  return a.kind === b.kind;
}

const membersShape = z.looseObject({
  chunk: z.array(
    z.looseObject({ state_key: z.string(), content: z.looseObject({ membership: z.string() }) }),
  ),
});

/**
 * Invites those who are neither in a room, nor invited, nor banned. Someone whom the homeserver refuses to invite (a
 * misspelt id, an unreachable server) is told in the log and left out; limits and outages are thrown.
 */
export async function inviteMissing(
  client: NomosClient,
  roomId: RoomId,
  userIds: readonly UserId[],
): Promise<void> {
  const room = `/_matrix/client/v3/rooms/${encodeURIComponent(roomId)}`;
  const { chunk } = membersShape.parse(await client.doRequest('GET', `${room}/members`));
  const there = new Set(
    chunk
      .filter((member) => ['join', 'invite', 'ban'].includes(member.content.membership))
      .map((member) => member.state_key),
  );
  for (const userId of userIds.filter((id) => !there.has(id))) {
    try {
      await client.doRequest('POST', `${room}/invite`, null, { user_id: userId });
    } catch (error) {
      const failure = sortFailure(error);
      if (failure.kind !== 'permanent') throw error;
      log.error(
        { roomId, userId, error: failure.text },
        'an operator cannot be invited; check the id in NOMOS_OPERATORS',
      );
    }
  }
}

/** The part of a user id or room id after the first colon: the server. */
export function serverOf(id: string): string {
  return id.slice(id.indexOf(':') + 1);
}

/** Creation fields that all rooms of the bot share: private, operators may moderate, only the bot may do all. */
export function privateRoom(
  botUserId: UserId,
  operators: readonly UserId[],
): Record<string, unknown> {
  return {
    preset: 'private_chat',
    visibility: 'private',
    invite: [...operators],
    power_level_content_override: {
      users: {
        ...Object.fromEntries(operators.map((userId) => [userId, 50])),
        [botUserId]: 100,
      },
      // Whoever is invited by an operator reads along; nobody else brings people in.
      invite: 50,
    },
  };
}

/** State that ties a room to the Space, from the room's side. */
export function parentState(spaceId: RoomId, botUserId: UserId): Record<string, unknown> {
  return {
    type: 'm.space.parent',
    state_key: spaceId,
    content: { via: [serverOf(botUserId)], canonical: true },
  };
}

/** The content of `m.space.child`, which ties a room to the Space from the Space's side. */
export function childState(botUserId: UserId): Record<string, unknown> {
  return { via: [serverOf(botUserId)] };
}
