import { APPROVAL_PARTS, type WaitingApproval } from '../../core/approvals/waiting.ts';
import type { Approval, MatrixCard, Session } from '../../core/db/rows.ts';
import { asId, type MatrixEventId, type SessionId, type TurnId } from '../../core/ids.ts';
import { receiveMessage } from '../../core/tasks/messages.ts';
import { openTurn } from '../../core/tasks/turns.ts';
import type { MessageContent } from './content.ts';
import type { HandlerContext } from './context.ts';
import { cardAt, turnAt } from './locate.ts';
import { optionIn, answerByWords } from './question.ts';
import { assentToWords } from './spoken-plan.ts';
import { turnsToDecide } from './waiting.ts';
import { ask, carriesFile, intentOf, wordsInTurn, wordsOnCard, type TurnWaits } from './words.ts';

/** A message in a task's room: to a card, in a thread, or on the main timeline (T3, T15, A4). */
export async function inTaskRoom(
  context: HandlerContext,
  sessionId: SessionId,
  message: MessageContent,
  text: string,
): Promise<void> {
  const { unit, event } = context;
  const session = await unit.db.session.findUniqueOrThrow({ where: { id: sessionId } });
  const card = await answeredCard(context, message);
  // What comes with a picture or a file is for the agent to look at, its caption included: it answers and decides nothing.
  const decides = !carriesFile(context);
  if (decides && card !== null && (await toCard(context, session, card, text)) === 'dealt_with')
    return;

  const turnId = (await turnOfMessage(context, message, card)) ?? null;
  if (intentOf(context, text).bare && (await answersSomebodyElse(context, message))) {
    const { turns: waiting } = await turnsToDecide(context, sessionId);
    if (waiting.length > 0) {
      await ask(
        context,
        { session, ...(turnId === null ? {} : { turnId }) },
        waiting.flatMap(({ approvals }) => approvals),
        waiting.some(({ approvals }) => approvals.some((one) => one.needsTyped)),
        waiting.flatMap(({ questions }) => questions),
      );
      return;
    }
  }
  if (turnId !== null) {
    const waits = await waitsOf(context, session, turnId);
    if (decides && (card === null || !DECIDABLE.has(card.kind))) {
      if ((await wordsInTurn(context, waits, text)) === 'dealt_with') return;
    }
    await toAgent(context, sessionId, turnId, text);
    return;
  }
  // A thread on something that belongs to no turn becomes one, rooted where it is.
  if (
    decides &&
    message.threadRoot === null &&
    (await onMainTimeline(context, session, text)) === 'dealt_with'
  )
    return;
  const rootEvent = message.threadRoot ?? event.eventId;
  const opened = await openTurn(unit, { sessionId, cause: 'operator', rootEvent });
  await toAgent(context, sessionId, opened, text);
}

/** The turn that an operator's message stands in, if any; for commands, which do not open one. */
export async function turnOfMessage(
  { unit, event }: HandlerContext,
  message: MessageContent,
  card: MatrixCard | null = null,
): Promise<TurnId | null> {
  if (card?.turnId !== undefined && card.turnId !== null) return asId<TurnId>(card.turnId);
  for (const near of [message.threadRoot, message.replyTo]) {
    const turnId = near === null ? null : await turnAt(unit.db, event.room, near);
    if (turnId !== null) return turnId;
  }
  return null;
}

/**
 * Whether a message answers, by a rich reply, something that neither the bot nor its own sender wrote: another person's words,
 * or a copy of a card (Z2). A "yes" to those is no word on what waits.
 */
async function answersSomebodyElse(
  { unit, event, botUserId }: HandlerContext,
  message: MessageContent,
): Promise<boolean> {
  if (message.replyTo === null) return false;
  const answered = await unit.db.matrixInbox.findUnique({
    where: { eventId: message.replyTo },
    select: { sender: true },
  });
  return answered !== null && answered.sender !== event.sender && answered.sender !== botUserId;
}

// Cards whose answer in words was looked at by itself: the turn's other things are not meant.
const DECIDABLE: ReadonlySet<string> = new Set([
  'execution',
  'batch',
  'plan',
  'question',
  'reminder',
  'hint',
  'former',
]);

/** The card that a message answers: by a rich reply, or by a thread that was started on the card itself. */
async function answeredCard(
  { unit, event }: HandlerContext,
  message: MessageContent,
): Promise<MatrixCard | null> {
  if (message.replyTo !== null) return cardAt(unit.db, event.room, message.replyTo);
  if (message.threadRoot === null) return null;
  const card = await cardAt(unit.db, event.room, message.threadRoot);
  return card !== null && DECIDABLE.has(card.kind) ? card : null;
}

