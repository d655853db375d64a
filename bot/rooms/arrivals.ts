import { z } from 'zod';
import type { Database } from '../../core/db/database.ts';
import type { MatrixRoom } from '../../core/db/rows.ts';
import { errorText } from '../../core/errors.ts';
import { type RoomId, type UserId, asId } from '../../core/ids.ts';
import { log } from '../../core/log.ts';
import type { NomosClient } from '../matrix/client.ts';
import { sortFailure } from '../matrix/errors.ts';
import { persist } from '../matrix/retry.ts';
import { type StoredKind, roomStateShape, saveRoom } from './room-state.ts';

/** What is needed to settle invitations and new rooms. */
export interface ArrivalOptions {
  database: Database;
  client: NomosClient;
  botUserId: UserId;
  isOperator(userId: string): boolean;
  signal: AbortSignal;
  /** A room's kind is known now: its events can be worked on. */
  onSettled(roomId: RoomId): void;
}

/**
 * Answers what waits: an operator's invitation is accepted, anyone else's (on record since it was stored, T12) refused; a
 * room that the bot is in and knows nothing about is looked at. Driven by rows, so that it can be called at any time and
 * again after a crash. Throws only when the token is refused or the database is away.
 */
export async function settleArrivals(options: ArrivalOptions): Promise<void> {
  const { database, signal } = options;
  const rows = await database.read.matrixRoom.findMany({
    where: {
      OR: [{ membership: 'invite' }, { membership: 'join', kind: 'new' }],
    },
    orderBy: { createdAt: 'asc' },
  });
  for (const row of rows) {
    signal.throwIfAborted();
    try {
      await (row.membership === 'invite' ? answer(row, options) : settle(row, options));
    } catch (error) {
      signal.throwIfAborted();
      const failure = sortFailure(error);
      if (failure.kind !== 'permanent') throw error;
      log.error({ roomId: row.roomId, error: errorText(error) }, 'an invitation came to nothing');
      await database.write(async (unit) => {
        unit.audit({
          actor: 'system',
          action: 'invite.failed',
          subject: row.roomId,
          data: { error: failure.text },
        });
        await saveRoom(unit, asId<RoomId>(row.roomId), { membership: 'leave' });
      });
    }
  }
}

async function answer(row: MatrixRoom, options: ArrivalOptions): Promise<void> {
  const { database, client, signal } = options;
  const room = encodeURIComponent(row.roomId);
  const inviter = roomStateShape.parse(row.state).inviter;
  if (inviter !== undefined && options.isOperator(inviter)) {
    // The next sync says that the bot is in; until then the row stays as it is, and joining again does nothing.
    await persist('accepting an invitation', signal, () =>
      client.doRequest('POST', `/_matrix/client/v3/rooms/${room}/join`, null, {}),
    );
    return;
  }
  await persist('refusing an invitation', signal, () =>
    client.doRequest('POST', `/_matrix/client/v3/rooms/${room}/leave`, null, {}),
  );
  await database.write(async (unit) =>
    saveRoom(unit, asId<RoomId>(row.roomId), { membership: 'leave' }),
  );
}

const membersShape = z.looseObject({ joined: z.record(z.string(), z.unknown()) });

async function settle(row: MatrixRoom, options: ArrivalOptions): Promise<void> {
  const { database, client, signal, botUserId } = options;
  const roomId = asId<RoomId>(row.roomId);
  const members = membersShape.parse(
    await persist('reading who is in a room', signal, () =>
      client.doRequest(
        'GET',
        `/_matrix/client/v3/rooms/${encodeURIComponent(roomId)}/joined_members`,
      ),
    ),
  );
  const others = Object.keys(members.joined).filter((userId) => userId !== botUserId);
  // Nobody but operators may read what is said to them in a lobby of their own.
  const private_ = others.every((userId) => options.isOperator(userId));
  const direct = roomStateShape.parse(row.state).direct === true || others.length === 1;
  const kind: StoredKind = private_ && direct ? 'direct' : 'other';
  await database.write(async (unit) => {
    // Unless the outbox made it known as a task's room meanwhile.
    await unit.db.matrixRoom.updateMany({ where: { roomId, kind: 'new' }, data: { kind } });
  });
  options.onSettled(roomId);
}
