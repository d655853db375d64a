import type { Database, JsonInput, Unit } from '../../core/db/database.ts';
import type { NomosError } from '../../core/errors.ts';
import { faultPoint } from '../../core/faults.ts';
import { type MatrixEventId, type RoomId, type UserId, asId } from '../../core/ids.ts';
import { log } from '../../core/log.ts';
import { safeJson } from '../../core/text/safe.ts';
import { type StateEvent, type TimelineEvent, txnOf } from '../matrix/events.ts';
import { writeState } from '../matrix/state.ts';
import { markSent } from '../outbox/mark.ts';
import { noteLeaving } from '../rooms/bring-back.ts';
import { changesOf, saveRoom } from '../rooms/room-state.ts';

/** A joined room of a sync, its gap filled. */
export interface JoinedRoom {
  roomId: RoomId;
  state: StateEvent[];
  /** Oldest first, without holes unless `missing`. */
  timeline: TimelineEvent[];
  /** Events before this index are from before the bot had to do with the room: kept, never worked on. */
  newFrom: number;
  missing?: NomosError | undefined;
}

/** An invitation of a sync. */
export interface Invitation {
  roomId: RoomId;
  inviter: UserId;
  direct: boolean;
  encrypted: boolean;
}

/** A sync response in the form that is stored. */
export interface SyncBatch {
  nextBatch: string;
  joined: JoinedRoom[];
  invited: Invitation[];
  left: RoomId[];
}

/** What storing needs to know. */
export interface StoreContext {
  botUserId: UserId;
  isOperator(userId: string): boolean;
}

/** What a stored response means for what is only shown. */
export interface Stored {
  /** The newest event to be worked on of each room. */
  toRead: ReadonlyMap<RoomId, MatrixEventId>;
  /** The rooms that an operator joined. */
  joined: readonly RoomId[];
}

/** The key of `matrix_state` that holds the sync position of an account. */
export function syncKey(botUserId: UserId): string {
  return `sync:${botUserId}`;
}

/** What a handler works on; all other events are kept as ignored. */
const WORKED_ON = new Set(['m.room.message', 'm.reaction', 'm.room.redaction', 'm.room.encrypted']);
/** Entries of the audit log per stranger, room and sync; more are summed up in one. */
const MAX_AUDITS = 20;

/**
 * Stores a sync response whole, in the transaction that moves the sync position: either both are there or neither (R4).
 * The bot's own events mark their outbox rows; strangers' go to the audit log and no further (T12).
 */
export async function storeBatch(
  database: Database,
  batch: SyncBatch,
  context: StoreContext,
): Promise<Stored> {
  const toRead = await database.write(async (unit) => {
    const newest = new Map<RoomId, MatrixEventId>();
    for (const room of batch.joined) {
      const last = await storeRoom(unit, room, context);
      if (last !== undefined) newest.set(room.roomId, last);
    }
    for (const invitation of batch.invited) await storeInvitation(unit, invitation, context);
    if (batch.left.length > 0) {
      await unit.db.matrixRoom.updateMany({
        where: { roomId: { in: batch.left } },
        data: { membership: 'leave' },
      });
    }
    await writeState(unit, syncKey(context.botUserId), { v: 1, token: batch.nextBatch });
    await faultPoint('inbox.before_store');
    return newest;
  });
  await faultPoint('inbox.stored');
  const joined = batch.joined.filter(({ timeline }) =>
    timeline.some((event) => isJoining(event) && context.isOperator(event.sender)),
  );
  return { toRead, joined: joined.map(({ roomId }) => roomId) };
}

function isJoining({ type, sender, state_key, content }: TimelineEvent): boolean {
  return type === 'm.room.member' && state_key === sender && content['membership'] === 'join';
}

