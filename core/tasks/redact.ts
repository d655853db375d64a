import type { JsonInput, Unit } from '../db/database.ts';
import type { Message, Session } from '../db/rows.ts';
import type { MatrixEventId, SessionId } from '../ids.ts';
import { endIfAnswered } from './answered.ts';
import { forgetAttachments } from './attachments.ts';
import { lockSession } from './lock.ts';
import { isStopped } from './messages.ts';
import { endsByItself } from './passes.ts';
import { hadEnded, setBack } from './reopen.ts';

/**
 * Takes in a redaction (T13): a message that no pass has read is dropped, and with it a pass that has not begun and has nothing
 * else to read; a task that it alone had set going is again what it was. Returns whether it was still in time.
 */
export async function redactMessage(
  unit: Unit,
  args: { eventId: MatrixEventId; sender: string },
): Promise<'cancelled' | 'too_late' | 'unknown'> {
  const message = await unit.db.message.findUnique({ where: { eventId: args.eventId } });
  if (message === null || message.role !== 'operator' || message.sender !== args.sender)
    return 'unknown';
  const sessionId = message.sessionId as SessionId;
  const session = await lockSession(unit, sessionId);
  const { count } = await unit.db.message.updateMany({
    where: { id: message.id, takenInAt: null, redactedAt: null },
    data: { redactedAt: new Date(), takenInAt: new Date() },
  });
  // Whether or not the words were read: what came with them is not sent to a model again.
  await forgetAttachments(unit, message.id);
  if (count === 0) return 'too_late';
  await dropPasses(unit, message);
  if (message.taskBefore !== null) await undo(unit, session, message);
  await endIfAnswered(unit, sessionId);
  return 'cancelled';
}

/** Drops what was queued for this message alone. */
async function dropPasses(
  unit: Unit,
  { sessionId, turnId, taskBefore, seq }: Message,
): Promise<void> {
  // What Nomos had to tell a task that was at rest has waited for an operator's word, and waits on. What it had to tell since woke
  // the agent, as it would have without these words: not in a task that had ended, or in a turn that was stopped.
  const waits = taskBefore !== null && (hadEnded(taskBefore) || (await isStopped(unit, turnId)));
  const left = await unit.db.message.count({
    where: {
      turnId,
      takenInAt: null,
      OR: [
        { role: 'operator' },
        ...(waits
          ? []
          : [{ role: 'note' as const, ...(taskBefore === null ? {} : { seq: { gt: seq } }) }]),
      ],
    },
  });
  if (left > 0) return;
  const queued = await unit.db.pass.findMany({
    // One that had begun and waits to be taken up is in the middle of what it had read before.
    where: { turnId, state: 'queued', cause: 'message', attempt: 0 },
    select: { id: true },
  });
  for (const { id } of queued) {
    await unit.db.pass.update({ where: { id }, data: { state: 'cancelled', endedAt: new Date() } });
    unit.emit({ type: 'pass.ended', sessionId, refId: id, data: { state: 'cancelled' } });
  }
}

/** The task goes on for what was said since; if that is nothing, it is finished or paused again. */
async function undo(unit: Unit, session: Session, message: Message): Promise<void> {
  const { sessionId, seq, taskBefore } = message;
  const since = await unit.db.message.findFirst({
    where: { sessionId, role: 'operator', redactedAt: null, seq: { gt: seq } },
    orderBy: { seq: 'asc' },
    select: { id: true, takenInAt: true, taskBefore: true },
  });
  if (since?.takenInAt === null && since.taskBefore === null) {
    await unit.db.message.update({
      where: { id: since.id },
      data: { taskBefore: taskBefore as JsonInput },
    });
    return;
  }
  if (since === null && !(await works(unit, message))) await setBack(unit, session, taskBefore);
}

/** Whether anything of the task is at work, or was since; not what has only its own end before it, as it had before the message. */
async function works(unit: Unit, { sessionId, createdAt }: Message): Promise<boolean> {
  const passes = await unit.db.pass.findMany({
    where: {
      sessionId,
      OR: [{ state: { in: ['queued', 'running'] } }, { startedAt: { gt: createdAt } }],
    },
  });
  for (const pass of passes) {
    const since = pass.startedAt !== null && pass.startedAt > createdAt;
    if (since || !(await endsByItself(unit, pass))) return true;
  }
  return false;
}
