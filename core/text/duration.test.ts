import { expect, test } from 'vitest';
import fc from 'fast-check';
import { DurationError, formatDuration, parseDuration } from './duration.ts';

test.each([
  ['60m', 3_600_000],
  ['90s', 90_000],
  ['500ms', 500],
  ['1h30m', 5_400_000],
  ['1h 30m', 5_400_000],
  ['2d', 172_800_000],
  [' 15m ', 900_000],
  ['0s', 0],
])('%j is %d ms', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test.each([
  ['', 'empty'],
  ['60', 'unit is missing'],
  ['1.5h', 'another form'],
  ['-5m', 'another form'],
  ['5 minutes', 'another form'],
  ['60M', 'another form'],
  ['30m1h', 'not in order'],
  ['1h1h', 'not in order'],
  ['99999999999999999d', 'too long'],
])('%j is refused: %s', (text, reason) => {
  expect(() => parseDuration(text)).toThrow(DurationError);
  expect(() => parseDuration(text)).toThrow(reason);
});

test('a refusal says what was given and what is allowed', () => {
  expect(() => parseDuration('soon')).toThrow(/"soon".*60m/);
});

test.each([
  [0, '0 ms'],
  [850, '850 ms'],
  [12_000, '12 s'],
  [72_999, '1 m 12 s'],
  [60_000, '1 m'],
  [7_500_000, '2 h 5 m'],
  [3 * 86_400_000, '3 d'],
  [3 * 86_400_000 + 61_000, '3 d'],
  [90_000_000, '1 d 1 h'],
  [-5, '0 ms'],
])('%d ms is shown as %s', (ms, shown) => {
  expect(formatDuration(ms)).toBe(shown);
});

test('what is shown can be read again and is never more than it was', () => {
  fc.assert(
    fc.property(fc.nat(2_000_000_000), (ms) => {
      const again = parseDuration(formatDuration(ms).replace(/(\d) /g, '$1'));
      expect(again).toBeLessThanOrEqual(ms);
      expect(ms - again).toBeLessThan(Math.max(1000, ms / 24));
    }),
  );
});

test('a duration that is not finite is refused', () => {
  expect(() => formatDuration(Number.NaN)).toThrow(RangeError);
});
