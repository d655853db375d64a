import { z } from 'zod';
import type { Database } from '../../core/db/database.ts';
import { type RoomId, type UserId, asId } from '../../core/ids.ts';
import { log } from '../../core/log.ts';
import {
  type Invitation,
  type JoinedRoom,
  type StoreContext,
  type Stored,
  type SyncBatch,
  storeBatch,
  syncKey,
} from '../inbox/store.ts';
import type { RoomCrypto } from '../crypto/crypto.ts';
import { StoreTakenError } from '../crypto/store.ts';
import { roomStateShape } from '../rooms/room-state.ts';
import type { NomosClient } from './client.ts';
import {
  type SyncResponse,
  type TimelineEvent,
  eventShape,
  readEvents,
  stateShape,
  syncShape,
} from './events.ts';
import { errorText } from '../../core/errors.ts';
import { sortFailure } from './errors.ts';
import { fillGap } from './gap.ts';
import { backoffMs, pause, persist } from './retry.ts';
import { readState } from './state.ts';

const LONG_POLL_MS = 30_000;
const TIMELINE_LIMIT = 100;
// What the bot does not read is not sent to it. Members are read where they are needed, never lazily.
const FILTER = JSON.stringify({
  presence: { not_types: ['*'] },
  account_data: { not_types: ['*'] },
  room: {
    account_data: { not_types: ['*'] },
    ephemeral: { not_types: ['*'] },
    state: {
      types: ['m.room.create', 'm.room.encryption', 'm.room.tombstone'],
      lazy_load_members: false,
    },
    timeline: { limit: TIMELINE_LIMIT, lazy_load_members: false },
  },
});

const positionShape = z.strictObject({ v: z.literal(1), token: z.string() });

/** What the sync loop works with. */
export interface SyncOptions extends StoreContext {
  database: Database;
  client: NomosClient;
  signal: AbortSignal;
  /** Takes in what came for the bot's device, before a response is stored. */
  crypto?: RoomCrypto | undefined;
  /** After a response was stored. */
  onStored(stored: Stored): void;
  /** Largest gap, in pages of 100 events. Default 200. */
  maxGapPages?: number | undefined;
}

/**
 * Syncs until the signal fires. A response is stored, and its gaps filled, before the next one is asked for; the position
 * moves with it in one transaction, so a crash anywhere asks for the same again. Keys that came with it are kept before:
 * to be given the same ones twice is harmless, to lose one is not. Throws what the homeserver refuses for good, first of all
 * the token.
 */
export async function runSync(options: SyncOptions): Promise<void> {
  const { database, client, signal } = options;
  const key = syncKey(options.botUserId);
  let failures = 0;
  // The first answer of a run comes at once: whoever starts waits for it to know which rooms there are.
  let pollMs = 0;
  let token: string | undefined;
  while (!signal.aborted) {
    try {
      token ??= (await readState(database.read, key, positionShape))?.token;
      const since = token;
      const answer = await persist('syncing', signal, () => poll(client, since, pollMs));
      const response = syncShape.parse(answer);
      await options.crypto?.receive(response);
      const batch =
        since === undefined
          ? await firstBatch(response, options)
          : await nextBatch(response, options);
      options.onStored(await storeBatch(database, batch, options));
      token = batch.nextBatch;
      await options.crypto?.afterSync();
      failures = 0;
      pollMs = LONG_POLL_MS;
    } catch (error) {
      if (signal.aborted) return;
      if (!passes(error)) throw error;
      // The database is away, or the answer was cut: the same position is asked for again.
      failures++;
      log.error({ error: errorText(error), failures }, 'a sync could not be stored; trying again');
      await pause(backoffMs(failures), signal);
    }
  }
}

async function poll(
  client: NomosClient,
  since: string | undefined,
  timeout: number,
): Promise<unknown> {
  return client.doRequest(
    'GET',
    '/_matrix/client/v3/sync',
    { filter: FILTER, timeout, since },
    null,
    // A first sync may take long on a server that has much to say.
    timeout + (since === undefined ? 300_000 : 30_000),
  );
}

function passes(error: unknown): boolean {
  // Whoever has the keys now is the bot: this term is over.
  if (error instanceof StoreTakenError) return false;
  return sortFailure(error).kind !== 'token' && sortFailure(error).kind !== 'permanent';
}

