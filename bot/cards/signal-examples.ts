import { ANN, at, EXAMPLE_ROOM, EXAMPLE_VIEW as view } from './example-state.ts';
import type { Example } from './examples.ts';
import { signalCard, signalStormCard, signalToldAgain, type SignalState } from './signal.ts';

/** A signal that was just raised, with what the example changes. */
export function exampleSignal(changes: Partial<SignalState> = {}): SignalState {
  return {
    shortId: 'd4k9w',
    title: 'disk on host:nas-1',
    text: '/srv/backup 96 % full, 82 GiB free',
    severity: 'warning',
    state: 'raised',
    source: 'check',
    entity: 'host:nas-1',
    blast: [
      { names: ['storage:tank@nas-1', 'service:backup@nas-1'], count: 2 },
      { names: ['volume:tank-backup'], count: 1 },
    ],
    labels: {},
    url: null,
    raisedAt: at('14:52:00'),
    reopens: 0,
    changedBy: 'system',
    changedAt: at('14:52:00'),
    mutedUntil: null,
    resolvedAt: null,
    task: null,
    ...changes,
  };
}

/** A signal's cards in their telling states. */
export function signalExamples(): Example[] {
  const moved = { changedBy: ANN, changedAt: at('15:01:00') };
  const task = { shortId: 'k7f3q', roomId: EXAMPLE_ROOM };
  return [
    { name: 'Signal', card: signalCard(exampleSignal(), view, [ANN]) },
    {
      name: 'Signal: acknowledged',
      card: signalCard(exampleSignal({ state: 'acknowledged', reopens: 2, ...moved }), view, [ANN]),
    },
    {
      name: 'Signal: muted',
      card: signalCard(
        exampleSignal({ state: 'muted', mutedUntil: at('16:01:00'), ...moved }),
        view,
        [ANN],
      ),
    },
    {
      name: 'Signal: a task is at work on it',
      card: signalCard(exampleSignal({ state: 'acting', task, ...moved }), view, [ANN]),
    },
    {
      name: 'Signal: its task has ended',
      card: signalCard(
        exampleSignal({ state: 'acknowledged', task, ...moved, changedBy: 'task' }),
        view,
        [ANN],
      ),
    },
    {
      name: 'Signal: over by itself',
      card: signalCard(
        exampleSignal({
          state: 'resolved',
          task,
          changedAt: at('15:03:00'),
          resolvedAt: at('15:03:00'),
        }),
        view,
        [ANN],
      ),
    },
    {
      name: 'Signal: from Alertmanager, of an unknown entity',
      card: signalCard(
        exampleSignal({
          title: 'HighErrorRate',
          text: '12 % of requests fail',
          severity: 'critical',
          source: 'alertmanager',
          entity: null,
          blast: [],
          labels: { alertname: 'HighErrorRate', job: 'shop', severity: 'critical' },
        }),
        view,
        [ANN],
      ),
    },
    { name: 'Signal: told again', card: signalToldAgain(exampleSignal()) },
    {
      name: 'Signals that came at once',
      card: signalStormCard(
        {
          first: [exampleSignal(), exampleSignal({ shortId: 'm2x7c', title: 'unit on host:db-1' })],
          open: 2,
          total: 31,
        },
        view,
        [ANN],
      ),
    },
    {
      name: 'Signals that came at once: over',
      card: signalStormCard({ first: [], open: 0, total: 31 }, view, [ANN]),
    },
  ];
}
