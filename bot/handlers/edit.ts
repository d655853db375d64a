import { APPROVAL_PARTS, wordsOfCard, type WaitingApproval } from '../../core/approvals/waiting.ts';
import { whichFit } from '../../core/approvals/words/card-match.ts';
import { cleanBody } from '../../core/approvals/words/clean.ts';
import type { Intent } from '../../core/approvals/words/intent.ts';
import { asId, type MatrixEventId, type SessionId, type TurnId } from '../../core/ids.ts';
import { editMessage, receiveMessage } from '../../core/tasks/messages.ts';
import { answerTo } from '../cards/replies.ts';
import { rich } from '../cards/rich.ts';
import type { MessageContent } from './content.ts';
import { answer, botNames, type HandlerContext } from './context.ts';
import { takeBack } from './redaction.ts';
import { turnOfMessage } from './task-room.ts';
import { intentOf } from './words.ts';

/**
 * The new words of a message (T13). An edit never decides anything: it changes what the agent reads, or is read as well. New
 * words that no longer say yes take back the yes of the old ones, like a redaction (A7). What an edit cannot do is said.
 */
export async function onEdit(context: HandlerContext, message: MessageContent): Promise<void> {
  const { unit, event, operator } = context;
  const text = cleanBody(message.body, botNames(context, message));
  if (message.edits === null || text === '') return;
  const stored = await unit.db.matrixInbox.findUnique({
    where: { eventId: message.edits },
    select: { roomId: true, sender: true },
  });
  if (stored?.roomId !== event.room.roomId || stored.sender !== operator.userId) return;
  const outcome = await editMessage(unit, {
    eventId: message.edits,
    editEventId: event.eventId,
    text,
    sender: operator.userId,
  });
  if (outcome !== 'unknown') return;
  // A message that the agent has not got: it decided something, answered a question, or was dealt with at once.
  if (await ofDecision(context, message.edits, text)) return;
  if (await ofAnswer(context, message.edits, text)) return;
  await sayUseless(context, message);
}

/** Whether the message had decided on approvals: then what follows from its new words is done. */
async function ofDecision(
  context: HandlerContext,
  eventId: MatrixEventId,
  text: string,
): Promise<boolean> {
  const approvals = await context.unit.db.approval.findMany({
    where: { OR: [{ decidedEvent: eventId }, { votes: { some: { eventId } } }] },
    include: APPROVAL_PARTS,
    orderBy: { createdAt: 'asc' },
  });
  const [first] = approvals;
  if (first === undefined) return false;
  const intent = intentOf(context, text);
  const denied = approvals.every(({ status }) => status === 'denied');
  if (denied && intent.bare && intent.denial) return true;
  // "no" that becomes "yes" would approve by an edit.
  if (denied && intent.assent) return false;
  if (!denied) {
    const lost = noLongerMeant(intent, approvals);
    if (lost.length === 0) return true;
    await takeBack(context, lost, eventId);
  }
  if (first.sessionId !== null && first.turnId !== null) {
    await readAsWell(context, first.sessionId, first.turnId, text);
  }
  return true;
}

/** What new words do not say yes to any more: all, unless they are a yes; else what they do not name, or do not confirm. */
function noLongerMeant(intent: Intent, approvals: readonly WaitingApproval[]): WaitingApproval[] {
  if (!intent.bare || !intent.assent) return [...approvals];
  const named = approvals.filter(({ decidedMeans }) => decidedMeans !== 'plan');
  const fits = whichFit(intent.reference, named.map(wordsOfCard));
  const meant = new Set(
    named.filter((one, index) => fits.includes(index) && (intent.confirm || !one.needsTyped)),
  );
  // What was approved along with a plan stands and falls with it.
  const plan = [...meant].some(({ kind }) => kind === 'plan');
  return approvals.filter((one) => (one.decidedMeans === 'plan' ? !plan : !meant.has(one)));
}

/** Whether the message had answered a question: its new words are read as well. */
async function ofAnswer(
  context: HandlerContext,
  eventId: MatrixEventId,
  text: string,
): Promise<boolean> {
  const question = await context.unit.db.question.findFirst({
    where: { answerEvent: eventId },
    select: { sessionId: true, turnId: true, answer: true },
  });
  if (question === null) return false;
  if (question.answer !== text)
    await readAsWell(context, question.sessionId, question.turnId, text);
  return true;
}

async function readAsWell(
  { unit, event, operator }: HandlerContext,
  sessionId: string,
  turnId: string,
  text: string,
): Promise<void> {
  await receiveMessage(unit, {
    sessionId: asId<SessionId>(sessionId),
    turnId: asId<TurnId>(turnId),
    text: `(edited) ${text}`,
    sender: operator.userId,
    eventId: event.eventId,
  });
}

async function sayUseless(context: HandlerContext, message: MessageContent): Promise<void> {
  const turnId = await turnOfMessage(context, message);
  await answer(
    context,
    answerTo(rich`An edit of that message does nothing. Please write it as a new message.`),
    {
      turnId: turnId ?? undefined,
      ...(message.edits === null ? {} : { to: { event: message.edits } }),
    },
  );
}
