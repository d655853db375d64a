import type { Pass, Session } from '../../core/db/rows.ts';
import {
  asId,
  type MatrixEventId,
  type RoomId,
  type SessionId,
  type TurnId,
  type UserId,
} from '../../core/ids.ts';
import { answerCard, answerIsLong, callCard } from '../cards/answer.ts';
import { progressCard } from '../cards/progress.ts';
import { ANSWER_PACE_MS, PRIORITY, putCard, react, uploadFile } from '../outbox/enqueue.ts';
import { askersToCall, type DrawContext } from './context.ts';
import { shownSession } from './draw-task.ts';
import { cardKey } from './keys.ts';
import { progressState } from './load-pass.ts';

async function passAndSession(
  context: DrawContext,
  passId: string,
): Promise<{ pass: Pass; session: Session } | undefined> {
  const pass = await context.unit.db.pass.findUnique({ where: { id: passId } });
  const session = await shownSession(context, pass?.sessionId ?? null);
  return pass === null || session === undefined ? undefined : { pass, session };
}

// Tools whose effect is a card or a change of one: a pass that calls nothing else needs no progress message.
const SEEN_ELSEWHERE: ReadonlySet<string> = new Set(['set_goal', 'ask_operator', 'complete_task']);

/** The progress message of a pass (C2). A pass that only answers, asks or closes the task needs none: that is seen by itself. */
export async function drawProgress(context: DrawContext, passId: string): Promise<void> {
  const found = await passAndSession(context, passId);
  if (found === undefined) return;
  const state = await progressState(context.unit.db, found.pass);
  if (state.calls.every((call) => SEEN_ELSEWHERE.has(call.name))) return;
  const place = placeOf(found.pass);
  await putCard(context.unit, {
    ...place,
    card: { key: cardKey.progress(passId), kind: 'progress', refId: passId, ...identity(place) },
    message: progressCard(state, context.view),
    priority: PRIORITY.progress,
    closed: state.state !== 'running' && state.state !== 'queued',
  });
}

/** The answer of a pass: as far as it has come while it is written, if answers stream (C13), and whole at its end. */
export async function drawAnswer(context: DrawContext, passId: string): Promise<void> {
  const found = await passAndSession(context, passId);
  if (found === undefined) return;
  const { pass, session } = found;
  const text = context.mask(pass.answer?.trim() ?? '');
  const growing = pass.state === 'running' || pass.state === 'queued';
  if (text === '' || (growing && !context.streaming)) return;
  const place = placeOf(pass);
  const callFor = growing ? [] : await whoMustGoOn(context, pass, session);
  const done = await putCard(context.unit, {
    ...place,
    card: { key: cardKey.answer(passId), kind: 'answer', refId: passId, ...identity(place) },
    message: answerCard({ text, growing }, callFor),
    priority: growing ? PRIORITY.progress : PRIORITY.person,
    paceMs: ANSWER_PACE_MS,
    closed: !growing,
  });
  if (done === 'edited' && callFor.length > 0) {
    await putCard(context.unit, {
      ...place,
      card: { key: cardKey.call(passId), kind: 'call', refId: passId, ...identity(place) },
      message: callCard(text, callFor),
      replyTo: { card: cardKey.answer(passId) },
      priority: PRIORITY.person,
      closed: true,
    });
  }
  if (!growing && answerIsLong(text)) {
    await uploadFile(context.unit, {
      ...place,
      name: 'answer.md',
      mimetype: 'text/markdown',
      bytes: Buffer.from(text),
      card: { key: cardKey.answerFile(passId), kind: 'file', refId: passId, ...identity(place) },
      replyTo: { card: cardKey.answer(passId) },
    });
  }
}

/**
 * Whom an answer calls: nobody while something else goes on or calls by a message of its own (an approval, a question, the
 * digest); else who wrote last in the turn, since the task goes on only with their word (C10).
 */
async function whoMustGoOn(
  { unit, operators }: DrawContext,
  pass: Pass,
  session: Session,
): Promise<UserId[]> {
  if (session.endedAt !== null || pass.state !== 'done') return [];
  const { sessionId } = pass;
  const [approvals, questions, executions, passes] = await Promise.all([
    unit.db.approval.count({ where: { sessionId, status: 'pending' } }),
    unit.db.question.count({ where: { sessionId, status: 'open' } }),
    unit.db.execution.count({
      where: { sessionId, status: { in: ['approved', 'queued', 'running'] } },
    }),
    unit.db.pass.count({ where: { sessionId, state: { in: ['queued', 'running'] } } }),
  ]);
  if (approvals + questions + executions + passes > 0) return [];
  const last = await unit.db.message.findFirst({
    where: { turnId: pass.turnId, role: 'operator', sender: { not: null } },
    orderBy: { seq: 'desc' },
    select: { sender: true },
  });
  return askersToCall(operators, last?.sender ?? session.createdBy);
}

/** 👀 on a message that came while a pass was running, once the agent has read it (T5). */
export async function markTakenIn(context: DrawContext, messageId: string): Promise<void> {
  const { unit } = context;
  const message = await unit.db.message.findUnique({ where: { id: messageId } });
  if (message === null || message.role !== 'operator' || message.eventId === null) return;
  if ((await shownSession(context, message.sessionId)) === undefined) return;
  const running = await unit.db.pass.findFirst({
    where: { turnId: message.turnId, startedAt: { not: null } },
    orderBy: { seq: 'desc' },
    select: { startedAt: true },
  });
  const during =
    running?.startedAt !== null &&
    running?.startedAt !== undefined &&
    running.startedAt < message.createdAt;
  const stored = await unit.db.matrixInbox.findUnique({
    where: { eventId: message.eventId },
    select: { roomId: true },
  });
  if (!during || stored === null) return;
  await react(unit, {
    to: { room: asId<RoomId>(stored.roomId) },
    target: { event: asId<MatrixEventId>(message.eventId) },
    key: '👀',
  });
}

interface Place {
  readonly to: { session: SessionId };
  readonly thread: { turnId: TurnId };
}

function placeOf(pass: Pass): Place {
  return {
    to: { session: asId<SessionId>(pass.sessionId) },
    thread: { turnId: asId<TurnId>(pass.turnId) },
  };
}

function identity(place: Place): { sessionId: SessionId; turnId: TurnId } {
  return { sessionId: place.to.session, turnId: place.thread.turnId };
}
