import { createHash } from 'node:crypto';
import type { Unit } from '../../core/db/database.ts';
import type { Session } from '../../core/db/rows.ts';
import {
  asId,
  type MatrixEventId,
  type RoomId,
  type SessionId,
  type TurnId,
} from '../../core/ids.ts';
import { digestCard } from '../cards/digest.ts';
import { lobbyLinkCard, turnRootCard } from '../cards/lobby.ts';
import { roomName } from '../cards/mark.ts';
import type { DigestState, TaskState } from '../cards/state.ts';
import { taskCard } from '../cards/task.ts';
import {
  createTaskRoom,
  pinCards,
  PRIORITY,
  putCard,
  react,
  setRoomName,
} from '../outbox/enqueue.ts';
import { roomOfKind } from '../rooms/room-state.ts';
import { askersToCall, type DrawContext } from './context.ts';
import { cardKey } from './keys.ts';
import { digestState } from './load-digest.ts';
import { originOf, taskState } from './load-task.ts';

/** The task's row, if there is still something to show: a task that was archived has no room any more. */
export async function shownSession(
  { unit }: DrawContext,
  sessionId: string | null,
): Promise<Session | undefined> {
  if (sessionId === null) return undefined;
  const session = await unit.db.session.findUnique({ where: { id: sessionId } });
  return session === null || session.archivedAt !== null ? undefined : session;
}

/** Makes the room of a new task (T2). What belongs into it follows in the same lane. */
export async function drawRoom(context: DrawContext, sessionId: string): Promise<void> {
  const session = await shownSession(context, sessionId);
  if (session === undefined) return;
  const state = await taskState(context.unit.db, session, context.view);
  const name = roomName(state);
  await createTaskRoom(context.unit, {
    sessionId: asId<SessionId>(sessionId),
    name,
    topic: `Nomos task ${session.shortId}`,
  });
  await rememberName(context, session, name);
}

/**
 * The message at the root of a turn that was not asked for in its own room. Sent before anything else of that turn, and
 * for the first turn before the task's card.
 */
export async function drawTurnRoot(context: DrawContext, turnId: string): Promise<void> {
  const turn = await context.unit.db.turn.findUnique({
    where: { id: turnId },
    include: { session: true },
  });
  if (turn === null || turn.rootEvent !== null || turn.session.archivedAt !== null) return;
  const request = await context.unit.db.message.findFirst({
    where: { turnId, role: { in: ['operator', 'note'] } },
    orderBy: { seq: 'asc' },
  });
  const origin = originOf(turn.session);
  await putCard(context.unit, {
    to: { session: asId<SessionId>(turn.sessionId) },
    card: {
      key: cardKey.turn(turnId),
      kind: 'turn',
      refId: turnId,
      sessionId: asId<SessionId>(turn.sessionId),
      turnId: asId<TurnId>(turnId),
    },
    message: turnRootCard({
      text: request?.text ?? '',
      by: request?.sender ?? turn.session.createdBy,
      origin: originKind(turn.seq === 1 ? origin.kind : turn.cause),
    }),
    priority: PRIORITY.person,
  });
}

function originKind(kind: string): 'lobby' | 'direct' | 'api' | 'schedule' | 'other' {
  if (kind === 'mcp') return 'api';
  return kind === 'lobby' || kind === 'direct' || kind === 'api' || kind === 'schedule'
    ? kind
    : 'other';
}

/**
 * The pinned card, the room's name and the link in the lobby: all that shows the task as a whole. Returns whether the card
 * should be drawn again soon, because something that it points to has not been sent yet.
 */
export async function drawTask(
  context: DrawContext,
  sessionId: string,
): Promise<{ again: boolean }> {
  const session = await shownSession(context, sessionId);
  if (session === undefined) return { again: false };
  const { unit, view } = context;
  const state = await taskState(unit.db, session, view);
  const to = { session: asId<SessionId>(sessionId) };
  const key = cardKey.task(sessionId);
  const done = await putCard(unit, {
    to,
    card: { key, kind: 'task', refId: sessionId, sessionId: to.session },
    message: taskCard(withMask(state, context), view),
  });
  if (done === 'sent') await pinCards(unit, { to, cards: [key] });
  if (state.stuck) await react(unit, { to, target: { card: key }, key: '▶️' });
  await nameRoom(context, session, state);
  if (session.roomId !== null) await drawLobbyLink(context, session, state);
  const unlinked = [...state.waiting, ...state.running].some((one) => one.link.eventId === null);
  return { again: unlinked };
}

