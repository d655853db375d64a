import { wordsOfCard, waitingApprovals } from '../../core/approvals/waiting.ts';
import { whichFit } from '../../core/approvals/words/card-match.ts';
import { namedIn } from '../../core/approvals/words/named.ts';
import { asId, type MatrixEventId, type SessionId } from '../../core/ids.ts';
import { receiveMessage } from '../../core/tasks/messages.ts';
import { openTask } from '../../core/tasks/open.ts';
import { openTurn } from '../../core/tasks/turns.ts';
import { titleOf } from '../cards/mark.ts';
import { answerTo } from '../cards/replies.ts';
import { link, rich } from '../cards/rich.ts';
import { roomLink } from '../cards/task.ts';
import { bringBack } from '../rooms/bring-back.ts';
import type { MessageContent } from './content.ts';
import { answer, roomIdOf, type HandlerContext } from './context.ts';
import { cardAt, taskAt } from './locate.ts';
import { decideOffer } from './runbook.ts';
import { intentOf } from './words.ts';

/**
 * A message in the lobby or in a direct chat: it opens a task (T1, T2), or, as an answer to a task's link or request, goes on
 * with that task in a turn of its own.
 */
export async function inLobby(
  context: HandlerContext,
  message: MessageContent,
  text: string,
): Promise<void> {
  const { unit, event, operator } = context;
  const near = message.replyTo ?? message.threadRoot;
  if (near !== null && (await wordOnOffer(context, near, text))) return;
  const sessionId = near === null ? null : await taskAt(unit.db, event.room, near);
  if (sessionId !== null) await bringBack(unit, sessionId, [operator.userId]);
  if (await isDecision(context, sessionId, text)) {
    await answer(context, await nothingDecidedHere(context, sessionId), {
      rootEvent: message.threadRoot ?? undefined,
    });
    return;
  }
  if (sessionId !== null) {
    const turnId = await openTurn(unit, { sessionId, cause: 'operator' });
    await receiveMessage(unit, {
      sessionId,
      turnId,
      text,
      sender: operator.userId,
      eventId: event.eventId,
      attachments: context.attachments,
    });
    return;
  }
  await openTask(unit, {
    by: operator.userId,
    text,
    attachments: context.attachments,
    origin: {
      kind: event.room.kind === 'lobby' ? 'lobby' : 'direct',
      roomId: event.room.roomId,
      eventId: event.eventId,
    },
  });
}

/** A "yes" or "no, …" in answer to a runbook that is offered decides on it (K11), like words on any card (A17). */
async function wordOnOffer(
  context: HandlerContext,
  near: MatrixEventId,
  text: string,
): Promise<boolean> {
  const card = await cardAt(context.unit.db, context.event.room, near);
  const intent = intentOf(context, text);
  const verdict = intent.denial ? 'deny' : intent.assent && intent.bare ? 'approve' : undefined;
  if (card?.kind !== 'runbook' || verdict === undefined) return false;
  const words = await decideOffer(context, card.refId, verdict, 'command');
  if (words !== undefined) await answer(context, words);
  return true;
}

/**
 * Whether a message can only be meant as a word on something that waits. One that names something ("apply the updates", "stop
 * nginx") is meant so only where that waits; otherwise it is a request like any other.
 */
async function isDecision(
  context: HandlerContext,
  sessionId: SessionId | null,
  text: string,
): Promise<boolean> {
  const intent = intentOf(context, text);
  if (!intent.bare) return false;
  const named = namedIn(text, context.languages);
  if (named === undefined || intent.confirm) return true;
  const waiting = await waitingApprovals(context.unit.db, sessionId === null ? {} : { sessionId });
  return whichFit(named, waiting.map(wordsOfCard)).length > 0;
}

/** "yes" in the lobby decides nothing: decisions belong into the task's room, where what waits can be seen. */
async function nothingDecidedHere(
  { unit, operator }: HandlerContext,
  sessionId: SessionId | null,
): Promise<ReturnType<typeof answerTo>> {
  const waiting = await unit.db.session.findMany({
    where: {
      endedAt: null,
      roomId: { not: null },
      ...(sessionId === null ? {} : { id: sessionId }),
      OR: [
        { approvals: { some: { status: 'pending' } } },
        { questions: { some: { status: 'open' } } },
      ],
    },
    orderBy: { createdAt: 'asc' },
    take: 10,
  });
  if (waiting.length === 0)
    return answerTo(rich`Nothing waits for a decision. Tell me what to do.`);
  for (const { id } of waiting) await bringBack(unit, asId<SessionId>(id), [operator.userId]);
  return answerTo(
    rich`Nothing was decided: please decide in the task’s room, where you see what it is.`,
    ...waiting.map((session) => {
      const title = titleOf({ shortId: session.shortId, title: session.goal ?? session.title });
      const roomId = roomIdOf(session.roomId);
      return roomId === null ? rich`❗ ${title}` : rich`❗ ${link(roomLink(roomId), title)}`;
    }),
  );
}
