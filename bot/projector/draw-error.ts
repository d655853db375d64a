import { z } from 'zod';
import type { Message } from '../../core/db/rows.ts';
import type { LoggedEvent } from '../../core/events/types.ts';
import {
  asId,
  isRowId,
  type MatrixEventId,
  type RoomId,
  type SessionId,
  type TurnId,
  type UserId,
} from '../../core/ids.ts';
import { errorCard } from '../cards/error.ts';
import type { ErrorState } from '../cards/state.ts';
import { statusLine } from '../cards/task.ts';
import { PRIORITY, putCard, react } from '../outbox/enqueue.ts';
import { roomOfKind } from '../rooms/room-state.ts';
import { askersToCall, type DrawContext } from './context.ts';
import { shownSession } from './draw-task.ts';
import { cardKey } from './keys.ts';
import { taskState } from './load-task.ts';

/** What `error.raised` carries. Unknown fields are passed by: a newer version may tell more. */
export const errorShape = z.looseObject({
  code: z.string(),
  message: z.string(),
  hint: z.string().nullish(),
  fault: z.string().catch('system'),
  retry: z.boolean().catch(false),
  /** Outside a task: where it came up, and at which event. */
  roomId: z.string().optional(),
  eventId: z.string().optional(),
});

/** How an error was dealt with. */
type DealtWith = ErrorState['dealtWith'];

/** The card of a failure (C7): in its turn's thread, or where it came up, or in the lobby. */
export async function drawError(
  context: DrawContext,
  event: Pick<LoggedEvent, 'id' | 'sessionId' | 'refId' | 'data'>,
  dealtWith: DealtWith = null,
): Promise<void> {
  const error = errorShape.parse(event.data);
  const { unit, view, operators } = context;
  const session = await shownSession(context, event.sessionId);
  const turnId = session === undefined ? null : await turnOf(context, session.id, event.refId);
  const place =
    session === undefined ? await placeOutside(context, error) : placeIn(session.id, turnId);
  if (place === undefined) return;
  const key = cardKey.error(event.id);
  await putCard(unit, {
    ...place,
    card: {
      key,
      kind: 'error',
      refId: String(event.id),
      ...(session === undefined ? {} : { sessionId: asId<SessionId>(session.id) }),
      ...(turnId === null ? {} : { turnId: asId<TurnId>(turnId) }),
    },
    message: errorCard(
      {
        message: error.message,
        hint: error.hint ?? null,
        code: error.code,
        fault: error.fault,
        taskState:
          session === undefined ? null : statusLine(await taskState(unit.db, session, view)),
        retry: error.retry,
        dealtWith,
      },
      view,
      dealtWith === null ? askersToCall(operators, session?.createdBy ?? null) : [],
    ),
    priority: PRIORITY.person,
    closed: dealtWith !== null,
  });
  const tap = error.retry ? '🔁' : session === undefined ? '✅' : undefined;
  if (tap !== undefined && dealtWith === null) {
    await react(unit, {
      to: place.to,
      target: { card: key },
      key: tap,
      priority: PRIORITY.person,
    });
  }
}

/** Marks open error cards, of a task or outside of any, as dealt with. */
async function settleCards(
  context: DrawContext,
  of: { sessionId: string | null },
  by: UserId | null,
  isMeant: (event: Pick<LoggedEvent, 'id' | 'data'>) => boolean = () => true,
): Promise<void> {
  const { unit, view } = context;
  const open = await unit.db.matrixCard.findMany({
    where: { ...of, kind: 'error', closed: false },
    select: { refId: true },
  });
  for (const { refId } of open) {
    const event = await unit.db.event.findUnique({ where: { id: BigInt(refId) } });
    if (event === null) continue;
    const data = z.record(z.string(), z.unknown()).parse(event.data);
    if (isMeant({ ...event, data })) {
      await drawError(context, { ...event, data }, { by, at: view.now });
    }
  }
}

/** An operator's message goes on with a task: its open errors are dealt with. */
export async function settleByMessage(context: DrawContext, messageId: string): Promise<void> {
  const message = await context.unit.db.message.findUnique({ where: { id: messageId } });
  if (message === null || message.role !== 'operator') return;
  if (await isByClock(context, message)) return;
  const { sessionId } = message;
  const said = await context.unit.db.event.findFirst({
    where: { sessionId, type: 'message.received', refId: messageId },
    select: { id: true },
  });
  await settleCards(
    context,
    { sessionId },
    message.sender === null ? null : asId<UserId>(message.sender),
    // Perhaps drawn late: what came up after it was not meant.
    ({ id }) => said === null || id < said.id,
  );
}

/** What a schedule says begins a turn of its own, and nobody has seen the errors (T14). */
async function isByClock({ unit }: DrawContext, { turnId, seq }: Message): Promise<boolean> {
  const turn = await unit.db.turn.findUnique({
    where: { id: turnId, cause: 'schedule' },
    select: { _count: { select: { messages: { where: { role: 'operator', seq: { lt: seq } } } } } },
  });
  return turn?._count.messages === 0;
}

/** An operator asked the task to go on (🔁, ▶️, `!continue`): likewise. */
export async function settleByResumption(
  context: DrawContext,
  sessionId: string,
  event: LoggedEvent,
): Promise<void> {
  const by = event.data['by'];
  await settleCards(
    context,
    { sessionId },
    typeof by === 'string' ? asId<UserId>(by) : null,
    ({ id }) => id < event.id,
  );
}

const settledShape = z.looseObject({
  about: z.string().optional(),
  event: z.string().optional(),
  by: z.string().optional(),
});

/** What no task has is over, by itself or by an operator's word: its open cards say so. */
export async function settleOutside(
  context: DrawContext,
  { id, data }: LoggedEvent,
): Promise<void> {
  const { about, event, by } = settledShape.parse(data);
  await settleCards(
    context,
    { sessionId: null },
    by === undefined ? null : asId<UserId>(by),
    (one) =>
      event === undefined ? one.data['about'] === about && one.id < id : String(one.id) === event,
  );
}

/** The turn that an error belongs to: that of the pass it names, else the newest one that worked. */
async function turnOf(
  { unit }: DrawContext,
  sessionId: string,
  refId: string | null,
): Promise<string | null> {
  if (refId !== null && isRowId(refId)) {
    const pass = await unit.db.pass.findUnique({ where: { id: refId }, select: { turnId: true } });
    if (pass !== null) return pass.turnId;
  }
  const newest = await unit.db.pass.findFirst({
    where: { sessionId },
    orderBy: { seq: 'desc' },
    select: { turnId: true },
  });
  return newest?.turnId ?? null;
}

interface Place {
  readonly to: { session: SessionId } | { room: RoomId };
  readonly thread?: { turnId: TurnId };
  readonly replyTo?: { event: MatrixEventId };
}

function placeIn(sessionId: string, turnId: string | null): Place {
  return {
    to: { session: asId<SessionId>(sessionId) },
    ...(turnId === null ? {} : { thread: { turnId: asId<TurnId>(turnId) } }),
  };
}

async function placeOutside(
  { unit }: DrawContext,
  error: z.infer<typeof errorShape>,
): Promise<Place | undefined> {
  const room =
    error.roomId === undefined ? await roomOfKind(unit.db, 'lobby') : asId<RoomId>(error.roomId);
  if (room === undefined) return undefined;
  return {
    to: { room },
    ...(error.eventId === undefined
      ? {}
      : { replyTo: { event: asId<MatrixEventId>(error.eventId) } }),
  };
}
