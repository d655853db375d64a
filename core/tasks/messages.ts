import type { Unit } from '../db/database.ts';
import { NomosError } from '../errors.ts';
import { newId, type MatrixEventId, type MessageId, type SessionId, type TurnId } from '../ids.ts';
import { storeAttachments, type NewAttachment } from './attachments.ts';
import { lockSession } from './lock.ts';
import { setGoing } from './reopen.ts';
import { refreshStatus } from './status.ts';
import { MAX_PASS_ATTEMPTS, queuePass, type PassCause } from './turns.ts';

/**
 * Stores an operator's message and sees to it that the agent reads it: a running pass of the turn takes it in before its
 * next model call (T5), else a pass is queued. A finished task opens again (T11); a paused one goes on (J5).
 *
 * Throws `task_archived` for a task whose room was left.
 */
export async function receiveMessage(
  unit: Unit,
  args: {
    sessionId: SessionId;
    turnId: TurnId;
    text: string;
    sender: string;
    eventId?: MatrixEventId | undefined;
    /** What came with the words (C16). */
    attachments?: readonly NewAttachment[] | undefined;
    /** A schedule says them (T14), and nobody is there: what an operator has stopped stays so (T5). */
    byClock?: true | undefined;
  },
): Promise<{ messageId: MessageId }> {
  const session = await lockSession(unit, args.sessionId);
  if (session.archivedAt !== null) {
    throw new NomosError('task_archived', 'operator', `Task ${session.shortId} is archived.`, {
      hint: 'Start a new task in the lobby.',
    });
  }
  const messageId = newId<MessageId>();
  const taskBefore = await setGoing(unit, session, args);
  await unit.db.message.createMany({
    data: {
      id: messageId,
      sessionId: args.sessionId,
      turnId: args.turnId,
      role: 'operator',
      text: args.text,
      sender: args.sender,
      eventId: args.eventId ?? null,
      ...(taskBefore === undefined ? {} : { taskBefore }),
    },
  });
  await storeAttachments(unit, { sessionId: args.sessionId, messageId }, args.attachments ?? []);
  unit.emit({ type: 'message.received', sessionId: args.sessionId, refId: messageId });
  await queuePass(unit, { sessionId: args.sessionId, turnId: args.turnId, cause: 'message' });
  await refreshStatus(unit, args.sessionId);
  return { messageId };
}

/**
 * Stores a note: what Nomos itself tells the agent (a result, a denial, a nudge). `wake` gives the cause of the pass that
 * reads it; without one it is read by whichever pass comes next, and so is what goes on by itself in a turn that an operator has
 * stopped (T5). The caller holds the task's lock.
 */
export async function addNote(
  unit: Unit,
  args: {
    sessionId: SessionId;
    turnId: TurnId;
    text: string;
    wake?: PassCause;
    /** The pass that had asked for what it tells. */
    of?: string | null;
  },
): Promise<MessageId> {
  const messageId = newId<MessageId>();
  await unit.db.message.createMany({
    data: {
      id: messageId,
      sessionId: args.sessionId,
      turnId: args.turnId,
      role: 'note',
      text: args.text,
    },
  });
  unit.emit({ type: 'message.received', sessionId: args.sessionId, refId: messageId });
  if (args.wake !== undefined && !(await isQuiet(unit, args.turnId, args.wake, args.of))) {
    await queuePass(unit, { sessionId: args.sessionId, turnId: args.turnId, cause: args.wake });
  }
  return messageId;
}

/**
 * Whether an operator stopped the turn's newest pass, and this would set it going without a word of theirs; or a client of the
 * API drives the turn, which reads by itself what came of its calls (H6).
 */
async function isQuiet(
  unit: Unit,
  turnId: TurnId,
  wake: PassCause,
  of: string | null | undefined,
): Promise<boolean> {
  if (wake !== 'continuation' && wake !== 'nudge' && wake !== 'decision') return false;
  const turn = await unit.db.turn.findUniqueOrThrow({
    where: { id: turnId },
    select: { cause: true },
  });
  if (turn.cause === 'mcp' && (await byClient(unit, of))) return true;
  // A sweep nudges no task that waits for the operator after a stop.
  return wake === 'continuation' && isStopped(unit, turnId);
}

/** Whether the turn's newest pass was stopped by an operator, or given up, and they have approved nothing of it since. */
export async function isStopped(unit: Unit, turnId: string): Promise<boolean> {
  const newest = await unit.db.pass.findFirst({
    // One that was dropped before it began, since its message was taken back, does not count.
    where: { turnId, OR: [{ startedAt: { not: null } }, { stopRequestedAt: { not: null } }] },
    orderBy: { seq: 'desc' },
    select: { stopRequestedAt: true, state: true, attempt: true, endedAt: true },
  });
  // Begun as often as a pass may be: begun anew by what it had brought, it would go round without end.
  const givenUp = newest?.state === 'failed' && newest.attempt >= MAX_PASS_ATTEMPTS;
  const since = newest?.stopRequestedAt ?? (givenUp ? newest.endedAt : null);
  if (since == null) return false;
  // What they have approved since goes on by their word.
  const approved = await unit.db.approval.findFirst({
    where: { turnId, status: 'approved', decidedAt: { gt: since } },
    select: { id: true },
  });
  return approved === null;
}

/** Whether a client of the API asked for it, and not the agent, to whom an operator wrote in its thread. */
async function byClient(unit: Unit, of: string | null | undefined): Promise<boolean> {
  const pass = of == null ? null : await unit.db.pass.findUnique({ where: { id: of } });
  return pass === null || pass.cause === 'mcp';
}

/**
 * Takes in an edit (T13). Before a pass has read the message, the words are changed; afterwards the new words are a
 * message of their own. Returns what happened; `unknown` when no stored message has that event id or another sender wrote it.
 */
export async function editMessage(
  unit: Unit,
  args: { eventId: MatrixEventId; editEventId: MatrixEventId; text: string; sender: string },
): Promise<'changed' | 'taken_as_new' | 'unknown'> {
  const message = await unit.db.message.findUnique({ where: { eventId: args.eventId } });
  if (message === null || message.role !== 'operator' || message.sender !== args.sender)
    return 'unknown';
  const sessionId = message.sessionId as SessionId;
  await lockSession(unit, sessionId);
  const { count } = await unit.db.message.updateMany({
    where: { id: message.id, takenInAt: null, redactedAt: null },
    data: { text: args.text },
  });
  if (count > 0) return 'changed';
  if (message.redactedAt !== null) return 'unknown';
  await receiveMessage(unit, {
    sessionId,
    turnId: message.turnId as TurnId,
    text: `(edited) ${args.text}`,
    sender: args.sender,
    eventId: args.editEventId,
  });
  return 'taken_as_new';
}
