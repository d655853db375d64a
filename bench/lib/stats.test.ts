import { describe, expect, test } from 'vitest';
import { inTurn, quantile, ratio, summarise } from './stats.ts';

describe('the arithmetic of the benchmarks', () => {
  test('a quantile lies between its neighbours', () => {
    expect([0, 0.25, 0.5, 0.95, 1].map((share) => quantile([40, 10, 30, 20, 50], share))).toEqual([
      10, 20, 30, 48, 50,
    ]);
    expect(quantile([1, 2], 0.5)).toBe(1.5);
    expect(() => quantile([], 0.5)).toThrow(RangeError);
    expect(() => quantile([1], 2)).toThrow(RangeError);
  });

  test('a summary has median, 95th percentile and spread', () => {
    expect(summarise([10, 20, 30, 40, 50])).toEqual({
      ...{ n: 5, median: 30, p95: 48, min: 10, max: 50 },
      spread: 20 / 30,
    });
  });

  test('a ratio is that of the medians, with the quartiles of the neighbours', () => {
    expect(ratio([1, 2, 9], [2, 4, 6])).toEqual({ value: 0.5, low: 0.5, high: 1 });
    expect(() => ratio([1], [1, 2])).toThrow(RangeError);
  });

  test('sides are measured in turn, another one first each time, and warm-ups do not count', async () => {
    const order: string[] = [];
    const side = (name: string) => (): number => order.push(name);
    const found = await inTurn({ a: side('a'), b: side('b') }, { rounds: 2, warmUps: 1 });
    expect(order.join('')).toBe('abbaab');
    expect(found).toEqual({ a: [4, 5], b: [3, 6] });
  });
});
