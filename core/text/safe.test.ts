import { expect, test } from 'vitest';
import fc from 'fast-check';
import { createTextStream, safeJson, safeText } from './safe.ts';

const storable = (text: string): boolean => text.isWellFormed() && !text.includes('\0');

test.each([
  [Uint8Array.of(0x61, 0x00, 0x62), 'a␀b'],
  [Uint8Array.of(0xff, 0xfe), '\ufffd\ufffd'],
  [Uint8Array.of(0xef, 0xbb, 0xbf, 0x61), '\ufeffa'],
  [Uint8Array.of(0xed, 0xa0, 0x80), '\ufffd\ufffd\ufffd'],
  ['a\ud800b\0', 'a\ufffdb␀'],
  ['Grüße 👍', 'Grüße 👍'],
])('X4: %j becomes %j', (input, text) => {
  expect(safeText(input)).toBe(text);
});

test('X4: any bytes at all can be stored', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      expect(storable(safeText(bytes))).toBe(true);
    }),
  );
});

test('X4: a stream yields the same text however it is cut', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), fc.array(fc.nat(60)), (bytes, cuts) => {
      const stream = createTextStream();
      const places = [
        ...cuts.filter((cut) => cut < bytes.length).toSorted((a, b) => a - b),
        bytes.length,
      ];
      let from = 0;
      let text = '';
      for (const to of places) {
        text += stream.write(bytes.subarray(from, to));
        from = to;
      }
      expect(text + stream.end()).toBe(safeText(bytes));
    }),
  );
});

test('X4: a character split over two chunks arrives whole', () => {
  const stream = createTextStream();
  expect(stream.write(Uint8Array.of(0xf0, 0x9f))).toBe('');
  expect(stream.write(Uint8Array.of(0x91, 0x8d))).toBe('👍');
  expect(stream.end()).toBe('');
});

test('X4: any value becomes JSON that Postgres takes, keys included', () => {
  fc.assert(
    fc.property(fc.anything({ withBigInt: true }), (value) => {
      const text = JSON.stringify(safeJson(value));
      expect(text).not.toMatch(/\\u0000|\\ud[89a-f]/i);
    }),
  );
});

test.each([
  [{ 'a\0': ['b\0', { '\ud800': 1 }] }, { 'a␀': ['b␀', { '\ufffd': 1 }] }],
  [undefined, null],
  [{ a: undefined, b: Number.NaN }, { b: null }],
  [new Date(0), '1970-01-01T00:00:00.000Z'],
])('X4: %j is stored as %j', (value, json) => {
  expect(safeJson(value)).toEqual(json);
});

test('X4: a bigint is stored as its digits', () => {
  expect(safeJson({ count: 10n })).toEqual({ count: '10' });
});
