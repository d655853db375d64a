import { z } from 'zod';
import type { Reader, Unit } from '../../core/db/database.ts';
import type { MatrixRoom } from '../../core/db/rows.ts';
import { type RoomId, type SessionId, asId, isRowId } from '../../core/ids.ts';
import { safeJson } from '../../core/text/safe.ts';
import type { KnownRoom, RoomKind } from '../inbox/types.ts';
import type { StateEvent } from '../matrix/events.ts';

/** `new` until it is known who is in the room; nothing in it is worked on before. */
export type StoredKind = RoomKind | 'new';

/** What `matrix_rooms.state` holds. */
export const roomStateShape = z.strictObject({
  v: z.literal(1).default(1),
  /** The newest event that a sync brought: where a gap ends. */
  lastEvent: z.string().optional(),
  /** Who invited the bot. */
  inviter: z.string().optional(),
  /** The invitation said that this is a direct chat. */
  direct: z.boolean().optional(),
  /** That it cannot be read was said here. */
  toldEncrypted: z.boolean().optional(),
  /** That the homeserver does not let the bot set the room's name any more was said here. */
  toldPowerless: z.boolean().optional(),
  /** The operators who left it of their own will and were not invited since. */
  left: z.array(z.string()).optional(),
});
/** What is known of a room besides its columns. */
export type RoomState = z.infer<typeof roomStateShape>;

const createShape = z.looseObject({
  'org.nomos': z.union([
    z.looseObject({ session: z.string().refine(isRowId) }),
    z.looseObject({ home: z.enum(['space', 'lobby']) }),
  ]),
});

/** What the bot wrote into the creation of a room of its own; undefined for a room that it did not make. */
export function madeFor(
  create: { sender: string; content: Record<string, unknown> },
  botUserId: string,
): { kind: 'task'; sessionId: SessionId } | { kind: 'space' | 'lobby' } | undefined {
  if (create.sender !== botUserId) return undefined;
  const parsed = createShape.safeParse(create.content);
  if (!parsed.success) return undefined;
  const mark = parsed.data['org.nomos'];
  return 'session' in mark
    ? { kind: 'task', sessionId: asId<SessionId>(mark.session as string) }
    : { kind: mark.home };
}

/** The changes of a room's row. What is left out stays as it is. */
export interface RoomChange {
  kind?: StoredKind;
  sessionId?: SessionId;
  membership?: 'join' | 'invite' | 'leave';
  encrypted?: true;
  replacedBy?: string;
  state?: Partial<RoomState>;
}

/**
 * Writes a room's row, in one statement, since the sync loop and the sender both learn of a room that was just made. A new
 * row is of kind `new` unless said otherwise. A session that was deleted leaves its room behind.
 */
export async function saveRoom(unit: Unit, roomId: RoomId, change: RoomChange): Promise<void> {
  const { kind = null, membership = null, replacedBy = null, sessionId = null } = change;
  const state = JSON.stringify(safeJson(roomStateShape.parse(change.state ?? {})));
  await unit.db.$executeRaw`
    INSERT INTO matrix_rooms AS room (room_id, kind, session_id, membership, encrypted, replaced_by, state)
    VALUES (${roomId}, coalesce(${kind}, 'new'), (SELECT id FROM sessions WHERE id = ${sessionId}::uuid),
      coalesce(${membership}, 'join'), ${change.encrypted === true}, ${replacedBy}, ${state}::jsonb)
    ON CONFLICT (room_id) DO UPDATE SET
      kind = coalesce(${kind}, room.kind), session_id = coalesce(excluded.session_id, room.session_id),
      membership = coalesce(${membership}, room.membership), encrypted = room.encrypted OR excluded.encrypted,
      replaced_by = coalesce(excluded.replaced_by, room.replaced_by), state = room.state || excluded.state`;
}

/** What a list of state events changes in a room's row. */
export function changesOf(events: readonly StateEvent[], botUserId: string): RoomChange {
  const change: RoomChange = {};
  for (const event of events) {
    if (event.state_key !== '') continue;
    if (event.type === 'm.room.encryption') change.encrypted = true;
    if (event.type === 'm.room.tombstone') {
      const replacement = event.content['replacement_room'];
      if (typeof replacement === 'string') change.replacedBy = replacement;
    }
    if (event.type === 'm.room.create') Object.assign(change, madeFor(event, botUserId));
  }
  return change;
}

/** A room as handlers see it. */
export function knownRoom(row: MatrixRoom): KnownRoom {
  const kind = row.kind as StoredKind;
  return {
    roomId: asId<RoomId>(row.roomId),
    kind: kind === 'new' ? 'other' : kind,
    sessionId: row.sessionId === null ? null : asId<SessionId>(row.sessionId),
    encrypted: row.encrypted,
  };
}

/** The room of a kind that the bot is in, undefined when there is none. */
export async function roomOfKind(db: Reader, kind: RoomKind): Promise<RoomId | undefined> {
  const row = await db.matrixRoom.findFirst({
    where: { kind, membership: 'join' },
    orderBy: { createdAt: 'asc' },
    select: { roomId: true },
  });
  return row === null ? undefined : asId<RoomId>(row.roomId);
}
