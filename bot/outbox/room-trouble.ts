import type { Database } from '../../core/db/database.ts';
import type { MatrixOutbox } from '../../core/db/rows.ts';

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
        lane: row.lane,
      },
    });
  });
}
