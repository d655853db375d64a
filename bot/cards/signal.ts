import type { RoomId, UserId } from '../../core/ids.ts';
import { affects } from './approval.ts';
import { cardOf, fitting, type Card } from './card.ts';
import { link, list, para, rich, strong, type Rich } from './rich.ts';
import type { BlastState } from './state.ts';
import { roomLink } from './task.ts';
import { clock, elapsed, type View } from './view.ts';
import { count, label, nameOf, slug } from './words.ts';

/** Something that is wrong, as its card shows it (S2). Texts and labels come from outside. */
export interface SignalState {
  readonly shortId: string;
  readonly title: string;
  readonly text: string;
  readonly severity: 'info' | 'warning' | 'critical';
  readonly state: 'raised' | 'acknowledged' | 'acting' | 'muted' | 'resolved';
  readonly source: 'check' | 'alertmanager';
  /** The entity that it is about, if that is known, and what depends on it. */
  readonly entity: string | null;
  readonly blast: BlastState;
  readonly labels: Readonly<Record<string, string>>;
  readonly url: string | null;
  readonly raisedAt: Date;
  readonly reopens: number;
  /** Who moved it to where it is: a Matrix id, `token:<name>`, `task`, or `system`. */
  readonly changedBy: string;
  readonly changedAt: Date;
  readonly mutedUntil: Date | null;
  readonly resolvedAt: Date | null;
  readonly task: { readonly shortId: string; readonly roomId: RoomId | null } | null;
}

/** A mark for each severity. */
export const SEVERITY_MARK: Readonly<Record<SignalState['severity'], string>> = {
  critical: '🚨',
  warning: '⚠️',
  info: 'ℹ️',
};

const STATE_MARK: Readonly<Record<Exclude<SignalState['state'], 'raised'>, string>> = {
  acknowledged: '👀',
  acting: '🤖',
  muted: '🔕',
  resolved: '✅',
};

/** Labels that say what the card says already. */
const TOLD = new Set(['alertname', 'severity', 'entity']);
const LABELS_SHOWN = [8, 3, 0];

/**
 * The card of a signal in the lobby: what is wrong and where, what suffers with it, who is on it, and what to tap. It calls those who may
 * act while nobody is.
 */
export function signalCard(signal: SignalState, view: View, callFor: readonly UserId[] = []): Card {
  const calls = signal.state === 'raised' && signal.severity !== 'info' ? callFor : [];
  return fitting(
    LABELS_SHOWN.map(
      (most) => () =>
        cardOf(
          [
            para(headline(signal), stateWords(signal, view)),
            para(
              ...facts(signal, view),
              signal.state === 'resolved' || signal.entity === null
                ? undefined
                : affects(signal.blast),
            ),
            list(
              Object.entries(signal.labels)
                .filter(([name]) => !TOLD.has(name))
                .slice(0, most)
                .map(([name, value]) => rich`${label(name, 40)}: ${label(value, 80)}`),
            ),
            signal.state === 'resolved' ? undefined : para(howTo(signal)),
          ],
          calls.length > 0 ? { mentions: calls, msgtype: 'm.text' } : {},
        ),
    ),
  );
}

function headline(signal: SignalState): Rich {
  const mark =
    signal.state === 'raised' ? SEVERITY_MARK[signal.severity] : STATE_MARK[signal.state];
  const what = strong(label(signal.title, 100));
  const text = label(signal.text, 200);
  if (signal.state === 'resolved')
    return rich`${mark} ${what} is over${text === '' ? '' : `; it was: ${text}`}`;
  return text === '' ? rich`${mark} ${what}` : rich`${mark} ${what}: ${text}`;
}

function stateWords(signal: SignalState, view: View): Rich | undefined {
  const when = clock(signal.changedAt, view);
  const by = nameOf(signal.changedBy);
  switch (signal.state) {
    case 'raised':
      return undefined;
    case 'acknowledged':
      return signal.changedBy === 'task'
        ? rich`The task for it has ended, ${when}. It resolves itself once all is well again.`
        : rich`${by} looks at it, since ${when}`;
    case 'acting':
      return rich`${by} opened ${taskWords(signal)} for it, ${when}`;
    case 'muted':
      return signal.mutedUntil === null
        ? rich`Muted by ${by}`
        : rich`Muted by ${by} until ${clock(signal.mutedUntil, view)}`;
    case 'resolved': {
      const after =
        signal.resolvedAt === null
          ? ''
          : ` after ${elapsed(signal.raisedAt, signal.resolvedAt, view)}`;
      return rich`Resolved ${resolvedBy(signal)}${after}, ${when}`;
    }
  }
}

