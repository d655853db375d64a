import type { JsonInput, Unit } from '../../core/db/database.ts';
import { maskSecrets } from '../../core/executions/masking/masker.ts';
import type { SessionId } from '../../core/ids.ts';
import { safeJson } from '../../core/text/safe.ts';
import { type Destination, PRIORITY, insert, laneOf } from './insert.ts';
import { type RowContent, sessionLane } from './rows.ts';

/** Sets a state event of a room, for instance its name. One that has not left yet is replaced. */
export async function setState(
  unit: Unit,
  args: {
    to: Destination;
    eventType: string;
    stateKey?: string | undefined;
    state: Record<string, unknown>;
    priority?: number | undefined;
  },
): Promise<void> {
  const content: RowContent<'state'> = { v: 1, state: args.state };
  await putState(unit, { ...args, stateKey: args.stateKey ?? '', content });
}

/** A name waits so long for a newer one: a task that works changes its mark twice in a second, and each costs an event (R10). */
const NAME_RESTS_MS = 1_000;

/** Sets a room's name (T7), after a moment. One that has not left yet is replaced, where it stands. */
export async function setRoomName(
  unit: Unit,
  args: { to: Destination; name: string },
): Promise<void> {
  const lane = await laneOf(unit, args.to);
  const content: RowContent<'state'> = { v: 1, state: { name: maskSecrets(args.name) } };
  const waiting = { lane, ...NAME, state: 'pending', firstTriedAt: null } as const;
  const rows = await unit.db.matrixOutbox.updateManyAndReturn({
    where: waiting,
    data: { content: safeJson(content) as JsonInput },
    select: { id: true },
  });
  const [first, ...more] = rows.map(({ id }) => id);
  // One that was being sent when the next came, and was given back untried since.
  if (more.length > 0) {
    await unit.db.matrixOutbox.updateMany({
      where: { ...waiting, id: { in: more } },
      data: { state: 'superseded' },
    });
  }
  if (first !== undefined) return;
  const priority = PRIORITY.state;
  await insert(unit, { lane, ...NAME, content, priority, afterMs: NAME_RESTS_MS });
}

const NAME = { kind: 'state', eventType: 'm.room.name', stateKey: '' } as const;

/** Pins exactly these cards in a room, in this order. Their events are looked up when the row is sent. */
export async function pinCards(
  unit: Unit,
  args: { to: Destination; cards: readonly string[] },
): Promise<void> {
  const content: RowContent<'state'> = { v: 1, pinCards: [...args.cards] };
  await putState(unit, {
    to: args.to,
    eventType: 'm.room.pinned_events',
    stateKey: '',
    content,
  });
}

/**
 * Makes the task's room: the first row of the session's lane. When it is there, `sessions.room_id` and `matrix_rooms` are
 * set and `session.changed` with `{ what: 'room' }` is emitted: the moment for a link to it in the lobby.
 */
export async function createTaskRoom(
  unit: Unit,
  args: {
    sessionId: SessionId;
    name: string;
    topic?: string | undefined;
    /** User ids; without it every operator. */
    invite?: readonly string[] | undefined;
  },
): Promise<void> {
  const lane = sessionLane(args.sessionId);
  if ((await unit.db.matrixOutbox.count({ where: { lane, kind: 'room' } })) > 0) return;
  const content: RowContent<'room'> = {
    v: 1,
    name: maskSecrets(args.name),
    ...(args.topic === undefined ? {} : { topic: args.topic }),
    ...(args.invite === undefined ? {} : { invite: [...args.invite] }),
  };
  await insert(unit, { lane, kind: 'room', content, priority: PRIORITY.person });
}

async function putState(
  unit: Unit,
  args: {
    to: Destination;
    eventType: string;
    stateKey: string;
    content: RowContent<'state'>;
    priority?: number | undefined;
  },
): Promise<void> {
  const lane = await laneOf(unit, args.to);
  const { eventType, stateKey } = args;
  await unit.db.matrixOutbox.updateMany({
    where: { lane, kind: 'state', eventType, stateKey, state: 'pending', firstTriedAt: null },
    data: { state: 'superseded' },
  });
  await insert(unit, {
    lane,
    kind: 'state',
    eventType,
    stateKey,
    content: args.content,
    priority: args.priority ?? PRIORITY.state,
  });
}
