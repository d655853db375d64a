import type { Signal } from '../../core/db/rows.ts';
import { roleCovers } from '../../core/operators.ts';
import { LONGEST_MUTE_MS, signalNamed } from '../../core/signals/operate.ts';
import { DurationError, parseDuration } from '../../core/text/duration.ts';
import { cardOf, fitting, type Card } from '../cards/card.ts';
import { answerTo } from '../cards/replies.ts';
import { list, para, rich, strong } from '../cards/rich.ts';
import { signalLine } from '../cards/signal.ts';
import { count } from '../cards/words.ts';
import type { HandlerContext } from '../handlers/context.ts';
import { alreadyWords, doToSignal, type SignalDeed } from '../handlers/signal.ts';
import { signalState } from '../projector/load-signal.ts';
import { CommandError, type Command } from './command.ts';

const WAYS =
  'Write: !signals ack, mute, resolve or task, and an id; mute takes a time as well: !signals mute k7f3q 4h';
const DEEDS: Readonly<Record<string, SignalDeed>> = {
  ack: 'acknowledge',
  acknowledge: 'acknowledge',
  mute: 'mute',
  resolve: 'resolve',
  task: 'task',
};
const MOST = 30;

/** `!signals`: what is wrong in the fleet, and what is done about it (S2). */
export const signalsCommand: Command = {
  name: 'signals',
  takes: [
    {
      name: 'what',
      what: 'ack, mute (with a time such as 1h), resolve or task, and a signal’s id; nothing lists those that are open',
      required: false,
      rest: true,
    },
  ],
  does: 'Lists what is wrong in the fleet, or acknowledges, mutes, resolves a signal, or opens a task for it.',
  needs: 'viewer',
  async run({ context, args }) {
    const what = args['what'] ?? '';
    if (what === '') return listed(context);
    const { deed, id, forMs } = read(what);
    if (!roleCovers(context.operator.role, 'approver'))
      throw new CommandError(
        'You are a viewer; to do something about a signal needs the role approver.',
      );
    const signal = await signalNamed(context.unit, id);
    const { roomId, kind } = context.event.room;
    const place = {
      kind: kind === 'lobby' ? ('lobby' as const) : ('direct' as const),
      roomId,
      linkTo: context.event.eventId,
    };
    const verdict = await doToSignal(context, signal, deed, place, forMs);
    if (verdict.kind === 'already') return answerTo(alreadyWords(verdict.signal, context.view));
    return answerTo(await line(context, verdict.signal));
  },
};

function read(what: string): { deed: SignalDeed; id: string; forMs: number | undefined } {
  const [verb = '', ...rest] = what.toLowerCase().split(/\s+/);
  const deed = DEEDS[verb];
  if (deed === undefined || rest.length === 0)
    throw new CommandError(`!signals does not take “${what.slice(0, 60)}”.`, WAYS);
  // The time may stand behind the id or before it. Alone, what looks like a time is an id.
  const at = deed !== 'mute' || rest.length < 2 ? -1 : rest.findLastIndex(isDuration);
  const time = at < 0 ? undefined : rest[at];
  const [id = '', ...more] = rest.filter((_word, index) => index !== at);
  if (more.length > 0) throw new CommandError(`!signals ${verb} takes one id.`, WAYS);
  const forMs = time === undefined ? undefined : parseDuration(time);
  if (forMs !== undefined && (forMs < 60_000 || forMs > LONGEST_MUTE_MS))
    throw new CommandError('A signal is muted for one minute to 30 days.', WAYS);
  return { deed, id, forMs };
}

function isDuration(word: string): boolean {
  try {
    return parseDuration(word) > 0;
  } catch (error) {
    if (error instanceof DurationError) return false;
    throw error;
  }
}

async function listed(context: HandlerContext): Promise<Card> {
  const where = { state: { not: 'resolved' } };
  const { signal: signals } = context.unit.db;
  const [open, total] = await Promise.all([
    signals.findMany({ where, orderBy: [{ raisedAt: 'desc' }], take: MOST }),
    signals.count({ where }),
  ]);
  if (total === 0) return answerTo(rich`✅ Nothing is wrong, as far as the checks see.`);
  const lines = await Promise.all(open.map((signal) => line(context, signal)));
  return fitting(
    [MOST, 10].map(
      (most) => () =>
        cardOf([
          para(strong(count(total, 'open signal'))),
          list(lines.slice(0, most)),
          para(rich`${WAYS}`),
        ]),
    ),
  );
}

async function line({ unit, view }: HandlerContext, signal: Signal) {
  // Details were masked when they were stored.
  return signalLine(await signalState(unit.db, signal, (text) => text, true), view);
}