function resolvedBy({ changedBy, source }: SignalState): string {
  if (changedBy === 'system') return 'by itself';
  if (changedBy === 'task') return 'by the end of its task';
  // The token of a webhook is no person.
  if (changedBy.startsWith('token:') && source === 'alertmanager') return 'by Alertmanager';
  return `by ${nameOf(changedBy)}`;
}

function taskWords({ task }: SignalState): Rich {
  if (task === null) return rich`a task`;
  return task.roomId === null
    ? rich`task ${slug(task.shortId)}`
    : rich`${link(roomLink(task.roomId), `task ${task.shortId}`)}`;
}

function facts(signal: SignalState, view: View): Rich[] {
  const back = signal.reopens === 0 ? '' : ` · came back ${count(signal.reopens, 'time')}`;
  const where =
    signal.entity === null ? rich`No entity of the fleet is known for it` : slug(signal.entity);
  const from = signal.source === 'alertmanager' ? ' · from Alertmanager' : '';
  return [
    rich`${where} · ${signal.severity} · since ${clock(signal.raisedAt, view)}${back}${from} · ${slug(signal.shortId)}`,
    ...(signal.task !== null && signal.state !== 'acting'
      ? [rich`Its task: ${taskWords(signal)}`]
      : []),
  ];
}

function howTo({ state }: SignalState): Rich {
  const ways = [
    ...(state === 'raised' || state === 'muted' ? ['👀 I look at it'] : []),
    '🔕 mute for 1 h',
    '✅ it is dealt with',
    ...(state === 'acting' ? [] : ['🤖 open a task for it']),
  ];
  return rich`Tap ${ways.join(' · ')}`;
}

/** In the place of a signal's earlier card, once it was told anew. */
export function signalToldAgain(signal: SignalState): Card {
  return cardOf([
    para(
      rich`↪️ ${label(signal.title, 100)}: told again in a newer card (${slug(signal.shortId)}).`,
    ),
  ]);
}

/** One line of a list of signals. */
export function signalLine(signal: SignalState, view: View): Rich {
  const mark =
    signal.state === 'raised' ? SEVERITY_MARK[signal.severity] : STATE_MARK[signal.state];
  const until =
    signal.state === 'muted' && signal.mutedUntil !== null
      ? ` until ${clock(signal.mutedUntil, view)}`
      : '';
  const task = signal.task === null ? '' : rich` · ${taskWords(signal)}`;
  return rich`${mark} ${slug(signal.shortId)} ${label(signal.title, 60)}: ${label(signal.text, 80)} · ${signal.state}${until} · ${elapsed(signal.raisedAt, signal.resolvedAt, view)}${task}`;
}

/** So many came at once that they share a card (S2): it calls once, whatever their number. */
export function signalStormCard(
  storm: { first: readonly SignalState[]; open: number; total: number },
  view: View,
  callFor: readonly UserId[] = [],
): Card {
  const { first, open } = storm;
  const calls = open > 0 ? callFor : [];
  return fitting(
    [first.length, 5, 0].map(
      (most) => () =>
        cardOf(
          [
            para(
              strong(
                open === 0
                  ? storm.total === 0
                    ? rich`↪️ What came at once has cards of its own now`
                    : rich`✅ ${count(storm.total, 'more signal')} came at once; all are over`
                  : rich`🚨 ${count(storm.total, 'more signal')} came at once; ${open} still open`,
              ),
              storm.total === 0
                ? undefined
                : rich`They share this card. ${strong('!signals')} lists all, with their ids.`,
            ),
            list(first.slice(0, most).map((signal) => signalLine(signal, view))),
          ],
          calls.length > 0 ? { mentions: calls, msgtype: 'm.text' } : {},
        ),
    ),
  );
}
