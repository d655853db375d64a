import type { Unit } from '../db/database.ts';
import type { MatrixEventId, SessionId } from '../ids.ts';
import { endIfAnswered } from './answered.ts';
import { forgetAttachments } from './attachments.ts';
import { lockSession } from './lock.ts';

/**
 * Takes in a redaction (T13): a message that no pass has read is dropped, and with it a pass that has not begun and has nothing
 * else to read. Returns whether it was still in time.
 */
export async function redactMessage(
  unit: Unit,
  args: { eventId: MatrixEventId; sender: string },
): Promise<'cancelled' | 'too_late' | 'unknown'> {
  const message = await unit.db.message.findUnique({ where: { eventId: args.eventId } });
  if (message === null || message.role !== 'operator' || message.sender !== args.sender)
    return 'unknown';
  const sessionId = message.sessionId as SessionId;
  await lockSession(unit, sessionId);
  const { count } = await unit.db.message.updateMany({
    where: { id: message.id, takenInAt: null, redactedAt: null },
    data: { redactedAt: new Date(), takenInAt: new Date() },
  });
  // Whether or not the words were read: what came with them is not sent to a model again.
  await forgetAttachments(unit, message.id);
  if (count === 0) return 'too_late';
  const left = await unit.db.message.count({
    where: { turnId: message.turnId, takenInAt: null, role: { in: ['operator', 'note'] } },
  });
  if (left === 0) {
    const queued = await unit.db.pass.findMany({
      // One that had begun and waits to be taken up is in the middle of what it had read before.
      where: { turnId: message.turnId, state: 'queued', cause: 'message', attempt: 0 },
      select: { id: true },
    });
    for (const { id } of queued) {
      await unit.db.pass.update({
        where: { id },
        data: { state: 'cancelled', endedAt: new Date() },
      });
      unit.emit({ type: 'pass.ended', sessionId, refId: id, data: { state: 'cancelled' } });
    }
    await endIfAnswered(unit, sessionId);
  }
  return 'cancelled';
}
