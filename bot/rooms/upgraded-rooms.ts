import { z } from 'zod';
import { type Database, type Unit } from '../../core/db/database.ts';
import { errorText } from '../../core/errors.ts';
import { type RoomId, type SessionId, type UserId, asId } from '../../core/ids.ts';
import { log } from '../../core/log.ts';
import type { NomosClient } from '../matrix/client.ts';
import { sortFailure } from '../matrix/errors.ts';
import { persist } from '../matrix/retry.ts';
import { setState } from '../outbox/enqueue.ts';
import { roomLane, sessionLane } from '../outbox/rows.ts';
import { cardKey } from '../projector/keys.ts';
import { childState } from './made-rooms.ts';
import { roomOfKind } from './room-state.ts';

const membersShape = z.looseObject({ joined: z.record(z.string(), z.unknown()) });

/**
 * Follows a lobby or a task's room that was upgraded into the room that its tombstone names, once the bot is in there and
 * nobody but operators is. What the task shows is shown there anew, since nothing in the old room can be edited from the new
 * one. Driven by rows, so that it can be called at any time and again after a crash.
 */
export async function followUpgrades(options: {
  database: Database;
  client: NomosClient;
  botUserId: UserId;
  isOperator(userId: string): boolean;
  signal: AbortSignal;
  /** A room's kind is known now: its events can be worked on. */
  onSettled?(roomId: RoomId): void;
}): Promise<void> {
  const { database, client, signal, botUserId } = options;
  const rows = await database.read.$queryRaw<Array<{ old_id: string; new_id: string }>>`
    SELECT o.room_id AS old_id, n.room_id AS new_id
    FROM matrix_rooms o JOIN matrix_rooms n ON n.room_id = o.replaced_by
    WHERE o.kind IN ('lobby', 'task') AND n.membership = 'join' AND n.kind IN ('new', 'direct', 'other')`;
  for (const { old_id: oldId, new_id: newId } of rows) {
    let answer: unknown;
    try {
      answer = await persist('reading who is in an upgraded room', signal, () =>
        client.doRequest(
          'GET',
          `/_matrix/client/v3/rooms/${encodeURIComponent(newId)}/joined_members`,
        ),
      );
    } catch (error) {
      signal.throwIfAborted();
      if (sortFailure(error).kind !== 'permanent') throw error;
      log.warn({ oldId, newId, error: errorText(error) }, 'an upgraded room cannot be looked at');
      continue;
    }
    const members = membersShape.parse(answer);
    const stranger = Object.keys(members.joined).find(
      (userId) => userId !== botUserId && !options.isOperator(userId),
    );
    if (stranger !== undefined) {
      log.warn({ oldId, newId, stranger }, 'an upgraded room is not followed: a stranger is in it');
      continue;
    }
    await database.write(async (unit) =>
      move(unit, asId<RoomId>(oldId), asId<RoomId>(newId), botUserId),
    );
    log.info({ oldId, newId }, 'followed an upgraded room');
    options.onSettled?.(asId<RoomId>(newId));
  }
}

async function move(unit: Unit, oldId: RoomId, newId: RoomId, botUserId: UserId): Promise<void> {
  const old = await unit.db.matrixRoom.findUniqueOrThrow({ where: { roomId: oldId } });
  if (old.kind !== 'lobby' && old.kind !== 'task') return;
  await unit.db.matrixRoom.update({
    where: { roomId: oldId },
    data: { kind: 'other', sessionId: null },
  });
  await unit.db.matrixRoom.update({
    where: { roomId: newId },
    data: { kind: old.kind, sessionId: old.sessionId },
  });
  unit.audit({
    actor: 'system',
    action: 'room.followed',
    subject: newId,
    data: { from: oldId },
    ...(old.sessionId === null ? {} : { sessionId: asId<SessionId>(old.sessionId) }),
  });
  await replaceInSpace(unit, oldId, newId, childState(botUserId));
  if (old.sessionId !== null) await showAnew(unit, asId<SessionId>(old.sessionId), newId);
  if (old.kind === 'lobby') {
    await linkAnew(unit, oldId);
    await askAnew(unit, oldId);
  }
}

