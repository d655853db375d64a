import type { Unit } from '../../core/db/database.ts';
import type { MatrixInbox } from '../../core/db/rows.ts';
import { NomosError, errorText } from '../../core/errors.ts';

/** How often an event's handler is tried. */
export const TRIES = 3;

/** Writes down that an event could not be worked on; at the last try it is given up and told (R12). */
export async function recordFailure(
  unit: Unit,
  row: MatrixInbox,
  attempts: number,
  error: unknown,
): Promise<void> {
  const over = attempts >= TRIES;
  const changed = await unit.db.matrixInbox.updateMany({
    where: { eventId: row.eventId, state: 'pending' },
    data: {
      attempts,
      error: errorText(error),
      ...(over ? { state: 'failed' as const, handledAt: new Date() } : {}),
    },
  });
  if (!over || changed.count === 0) return;
  const session = await unit.db.session.findUnique({
    where: { roomId: row.roomId },
    select: { id: true },
  });
  const known = error instanceof NomosError ? error : undefined;
  unit.emit({
    type: 'error.raised',
    sessionId: session?.id ?? null,
    refId: session?.id ?? null,
    data: {
      code: known?.code ?? 'event_failed',
      // The words of an unexpected error are for the log; its line there names the same event.
      message: known?.message ?? `I could not work on your message (event ${row.eventId}).`,
      hint: known?.hint ?? 'Send it again. If it fails again, look for the event in the log.',
      fault: known?.fault ?? 'system',
      retry: false,
      roomId: row.roomId,
      eventId: row.eventId,
    },
  });
}
