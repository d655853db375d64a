import type { LoggedEvent } from '../../core/events/types.ts';

/** One thing that is to be drawn again. `key` is unique per thing, so that a batch of events draws it once. */
export type Touched =
  | { kind: 'room'; sessionId: string }
  | { kind: 'turn'; turnId: string }
  | { kind: 'task'; sessionId: string }
  | { kind: 'execution'; executionId: string }
  | { kind: 'approval'; approvalId: string; asked?: true }
  | { kind: 'question'; questionId: string }
  | { kind: 'progress'; passId: string }
  | { kind: 'answer'; passId: string }
  | { kind: 'digest'; sessionId: string; event: LoggedEvent }
  | { kind: 'error'; event: LoggedEvent }
  | { kind: 'hint'; event: LoggedEvent }
  | { kind: 'reminder'; event: LoggedEvent }
  | { kind: 'taken_in'; messageId: string }
  | { kind: 'message'; messageId: string }
  | { kind: 'resumed'; sessionId: string; event: LoggedEvent }
  | { kind: 'runbook'; runbookId: string }
  | { kind: 'signal'; signalId: string }
  | { kind: 'signals_of'; sessionId: string }
  | { kind: 'switch'; event: LoggedEvent }
  | { kind: 'settled'; event: LoggedEvent };

/** What an event is a reason to draw again, in the order in which it should appear in the room. */
export function touchedBy(event: LoggedEvent): Touched[] {
  const { refId, sessionId } = event;
  const task: Touched[] = sessionId === null ? [] : [{ kind: 'task', sessionId }];
  if (event.type === 'error.raised') return [{ kind: 'error', event }, ...task];
  if (event.type === 'error.settled') return [{ kind: 'settled', event }];
  if (event.type === 'settings.changed') return [{ kind: 'switch', event }];
  if (refId === null) return task;
  switch (event.type) {
    case 'session.created':
      return [{ kind: 'room', sessionId: refId }];
    case 'session.changed':
      return event.data['what'] === 'resumed'
        ? [{ kind: 'resumed', sessionId: refId, event }, ...task]
        : event.data['what'] === 'room'
          ? [...task, { kind: 'signals_of', sessionId: refId }]
          : task;
    case 'session.ended':
      return [...task, { kind: 'digest', sessionId: refId, event }];
    case 'turn.created':
      return [{ kind: 'turn', turnId: refId }, ...task];
    case 'message.taken_in':
      return [{ kind: 'taken_in', messageId: refId }];
    case 'pass.answering':
      return [{ kind: 'answer', passId: refId }];
    case 'pass.stop_requested':
    case 'pass.started':
      return [{ kind: 'progress', passId: refId }, ...task];
    case 'pass.ended':
      return [{ kind: 'progress', passId: refId }, { kind: 'answer', passId: refId }, ...task];
    case 'tool.started':
    case 'tool.ended':
      return typeof event.data['passId'] === 'string'
        ? [{ kind: 'progress', passId: event.data['passId'] }]
        : [];
    case 'question.asked':
    case 'question.answered':
    case 'question.cancelled':
      return [{ kind: 'question', questionId: refId }, ...task];
    case 'execution.output':
    case 'execution.cancel_requested':
      return [{ kind: 'execution', executionId: refId }];
    case 'execution.changed':
      return [{ kind: 'execution', executionId: refId }, ...task];
    case 'approval.requested':
      return [{ kind: 'approval', approvalId: refId, asked: true }, ...task];
    case 'approval.voted':
    case 'approval.decided':
      return [{ kind: 'approval', approvalId: refId }, ...task];
    case 'approval.hint':
      return [{ kind: 'hint', event }];
    case 'approval.reminder':
      return [{ kind: 'reminder', event }];
    case 'message.received':
      return [{ kind: 'message', messageId: refId }, ...task];
    case 'pass.queued':
    case 'plan.changed':
      return task;
    case 'signal.changed':
      return [{ kind: 'signal', signalId: refId }];
    case 'check.changed':
    case 'grant.opened':
    case 'grant.closed':
    case 'graph.changed':
    case 'knowledge.changed':
    case 'token.revoked':
      return [];
    case 'runbook.changed':
      return [{ kind: 'runbook', runbookId: refId }];
    default:
      event.type satisfies never;
      // A worker of a newer version may write kinds that this one does not know yet.
      return [];
  }
}

/** What a batch of events touches, each thing once, in order of its last mention: a task's card after what it points to. */
export function touchedByAll(events: readonly LoggedEvent[]): Touched[] {
  const all = new Map<string, Touched>();
  for (const event of events) {
    for (const touched of touchedBy(event)) {
      const key = keyOf(touched);
      // A task card links to other cards, so it comes after them; everything else keeps its first place.
      if (touched.kind === 'task') all.delete(key);
      if (!all.has(key)) all.set(key, touched);
    }
  }
  return [...all.values()];
}

/** What is the same for the same thing. */
export function keyOf(touched: Touched): string {
  return Object.values(touched)
    .map((value) => (typeof value === 'object' ? String(value.id) : value))
    .join(' ');
}