async function nameRoom(context: DrawContext, session: Session, state: TaskState): Promise<void> {
  const name = roomName(state);
  const known = await context.unit.db.matrixCard.findUnique({
    where: { cardKey: cardKey.roomName(session.id) },
    select: { contentHash: true },
  });
  if (known?.contentHash === hashOf(name)) return;
  await setRoomName(context.unit, { to: { session: asId<SessionId>(session.id) }, name });
  await rememberName(context, session, name);
}

async function rememberName({ unit }: DrawContext, session: Session, name: string): Promise<void> {
  const key = cardKey.roomName(session.id);
  const fields = { contentHash: hashOf(name), updatedAt: new Date() };
  await unit.db.matrixCard.upsert({
    where: { cardKey: key },
    create: {
      cardKey: key,
      lane: `session:${session.id}`,
      kind: 'name',
      refId: session.id,
      sessionId: session.id,
      ...fields,
    },
    update: fields,
    select: { cardKey: true },
  });
}

/** The link to the task's room, where it was asked for (T2), or in the lobby if nobody asked in a room. */
async function drawLobbyLink(
  context: DrawContext,
  session: Session,
  state: TaskState,
): Promise<void> {
  const origin = originOf(session);
  const asked = await askedIn(context, origin.roomId);
  const answered = origin.linkTo ?? origin.eventId;
  const room = asked ?? (await roomOfKind(context.unit.db, 'lobby'));
  if (room === undefined || session.roomId === null) return;
  await putCard(context.unit, {
    to: { room },
    card: {
      key: cardKey.lobby(session.id),
      kind: 'lobby',
      refId: session.id,
      sessionId: asId<SessionId>(session.id),
    },
    message: lobbyLinkCard(state, asId<RoomId>(session.roomId)),
    ...(asked === undefined || answered === undefined
      ? {}
      : { replyTo: { event: asId<MatrixEventId>(answered) } }),
  });
}

/** The room in which a task was asked for; undefined if there was none, or it was upgraded: then the lobby of today has the link. */
async function askedIn(
  { unit }: DrawContext,
  roomId: string | undefined,
): Promise<RoomId | undefined> {
  if (roomId === undefined) return undefined;
  const room = await unit.db.matrixRoom.findUnique({ where: { roomId } });
  return room?.replacedBy == null ? asId<RoomId>(roomId) : undefined;
}

/** The balance at a task's end: a new message that calls who asked, since an edit rings nowhere (C6, C14). */
export async function drawDigest(
  context: DrawContext,
  sessionId: string,
  eventId: bigint,
): Promise<void> {
  const session = await shownSession(context, sessionId);
  // Opened again before this was drawn: there is no end to tell of.
  if (session === undefined || session.endedAt === null) return;
  const { unit, operators } = context;
  // Opened again and ended anew: that end is told by its own event.
  const since = await unit.db.event.findFirst({
    where: { sessionId, type: 'session.ended', id: { gt: eventId } },
    select: { id: true },
  });
  if (since !== null) return;
  const turn = await unit.db.turn.findFirst({
    where: { sessionId, passes: { some: {} } },
    orderBy: { seq: 'desc' },
    select: { id: true },
  });
  await putCard(unit, {
    to: { session: asId<SessionId>(sessionId) },
    card: {
      key: cardKey.digest(sessionId, eventId),
      kind: 'digest',
      refId: sessionId,
      sessionId: asId<SessionId>(sessionId),
      ...(turn === null ? {} : { turnId: asId<TurnId>(turn.id) }),
    },
    message: digestCard(
      withMask(await unsaid(unit, await digestState(unit.db, session), sessionId), context),
      askersToCall(operators, session.createdBy),
    ),
    ...(turn === null ? {} : { thread: { turnId: asId<TurnId>(turn.id) } }),
    priority: PRIORITY.person,
    closed: true,
  });
}

/** A summary that the last answer has just said, word for word or among more, is told by its first line. */
async function unsaid(unit: Unit, state: DigestState, sessionId: string): Promise<DigestState> {
  const { summary } = state;
  if (summary === null) return state;
  const pass = await unit.db.pass.findFirst({
    where: { sessionId, answer: { not: null } },
    orderBy: { seq: 'desc' },
    select: { answer: true },
  });
  return (pass?.answer ?? '').includes(summary.trim())
    ? { ...state, summary: summary.trim().split('\n', 1)[0] ?? summary }
    : state;
}

/** The agent's summary with secrets hidden (X9). */
function withMask<T extends { summary: string | null }>(state: T, { mask }: DrawContext): T {
  return state.summary === null ? state : { ...state, summary: mask(state.summary) };
}

function hashOf(name: string): string {
  return createHash('sha256').update(name).digest('hex');
}
