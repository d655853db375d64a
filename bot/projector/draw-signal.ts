import type { Signal } from '../../core/db/rows.ts';
import type { RoomId } from '../../core/ids.ts';
import { signalCard, signalStormCard, signalToldAgain } from '../cards/signal.ts';
import { PRIORITY, putCard, react } from '../outbox/enqueue.ts';
import { roomOfKind } from '../rooms/room-state.ts';
import { decidersToCall, type DrawContext } from './context.ts';
import { cardKey } from './keys.ts';
import { signalState } from './load-signal.ts';

/** What a signal's card takes; the bot puts them there, so that one tap is enough (S2). */
const TAPS = ['👀', '🔕', '✅', '🤖'] as const;
/** Signals that share a card are those of one hour. */
const STORM_MS = 3_600_000;
/** So many of them are named on it. */
const STORM_SHOWN = 12;

/**
 * The card of a signal in the lobby. Each time that people are called for it is a new message, since an edit rings nowhere (C14);
 * everything else edits the newest. What came with many others at once has no card of its own.
 */
export async function drawSignal(context: DrawContext, signalId: string): Promise<void> {
  const { unit } = context;
  const signal = await unit.db.signal.findUnique({ where: { id: signalId } });
  const lobby = await roomOfKind(unit.db, 'lobby');
  if (signal === null || lobby === undefined) return;
  if (signal.calls === 0) return drawStorm(context, signal, lobby);
  const { view, mask, operators } = context;
  const state = await signalState(unit.db, signal, mask);
  const key = cardKey.signal(signal.id, signal.calls);
  await retireEarlier(context, signal, lobby, key);
  // It may have shared the card of a storm until now.
  const storm = cardKey.signalStorm(hourOf(signal));
  if ((await unit.db.matrixCard.count({ where: { cardKey: storm } })) > 0)
    await drawStorm(context, signal, lobby);
  const done = await putCard(unit, {
    to: { room: lobby },
    card: { key, kind: 'signal', refId: signal.id },
    message: signalCard(
      state,
      view,
      decidersToCall(operators, null, { role: 'approver', people: 1 }),
    ),
    priority: PRIORITY.person,
    closed: false,
  });
  if (done !== 'sent') return;
  for (const tap of TAPS)
    await react(unit, { to: { room: lobby }, target: { card: key }, key: tap });
}

/** A task's room is made after its signal said that it acts: the card then links to it. */
export async function drawSignalsOf(context: DrawContext, sessionId: string): Promise<void> {
  const acting = await context.unit.db.signal.findMany({
    where: { sessionId },
    select: { id: true },
  });
  for (const { id } of acting) await drawSignal(context, id);
}

async function retireEarlier(
  context: DrawContext,
  signal: Signal,
  lobby: RoomId,
  current: string,
): Promise<void> {
  const earlier = await context.unit.db.matrixCard.findMany({
    where: { kind: 'signal', refId: signal.id, closed: false, cardKey: { not: current } },
    select: { cardKey: true },
  });
  if (earlier.length === 0) return;
  const message = signalToldAgain(await signalState(context.unit.db, signal, context.mask, true));
  for (const { cardKey: key } of earlier) {
    await putCard(context.unit, {
      to: { room: lobby },
      card: { key, kind: 'signal', refId: signal.id },
      message,
      closed: true,
    });
  }
}

function hourOf({ raisedAt }: Signal): number {
  return Math.floor(raisedAt.getTime() / STORM_MS);
}

async function drawStorm(context: DrawContext, signal: Signal, lobby: RoomId): Promise<void> {
  const { unit, view, mask, operators } = context;
  const hour = hourOf(signal);
  const raisedAt = { gte: new Date(hour * STORM_MS), lt: new Date((hour + 1) * STORM_MS) };
  const where = { calls: 0, raisedAt };
  const stillOpen = { ...where, state: { not: 'resolved' } };
  const [total, open, calling, first] = await Promise.all([
    unit.db.signal.count({ where }),
    unit.db.signal.count({ where: stillOpen }),
    unit.db.signal.count({ where: { ...stillOpen, severity: { not: 'info' } } }),
    unit.db.signal.findMany({ where: stillOpen, orderBy: { raisedAt: 'asc' }, take: STORM_SHOWN }),
  ]);
  await putCard(unit, {
    to: { room: lobby },
    card: { key: cardKey.signalStorm(hour), kind: 'signal_storm', refId: String(hour) },
    message: signalStormCard(
      {
        first: await Promise.all(first.map((one) => signalState(unit.db, one, mask, true))),
        open,
        total,
      },
      view,
      calling === 0 ? [] : decidersToCall(operators, null, { role: 'approver', people: 1 }),
    ),
    priority: PRIORITY.person,
  });
}
