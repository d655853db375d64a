import { expect, test } from 'vitest';
import { ExecutionStatus } from '../db/rows.ts';
import { FINAL_STATUSES, isFinal, TRANSITIONS } from './states.ts';

const WORDS = [
  'pending_approval',
  'approved',
  'queued',
  'running',
  'completed',
  'failed',
  'denied',
  'revoked',
  'expired',
  'cancelled',
  'unknown',
];

test('X8: the status words are these, in the database and in the table of moves; `requested` is only where a row begins', () => {
  expect(Object.keys(ExecutionStatus).toSorted()).toEqual(['requested', ...WORDS].toSorted());
  expect(Object.keys(TRANSITIONS).toSorted()).toEqual(['requested', ...WORDS].toSorted());
  expect(Object.values(TRANSITIONS).flat()).not.toContain('requested');
});

test('X8, R6: every status leads to an end, and nothing leads out of one', () => {
  expect(FINAL_STATUSES.toSorted()).toEqual(
    ['completed', 'failed', 'denied', 'revoked', 'expired', 'cancelled', 'unknown'].toSorted(),
  );
  for (const status of WORDS as Array<keyof typeof TRANSITIONS>) {
    const reached = new Set([status]);
    for (const one of reached) for (const next of TRANSITIONS[one]) reached.add(next);
    expect([...reached].some(isFinal), status).toBe(true);
  }
});

test('X8, R1: nothing runs that was not queued, and nothing is queued past a denial', () => {
  const before = (status: string): string[] =>
    Object.entries(TRANSITIONS)
      .filter(([, next]) => (next as readonly string[]).includes(status))
      .map(([from]) => from);
  expect(before('running')).toEqual(['queued']);
  expect(before('queued')).toEqual(['requested', 'approved']);
  expect(before('approved')).toEqual(['pending_approval']);
});
