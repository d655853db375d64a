import { expect, test } from 'vitest';
import { isRowId, newId, newShortId } from './ids.ts';

test('ids are UUIDv7: they carry the time and sort by it', () => {
  const early = newId(Date.UTC(2026, 0, 1));
  const late = newId(Date.UTC(2026, 0, 2));
  expect(isRowId(early)).toBe(true);
  expect(early[14]).toBe('7');
  expect(early < late).toBe(true);
  expect(parseInt(early.replaceAll('-', '').slice(0, 12), 16)).toBe(Date.UTC(2026, 0, 1));
});

test('A6: a short id always has a digit, so that no word can be one', () => {
  for (let i = 0; i < 5_000; i++) expect(newShortId()).toMatch(/^(?=.*\d)[2-9a-hjkmnp-z]{5}$/);
});
