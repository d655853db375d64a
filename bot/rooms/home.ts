import type { Database } from '../../core/db/database.ts';
import { faultPoint } from '../../core/faults.ts';
import type { RoomId, UserId } from '../../core/ids.ts';
import type { NomosClient } from '../matrix/client.ts';
import { sortFailure } from '../matrix/errors.ts';
import { persist } from '../matrix/retry.ts';
import { ENCRYPTED, type Encryption } from './encryption.ts';
import { childState, findMadeRoom, inviteMissing, parentState, privateRoom } from './made-rooms.ts';
import { roomOfKind, saveRoom } from './room-state.ts';
import { create } from './task-room.ts';

/** What finding or making the home needs. */
export interface HomeOptions {
  database: Database;
  client: NomosClient;
  botUserId: UserId;
  operators: readonly UserId[];
  /** Whether rooms are encrypted. Default `never`. */
  encryption?: Encryption | undefined;
  signal: AbortSignal;
}

/** The bot's Space and the lobby in it (T1). */
export interface Home {
  spaceId: RoomId;
  lobbyId: RoomId;
}

const ROOMS = {
  space: {
    name: 'Nomos',
    topic: 'The tasks of this fleet, one room each.',
  },
  lobby: {
    name: 'Nomos lobby',
    topic: 'Write here what is to be done: each task gets a room of its own. !help lists commands.',
  },
} as const;

/**
 * Finds the Space and the lobby again, or makes them (T1). To be called after a sync: by then the rows say which rooms the
 * bot made, also one that was made just before a crash. Waits while the homeserver is away; throws what it refuses.
 */
export async function ensureHome(options: HomeOptions): Promise<Home> {
  const { client, botUserId, signal } = options;
  const spaceId = await ensureRoom('space', options, {
    creation_content: { type: 'm.space', 'org.nomos': { home: 'space' } },
  });
  const lobbyId = await ensureRoom('lobby', options, {
    creation_content: { 'org.nomos': { home: 'lobby' } },
    initial_state: [
      parentState(spaceId, botUserId),
      ...(options.encryption === 'always' ? [ENCRYPTED] : []),
    ],
  });
  const path = `/_matrix/client/v3/rooms/${encodeURIComponent(spaceId)}/state/m.space.child/${encodeURIComponent(lobbyId)}`;
  await persist('putting the lobby into the Space', signal, () =>
    client.doRequest('PUT', path, null, childState(botUserId)),
  );
  return { spaceId, lobbyId };
}

/** Invites the operators who are not in the Space and the lobby yet, also those who are new in the configuration. */
export async function inviteOperators(home: Home, options: HomeOptions): Promise<void> {
  for (const roomId of [home.spaceId, home.lobbyId]) {
    await persist('inviting the operators', options.signal, () =>
      inviteMissing(options.client, roomId, options.operators),
    );
  }
}

async function ensureRoom(
  kind: 'space' | 'lobby',
  options: HomeOptions,
  body: Record<string, unknown>,
): Promise<RoomId> {
  const { database, client, botUserId, operators, signal } = options;
  const known = await roomOfKind(database.read, kind);
  if (known !== undefined) return known;
  const find = (): Promise<RoomId | undefined> =>
    findMadeRoom(database, client, botUserId, { kind });
  let roomId: RoomId | undefined;
  try {
    // Looked for at each try: a creation whose answer was lost has made the room.
    roomId = await persist(
      `making the ${kind}`,
      signal,
      async () =>
        (await find()) ??
        (await create(client, { ...privateRoom(botUserId, operators), ...ROOMS[kind], ...body })),
    );
  } catch (error) {
    if (sortFailure(error).kind !== 'permanent') throw error;
    // One operator who cannot be invited breaks a creation off when the room is there already.
    roomId = await persist(`looking for the ${kind}`, signal, find);
    if (roomId === undefined) throw error;
  }
  const found = roomId;
  await faultPoint('rooms.home_made');
  await database.write(async (unit) => saveRoom(unit, found, { kind, membership: 'join' }));
  return found;
}
