import { expect, test } from 'vitest';
import fc from 'fast-check';
import { cutLabel } from './label.ts';

test.each([
  ['short', 60, 'short'],
  ['  two\n  lines\t here ', 60, 'two lines here'],
  ['restart the web server on host nine', 20, 'restart the web…'],
  ['restart the web server', 12, 'restart the…'],
  ['abcdefghijklmnopqrstuvwxyz', 10, 'abcdefghi…'],
  ['👍🏽👍🏽👍🏽', 2, '👍🏽…'],
  ['ab', 1, '…'],
  ['', 60, ''],
])('C3: %j in %d characters', (text, max, label) => {
  expect(cutLabel(text, max)).toBe(label);
});

test('C3: a label has 60 characters at most and stands on one line', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (text) => {
      const label = cutLabel(text);
      const counted = [...new Intl.Segmenter('en').segment(label)].length;
      expect(counted).toBeLessThanOrEqual(60);
      expect(label).not.toMatch(/[\n\r\t]/);
    }),
  );
});

test('C3: a limit below one is refused', () => {
  expect(() => cutLabel('a', 0)).toThrow(/maxCharacters/);
});
