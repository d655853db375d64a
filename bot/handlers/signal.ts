import type { MatrixCard, Signal } from '../../core/db/rows.ts';
import type { MatrixEventId } from '../../core/ids.ts';
import {
  acknowledgeSignal,
  muteSignal,
  openTaskForSignal,
  resolveSignal,
  type SignalVerdict,
} from '../../core/signals/operate.ts';
import { answerTo } from '../cards/replies.ts';
import { rich, type Rich } from '../cards/rich.ts';
import { clock, type View } from '../cards/view.ts';
import { nameOf, slug } from '../cards/words.ts';
import { answer, refuseViewer, type HandlerContext } from './context.ts';
import { distrustOf } from './trust.ts';

/** What an operator may do to a signal (S2). */
export type SignalDeed = 'acknowledge' | 'mute' | 'resolve' | 'task';

/** A tap on a signal's card. What it does shows on the card; an answer comes only where nothing came of it. */
export async function onSignalTap(
  context: HandlerContext,
  card: MatrixCard,
  deed: SignalDeed,
  target: MatrixEventId,
): Promise<void> {
  const { unit, event, view } = context;
  const to = { to: { event: target } };
  if (await refuseViewer(context, to)) return;
  const signal = await unit.db.signal.findUnique({ where: { id: card.refId } });
  if (signal === null) return;
  if ((await distrustOf(context, null, 'tap')) !== undefined) {
    const words = deed === 'acknowledge' ? 'ack' : deed;
    await answer(
      context,
      answerTo(
        rich`🔒 A tap does nothing here: reactions are not encrypted, and decisions are strict. Write: !signals ${words} ${signal.shortId}`,
      ),
      to,
    );
    return;
  }
  const place = {
    kind: event.room.kind === 'lobby' ? ('lobby' as const) : ('direct' as const),
    roomId: event.room.roomId,
    linkTo: target,
  };
  const verdict = await doToSignal(context, signal, deed, place);
  if (verdict.kind === 'already')
    await answer(context, answerTo(alreadyWords(verdict.signal, view)), to);
}

/** Does it, in the name of the operator whose event is worked on. */
export async function doToSignal(
  { unit, operator }: HandlerContext,
  signal: Pick<Signal, 'id'>,
  deed: SignalDeed,
  place: Parameters<typeof openTaskForSignal>[3],
  forMs?: number,
): Promise<SignalVerdict> {
  switch (deed) {
    case 'acknowledge':
      return acknowledgeSignal(unit, signal.id, operator.userId);
    case 'mute':
      return muteSignal(unit, signal.id, operator.userId, forMs);
    case 'resolve':
      return resolveSignal(unit, signal.id, operator.userId);
    case 'task':
      return openTaskForSignal(unit, signal.id, operator.userId, place);
  }
}

/** Why nothing came of it: somebody was there before, or it is over. */
export function alreadyWords(signal: Signal, view: View): Rich {
  const when = clock(signal.changedAt, view);
  const by = signal.changedBy === 'system' ? 'by itself' : `by ${nameOf(signal.changedBy)}`;
  switch (signal.state) {
    case 'resolved':
      return rich`Signal ${slug(signal.shortId)} is resolved already, ${by}, ${when}.`;
    case 'acting':
      return rich`There is a task for signal ${slug(signal.shortId)} already, opened ${by}, ${when}.`;
    default:
      return rich`Signal ${slug(signal.shortId)} is ${signal.state} already, ${by}, ${when}.`;
  }
}
