import { type Database, type Unit, sql } from '../../core/db/database.ts';
import type { MatrixOutbox } from '../../core/db/rows.ts';
import { cutLabel } from '../../core/text/label.ts';

const SESSION = 'session:';

/** Told at this try: earlier ones may pass by themselves, and it is told once. */
const TELL_AT = 5;

/** Says in the lobby that a task's room cannot be made. It goes on being tried. */
export async function tellRoomTrouble(
  database: Database,
  row: MatrixOutbox,
  why: string,
): Promise<void> {
  if (row.attempts !== TELL_AT) return;
  await database.write(async (unit) => {
    unit.emit({
      type: 'error.raised',
      data: {
        code: 'room_not_made',
        message: `The room of a task cannot be made: ${why}`,
        hint: 'It is tried again by itself. Check that the bot may create rooms and invite you on this homeserver.',
        fault: 'system',
        retry: false,
        about: roomTrouble(row.lane),
      },
    });
  });
}

/** What the trouble of a room that cannot be made is called. */
export function roomTrouble(lane: string): string {
  return `room:${lane}`;
}

/** A lane's trouble is told once in this time. */
const TELL_AGAIN_AFTER = '1 hour';

/**
 * Says in the lobby that something for a task's room could not be said there: what waits in it would wait unseen. Only what
 * people read counts; rows of the lobby itself, and of a task that was put away, stay with the log and the audit entry.
 */
export async function tellNotSaid(
  unit: Unit,
  row: Pick<MatrixOutbox, 'lane' | 'kind'>,
  why: string,
): Promise<void> {
  if ((row.kind !== 'send' && row.kind !== 'upload') || !row.lane.startsWith(SESSION)) return;
  const session = await unit.db.session.findUnique({
    where: { id: row.lane.slice(SESSION.length) },
    select: { shortId: true, goal: true, title: true, archivedAt: true },
  });
  if (session === null || session.archivedAt !== null) return;
  const told = await unit.db.$queryRaw<unknown[]>(sql`
    SELECT 1 FROM events WHERE type = 'error.raised' AND data->>'code' = 'not_said' AND data->>'lane' = ${row.lane}
      AND at > now() - ${TELL_AGAIN_AFTER}::text::interval LIMIT 1`);
  if (told.length > 0) return;
  const name = session.goal ?? session.title;
  unit.emit({
    type: 'error.raised',
    data: {
      code: 'not_said',
      message: `I could not say something in the room of task ${session.shortId}${name === null ? '' : ` (${cutLabel(name)})`}: ${cutLabel(why, 200)}`,
      hint: 'See that I am in that room and may write there. !approvals lists what waits, also here.',
      fault: 'system',
      retry: false,
      lane: row.lane,
    },
  });
}
