import { expect, test } from 'vitest';
import { fromText, toText } from './rows.ts';

test('a key or value of the store comes back as it was', () => {
  const value = {
    text: 'a\u0000b\u001dc',
    count: 3,
    list: [true, null, ['x', 'y']],
    absent: undefined,
  };
  expect(fromText(toText(value))).toEqual({ ...value, absent: undefined });
  expect(fromText(toText(['@a:b', 'DEVICE']))).toEqual(['@a:b', 'DEVICE']);
});

test.each([new Uint8Array(3), new Map(), new Date(0), 3n, Number.NaN, { deep: [new Set()] }])(
  'what JSON would change is refused: %o',
  (value) => {
    expect(() => toText(value)).toThrow(/cannot be kept/);
  },
);