/** The Space shows the new room in the old one's place. */
async function replaceInSpace(
  unit: Unit,
  oldId: RoomId,
  newId: RoomId,
  child: Record<string, unknown>,
): Promise<void> {
  const space = await roomOfKind(unit.db, 'space');
  if (space === undefined) return;
  const at = { to: { room: space }, eventType: 'm.space.child' };
  await setState(unit, { ...at, stateKey: oldId, state: {} });
  await setState(unit, { ...at, stateKey: newId, state: child });
}

/** The links to tasks that are still open are given again in the new lobby. */
async function linkAnew(unit: Unit, oldId: RoomId): Promise<void> {
  const open = await unit.db.session.findMany({
    where: { endedAt: null, archivedAt: null, roomId: { not: null } },
    select: { id: true },
    orderBy: { createdAt: 'asc' },
  });
  for (const { id } of open) {
    const moved = await unit.db.matrixCard.updateMany({
      where: { cardKey: cardKey.lobby(id), lane: roomLane(oldId) },
      data: { eventId: null, contentHash: '' },
    });
    if (moved.count === 0) continue;
    unit.emit({ type: 'session.changed', sessionId: id, refId: id, data: { what: 'room' } });
  }
}

/** What waits for a person in the lobby is asked there: signals that are open, and runbooks that are offered (S2, K11). */
async function askAnew(unit: Unit, oldId: RoomId): Promise<void> {
  const [signals, runbooks] = await Promise.all([
    unit.db.signal.findMany({
      where: { state: { not: 'resolved' }, calls: { gt: 0 } },
      orderBy: { raisedAt: 'asc' },
      select: { id: true, calls: true },
    }),
    unit.db.runbook.findMany({ where: { status: 'offered' }, select: { id: true } }),
  ]);
  const asked = [
    ...signals.map(({ id, calls }) => ({
      key: cardKey.signal(id, calls),
      event: { type: 'signal.changed', refId: id } as const,
    })),
    ...runbooks.map(({ id }) => ({
      key: cardKey.runbook(id),
      event: { type: 'runbook.changed', refId: id } as const,
    })),
  ];
  for (const { key, event } of asked) {
    const lane = roomLane(oldId);
    const moved = await unit.db.matrixCard.updateMany({
      where: { cardKey: key, lane },
      data: { eventId: null, contentHash: '' },
    });
    if (moved.count === 0) continue;
    await unit.db.matrixOutbox.updateMany({
      where: { lane, cardKey: key, state: 'pending' },
      data: { state: 'superseded' },
    });
    unit.emit(event);
  }
}

/** Threads and open cards begin again in the new room; what has ended stays in the old one. */
async function showAnew(unit: Unit, sessionId: SessionId, roomId: RoomId): Promise<void> {
  const lane = sessionLane(sessionId);
  await unit.db.session.update({ where: { id: sessionId }, data: { roomId } });
  await unit.db.matrixOutbox.updateMany({
    where: {
      lane,
      OR: [
        { state: 'pending', kind: { in: ['edit', 'react', 'redact', 'state'] } },
        // What is shown anew gets its reactions anew as well.
        { state: 'sent', kind: 'react', cardKey: { not: null } },
      ],
    },
    data: { state: 'superseded' },
  });
  await unit.db.matrixCard.updateMany({
    where: { lane, OR: [{ closed: false }, { kind: 'turn' }] },
    data: { eventId: null, contentHash: '' },
  });
  await unit.db.turn.updateMany({ where: { sessionId }, data: { rootEvent: null } });
  const turns = await unit.db.turn.findMany({
    where: { sessionId },
    orderBy: { seq: 'asc' },
    select: { id: true },
  });
  for (const { id } of turns) unit.emit({ type: 'turn.created', sessionId, refId: id });
  const waiting = await unit.db.approval.findMany({
    where: { sessionId, status: 'pending' },
    select: { id: true },
  });
  for (const { id } of waiting) unit.emit({ type: 'approval.requested', sessionId, refId: id });
  const questions = await unit.db.question.findMany({
    where: { sessionId, status: 'open' },
    select: { id: true },
  });
  for (const { id } of questions) unit.emit({ type: 'question.asked', sessionId, refId: id });
}
