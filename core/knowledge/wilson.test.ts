import { expect, test } from 'vitest';
import { wilsonLowerBound } from './wilson.ts';

test.each([
  [0, 0, 0],
  [0, 5, 0],
  [1, 1, 0.2065],
  [3, 3, 0.4385],
  [9, 10, 0.5958],
  [10, 10, 0.7225],
  [50, 100, 0.4038],
  [81, 263, 0.2553],
])('K11: of %i successes in %i tries the Wilson lower bound is %f', (successes, tries, bound) => {
  expect(wilsonLowerBound(successes, tries)).toBeCloseTo(bound, 4);
});

test.each([
  [2, 1],
  [-1, 3],
  [1.5, 3],
  [Number.NaN, 3],
])('K11: %f successes in %f tries cannot be', (successes, tries) => {
  expect(() => wilsonLowerBound(successes, tries)).toThrow(RangeError);
});
