import { z } from 'zod';
import type { Database } from '../../core/db/database.ts';
import { settleTrouble } from '../../core/events/settle.ts';
import { faultPoint } from '../../core/faults.ts';
import { type RoomId, type SessionId, type UserId, asId } from '../../core/ids.ts';
import type { NomosClient } from '../matrix/client.ts';
import { markSent } from '../outbox/mark.ts';
import type { ClaimedRow } from '../outbox/queue.ts';
import { UnsendableError } from '../outbox/resolve.ts';
import { setState } from '../outbox/room-rows.ts';
import { roomTrouble } from '../outbox/room-trouble.ts';
import { rowContent, sessionLane } from '../outbox/rows.ts';
import { childState, findMadeRoom, inviteMissing, parentState, privateRoom } from './made-rooms.ts';
import { ENCRYPTED, type Encryption, encryptsTask } from './encryption.ts';
import { roomOfKind, saveRoom } from './room-state.ts';

/** What making a room needs. */
export interface MakeRoomOptions {
  database: Database;
  client: NomosClient;
  botUserId: UserId;
  /** Every operator of the configuration. */
  operators: readonly UserId[];
  /** Whether rooms are encrypted. Default `never`. */
  encryption?: Encryption | undefined;
  /** Where the keys of the bot's device are lost, no room is made that it could not speak in. */
  crypto?: { readonly lost: Error | undefined } | undefined;
}

const createdShape = z.looseObject({ room_id: z.string() });

/**
 * Makes the room that a `room` row asks for (T2): invite-only, in the Space, its creation content naming the session. After
 * a try whose end is not known, the room is looked for before one is made, so that a task never gets two. Throws what the
 * homeserver answered, and `UnsendableError` when the session is gone.
 */
export async function makeTaskRoom(claimed: ClaimedRow, options: MakeRoomOptions): Promise<void> {
  const { database, client, botUserId } = options;
  const { row } = claimed;
  const sessionId = asId<SessionId>(row.lane.slice('session:'.length));
  const session = await database.read.session.findUnique({
    where: { id: sessionId },
    select: { roomId: true, origin: true },
  });
  if (session === null) throw new UnsendableError('session_gone', 'The session was deleted.');
  const content = rowContent.room.parse(row.content);
  const invite = content.invite?.map((id) => asId<UserId>(id)) ?? options.operators;
  const spaceId = await roomOfKind(database.read, 'space');
  const encrypted =
    options.crypto?.lost === undefined &&
    (await encryptsTask(database.read, options.encryption ?? 'never', session.origin));

  let roomId = session.roomId === null ? undefined : asId<RoomId>(session.roomId);
  if (roomId === undefined && !claimed.first) {
    roomId = await findMadeRoom(database, client, botUserId, { kind: 'task', sessionId });
    // A creation that broke off may have left invitations out.
    if (roomId !== undefined) await inviteMissing(client, roomId, invite);
  }
  if (roomId === undefined) {
    await faultPoint('outbox.before_put');
    roomId = await create(client, {
      ...privateRoom(botUserId, invite),
      name: content.name,
      ...(content.topic === undefined ? {} : { topic: content.topic }),
      creation_content: { 'org.nomos': { session: sessionId } },
      initial_state: [
        ...(spaceId === undefined ? [] : [parentState(spaceId, botUserId)]),
        ...(encrypted ? [ENCRYPTED] : []),
      ],
    });
    await faultPoint('outbox.after_put');
  }
  await writeDown(options, row.txnId, sessionId, { roomId, encrypted }, spaceId);
}

/** Creates a room and gives its id. Throws what the homeserver answered. */
export async function create(client: NomosClient, body: Record<string, unknown>): Promise<RoomId> {
  const answer = await client.doRequest('POST', '/_matrix/client/v3/createRoom', null, body);
  return asId<RoomId>(createdShape.parse(answer).room_id);
}

/** The room is known from here on; its place in the Space is a row of its own, so that nothing waits for it. */
async function writeDown(
  { database, botUserId }: MakeRoomOptions,
  txnId: string,
  sessionId: SessionId,
  { roomId, encrypted }: { roomId: RoomId; encrypted: boolean },
  spaceId: RoomId | undefined,
): Promise<void> {
  await database.write(async (unit) => {
    if (!(await markSent(unit, txnId, null))) return;
    await settleTrouble(unit, roomTrouble(sessionLane(sessionId)));
    await unit.db.session.updateMany({ where: { id: sessionId, roomId: null }, data: { roomId } });
    // Known at once: what is said in it before the first sync of it must not go out in clear.
    await saveRoom(unit, roomId, {
      kind: 'task',
      sessionId,
      membership: 'join',
      ...(encrypted ? { encrypted } : {}),
    });
    if (spaceId !== undefined) {
      await setState(unit, {
        to: { room: spaceId },
        eventType: 'm.space.child',
        stateKey: roomId,
        state: childState(botUserId),
      });
    }
    unit.emit({
      type: 'session.changed',
      sessionId,
      refId: sessionId,
      data: { what: 'room', roomId },
    });
    await faultPoint('outbox.before_mark');
  });
}