/** The very first sync of an account: what was said before is history, invitations are not. */
async function firstBatch(response: SyncResponse, options: SyncOptions): Promise<SyncBatch> {
  return batchOf(response, options, async (roomId, timeline) => ({
    roomId,
    timeline,
    newFrom: timeline.length,
  }));
}

async function nextBatch(response: SyncResponse, options: SyncOptions): Promise<SyncBatch> {
  const { database, client, signal, botUserId } = options;
  return batchOf(response, options, async (roomId, inSync, block) => {
    const row = await database.read.matrixRoom.findUnique({ where: { roomId } });
    const joinedBefore = row?.membership === 'join';
    const lastEvent = row === null ? undefined : roomStateShape.parse(row.state).lastEvent;
    let timeline = inSync;
    let missing: JoinedRoom['missing'];
    if (block.limited && block.prev_batch !== undefined) {
      const gap = await fillGap(
        client,
        roomId,
        block.prev_batch,
        joinedBefore
          ? (events) => knownBefore(database, events, lastEvent)
          : async () => (event) => isArrival(event, botUserId),
        signal,
        options.maxGapPages,
      );
      timeline = [...gap.events, ...inSync];
      missing = gap.missing;
    }
    // In a room that is new to the bot, what counts begins with its invitation: an operator who opens a chat writes at once.
    const arrival = joinedBefore
      ? -1
      : timeline.findLastIndex((event) => isArrival(event, botUserId));
    return { roomId, timeline, newFrom: arrival + 1, missing };
  });
}

type TimelineBlock = SyncResponse['rooms']['join'][string]['timeline'];

async function batchOf(
  response: SyncResponse,
  options: SyncOptions,
  read: (
    roomId: RoomId,
    timeline: TimelineEvent[],
    block: TimelineBlock,
  ) => Promise<Omit<JoinedRoom, 'state'>>,
): Promise<SyncBatch> {
  const joined: JoinedRoom[] = [];
  for (const [id, block] of Object.entries(response.rooms.join)) {
    const roomId = asId<RoomId>(id);
    const timeline = readEvents(eventShape, block.timeline.events, id);
    const room = await read(roomId, timeline, block.timeline);
    joined.push({ ...room, state: readEvents(stateShape, block.state.events, id) });
  }
  const invited = Object.entries(response.rooms.invite).flatMap(([id, block]): Invitation[] => {
    const state = readEvents(stateShape, block.invite_state.events, id);
    const own = state.find(
      (event) => event.type === 'm.room.member' && event.state_key === options.botUserId,
    );
    if (own === undefined) return [];
    return [
      {
        roomId: asId<RoomId>(id),
        inviter: asId<UserId>(own.sender),
        direct: own.content['is_direct'] === true,
        encrypted: state.some((event) => event.type === 'm.room.encryption'),
      },
    ];
  });
  const left = Object.keys(response.rooms.leave).map((id) => asId<RoomId>(id));
  return { nextBatch: response.next_batch, joined, invited, left };
}

async function knownBefore(
  database: Database,
  events: readonly TimelineEvent[],
  lastEvent: string | undefined,
): Promise<(event: TimelineEvent) => boolean> {
  // What the bot said itself ends no gap: it speaks also while no sync comes through, and what people said before that is still missing.
  const inbox = await database.read.matrixInbox.findMany({
    where: { eventId: { in: events.map((event) => event.event_id) } },
    select: { eventId: true },
  });
  const known = new Set(inbox.map((row) => row.eventId));
  return (event) => event.event_id === lastEvent || known.has(event.event_id);
}

/** The bot's own invitation or, where it came without one, its joining. */
function isArrival(event: TimelineEvent, botUserId: UserId): boolean {
  const membership = event.content['membership'];
  return (
    event.type === 'm.room.member' &&
    event.state_key === botUserId &&
    (membership === 'invite' || (membership === 'join' && !wasInvited(event)))
  );
}

function wasInvited(event: TimelineEvent): boolean {
  const previous = z
    .looseObject({ prev_content: z.looseObject({ membership: z.string() }) })
    .safeParse(event.unsigned);
  return previous.success && previous.data.prev_content.membership === 'invite';
}