async function storeRoom(
  unit: Unit,
  room: JoinedRoom,
  context: StoreContext,
): Promise<MatrixEventId | undefined> {
  const { roomId, timeline } = room;
  const stateInTimeline = timeline.flatMap((event) =>
    event.state_key === undefined ? [] : [{ ...event, state_key: event.state_key }],
  );
  const lastEvent = timeline.at(-1)?.event_id;
  await saveRoom(unit, roomId, {
    ...changesOf([...room.state, ...stateInTimeline], context.botUserId),
    membership: 'join',
    state: lastEvent === undefined ? {} : { lastEvent },
  });
  await noteLeaving(unit, roomId, [...room.state, ...stateInTimeline], context.isOperator);
  if (room.missing !== undefined) await tellMissing(unit, roomId, room.missing);

  const known = await knownIds(unit, timeline);
  const fresh = timeline
    .map((event, index) => ({ event, old: index < room.newFrom }))
    .filter(({ event }) => !known.has(event.event_id));
  await markOwn(
    unit,
    fresh.flatMap(({ event }) => (event.sender === context.botUserId ? [event] : [])),
  );
  const others = fresh.filter(({ event }) => event.sender !== context.botUserId);
  const pending = others.filter(
    ({ event, old }) =>
      !old &&
      event.state_key === undefined &&
      WORKED_ON.has(event.type) &&
      context.isOperator(event.sender),
  );
  const isPending = new Set(pending.map(({ event }) => event.event_id));
  await unit.db.matrixInbox.createMany({
    data: others.map(({ event }) => ({
      eventId: event.event_id,
      roomId,
      sender: event.sender,
      type: event.type,
      event: safeJson(event) as JsonInput,
      state: isPending.has(event.event_id) ? ('pending' as const) : ('ignored' as const),
    })),
    skipDuplicates: true,
  });
  auditStrangers(
    unit,
    roomId,
    others.flatMap(({ event, old }) => (old || context.isOperator(event.sender) ? [] : [event])),
  );
  const last = pending.at(-1)?.event.event_id;
  return last === undefined ? undefined : asId<MatrixEventId>(last);
}

/** An event of the bot's own whose answer was lost has arrived all the same. */
async function markOwn(unit: Unit, events: readonly TimelineEvent[]): Promise<void> {
  const byTxn = new Map(events.map((event) => [txnOf(event), event.event_id]));
  const txnIds = [...byTxn.keys()].filter((txn) => txn !== undefined);
  if (txnIds.length === 0) return;
  const rows = await unit.db.matrixOutbox.findMany({
    where: {
      txnId: { in: txnIds },
      state: { in: ['pending', 'failed'] },
    },
    select: { txnId: true },
    orderBy: { id: 'asc' },
  });
  for (const { txnId } of rows) {
    await markSent(unit, txnId, asId<MatrixEventId>(byTxn.get(txnId) ?? ''));
  }
}

async function knownIds(unit: Unit, events: readonly TimelineEvent[]): Promise<Set<string>> {
  if (events.length === 0) return new Set();
  const rows = await unit.db.matrixInbox.findMany({
    where: { eventId: { in: events.map((event) => event.event_id) } },
    select: { eventId: true },
  });
  return new Set(rows.map((row) => row.eventId));
}

function auditStrangers(unit: Unit, roomId: RoomId, events: readonly TimelineEvent[]): void {
  // Joining and leaving directs nobody.
  const tries = events.filter((event) => event.type !== 'm.room.member');
  for (const [sender, own] of Map.groupBy(tries, (event) => event.sender)) {
    for (const event of own.slice(0, MAX_AUDITS)) {
      unit.audit({
        actor: sender,
        action: 'stranger.ignored',
        subject: event.event_id,
        data: { roomId, type: event.type },
      });
    }
    if (own.length > MAX_AUDITS) {
      unit.audit({
        actor: sender,
        action: 'stranger.ignored',
        subject: roomId,
        data: { roomId, more: own.length - MAX_AUDITS },
      });
    }
  }
}

async function tellMissing(unit: Unit, roomId: RoomId, missing: NomosError): Promise<void> {
  log.error({ roomId, code: missing.code }, missing.message);
  const session = await unit.db.session.findUnique({ where: { roomId }, select: { id: true } });
  unit.emit({
    type: 'error.raised',
    sessionId: session?.id ?? null,
    refId: session?.id ?? null,
    data: {
      code: missing.code,
      message: missing.message,
      hint: missing.hint,
      fault: missing.fault,
      retry: false,
    },
  });
}

async function storeInvitation(
  unit: Unit,
  invitation: Invitation,
  context: StoreContext,
): Promise<void> {
  const { roomId, inviter, direct, encrypted } = invitation;
  const known = await unit.db.matrixRoom.findUnique({ where: { roomId } });
  await saveRoom(unit, roomId, {
    membership: 'invite',
    ...(encrypted ? { encrypted } : {}),
    state: { inviter, direct },
  });
  // Recorded with the invitation, so that no crash between refusing it and writing it down loses the entry.
  if (known?.membership === 'invite' || context.isOperator(inviter)) return;
  unit.audit({ actor: inviter, action: 'invite.refused', subject: roomId });
}