async function toCard(
  context: HandlerContext,
  session: Session,
  card: MatrixCard,
  text: string,
): Promise<'dealt_with' | 'for_agent'> {
  if (!DECIDABLE.has(card.kind)) return 'for_agent';
  if (card.kind === 'former') return toFormerCard(context, session, card, text);
  const approval = await approvalOfCard(context, card);
  if (approval !== null)
    return wordsOnCard(context, session, await withParts(context, approval), text);
  if (card.kind !== 'question' && card.kind !== 'reminder') return 'for_agent';
  const question = await context.unit.db.question.findUnique({ where: { id: card.refId } });
  if (question === null || question.status !== 'open') return 'for_agent';
  return answerByWords(context, session, [question], text, intentOf(context, text), true);
}

/** A bare "yes" to a card that was asked for again means none of what waits by itself: it is asked which. */
async function toFormerCard(
  context: HandlerContext,
  session: Session,
  card: MatrixCard,
  text: string,
): Promise<'dealt_with' | 'for_agent'> {
  const turnId = card.turnId === null ? undefined : asId<TurnId>(card.turnId);
  const intent = intentOf(context, text);
  const approvals = turnId === undefined ? [] : (await waitsOf(context, session, turnId)).approvals;
  if (!intent.bare || approvals.length === 0) return 'for_agent';
  return ask(context, { session, turnId }, approvals, intent.confirm);
}

/** The approval that a card shows, if it shows one. */
export async function approvalOfCard(
  { unit }: HandlerContext,
  card: Pick<MatrixCard, 'kind' | 'refId'>,
): Promise<Approval | null> {
  switch (card.kind) {
    // What was asked for again, all of a batch or the rest of it, has a newer approval than before: that is the one shown.
    case 'execution':
    case 'batch':
      return unit.db.approval.findFirst({
        where: {
          executions: {
            some: card.kind === 'batch' ? { batchId: card.refId } : { id: card.refId },
          },
        },
        orderBy: { createdAt: 'desc' },
      });
    case 'plan':
    case 'reminder':
    case 'hint':
      return unit.db.approval.findUnique({ where: { id: card.refId } });
    default:
      return null;
  }
}

async function withParts({ unit }: HandlerContext, { id }: Approval): Promise<WaitingApproval> {
  return unit.db.approval.findUniqueOrThrow({ where: { id }, include: APPROVAL_PARTS });
}

/**
 * A message on the main timeline that is nothing but assent, denial, confirmation or the answer to an open question counts
 * for the one turn that waits for such a thing; if several do, it is asked which, and nothing is granted (T15).
 */
async function onMainTimeline(
  context: HandlerContext,
  session: Session,
  text: string,
): Promise<'dealt_with' | 'for_agent'> {
  const { turns: waiting, newer } = await turnsToDecide(context, asId<SessionId>(session.id));
  const intent = intentOf(context, text);
  if (waiting.length === 0)
    return newer ? 'for_agent' : assentToWords(context, session, text, intent);
  const answering = waiting.filter(({ questions }) =>
    questions.some((question) => optionIn(question, text) !== undefined),
  );
  if (!intent.bare && answering.length === 0) return 'for_agent';
  const deciding = waiting.filter(
    ({ approvals }) => intent.bare && approvals.some((approval) => fits(intent.confirm, approval)),
  );
  // "I confirm" where nothing destructive waits is a yes like any other.
  const able =
    intent.confirm && deciding.length === 0
      ? waiting.filter(({ approvals }) => approvals.length > 0)
      : deciding;
  const turns = [...new Set([...able, ...answering])];
  const [one, ...others] = turns;
  if (one === undefined) return 'for_agent';
  if (others.length > 0) {
    return ask(
      context,
      { session },
      turns.flatMap(({ approvals }) => approvals),
      intent.confirm,
      turns.flatMap(({ questions }) => questions),
    );
  }
  return wordsInTurn(context, await waitsOf(context, session, one.turnId), text);
}

function fits(confirm: boolean, approval: WaitingApproval): boolean {
  return !confirm || approval.needsTyped;
}

async function waitsOf(
  context: HandlerContext,
  session: Session,
  turnId: TurnId,
): Promise<TurnWaits> {
  const { turns, newer } = await turnsToDecide(context, asId<SessionId>(session.id));
  const own = turns.find((turn) => turn.turnId === turnId);
  const last = await context.unit.db.pass.findFirst({
    where: { turnId, startedAt: { not: null } },
    orderBy: { seq: 'desc' },
    select: { id: true },
  });
  return {
    session,
    turnId,
    approvals: own?.approvals ?? [],
    questions: own?.questions ?? [],
    newer,
    lastPassId: last?.id ?? null,
  };
}

async function toAgent(
  { unit, event, operator, attachments }: HandlerContext,
  sessionId: SessionId,
  turnId: TurnId,
  text: string,
): Promise<void> {
  await receiveMessage(unit, {
    sessionId,
    turnId,
    text,
    sender: operator.userId,
    eventId: asId<MatrixEventId>(event.eventId),
    attachments,
  });
}
