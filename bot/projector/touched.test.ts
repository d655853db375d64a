import { expect, it } from 'vitest';
import type { LoggedEvent } from '../../core/events/types.ts';
import { touchedByAll } from './touched.ts';

const SESSION = '01900000-0000-7000-8000-000000000001';

function event(id: number, type: string, refId: string | null): LoggedEvent {
  return {
    id: BigInt(id),
    type,
    sessionId: SESSION,
    refId,
    data: {},
    at: new Date(0),
  } as unknown as LoggedEvent;
}

it('R12: an event of a kind that only a newer version knows draws nothing and stops nothing', () => {
  const touched = touchedByAll([
    event(1, 'weather.changed', 'cloud'),
    event(2, 'execution.changed', 'execution-1'),
  ]);
  expect(touched).toEqual([
    { kind: 'execution', executionId: 'execution-1' },
    { kind: 'task', sessionId: SESSION },
  ]);
});

it('C1: in a batch a task’s card comes once, after the cards that it points to', () => {
  const touched = touchedByAll([
    event(1, 'execution.changed', 'execution-1'),
    event(2, 'approval.requested', 'approval-1'),
    event(3, 'execution.changed', 'execution-1'),
  ]);
  expect(touched.map(({ kind }) => kind)).toEqual(['execution', 'approval', 'task']);
});
