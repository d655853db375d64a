import { expect, test } from 'vitest';
import fc from 'fast-check';
import { visible } from './visible.ts';

test.each([
  ['a\u200bb', 'a‹U+200B›b'],
  ['rm -rf /\u202etxt.', 'rm -rf /‹U+202E›txt.'],
  ['a\u2066b\u2069', 'a‹U+2066›b‹U+2069›'],
  ['a\u0000b', 'a‹U+0000›b'],
  ['a\u001b[31mb', 'a‹U+001B›[31mb'],
  ['a\rb', 'a‹U+000D›b'],
  ['a\u00adb', 'a‹U+00AD›b'],
  ['\ufeffa', '‹U+FEFF›a'],
  ['a\u{e0061}b', 'a‹U+E0061›b'],
  ['a\ud800b', 'a‹U+D800›b'],
  ['a\u3164b', 'a‹U+3164›b'],
  ['a\u2028b', 'a‹U+2028›b'],
  ['a\u2800b', 'a‹U+2800›b'],
  ['rm\u00a0-rf', 'rm‹U+00A0›-rf'],
  ['x\ufe0fy', 'x‹U+FE0F›y'],
  ['7\ufe0fy', '7‹U+FE0F›y'],
  ['a\u200db', 'a‹U+200D›b'],
  ['✔\ufe0f\ufe0f', '✔\ufe0f‹U+FE0F›'],
])('C15: %j is shown as %s', (text, shown) => {
  expect(visible(text)).toBe(shown);
});

test.each([
  'plain text\n\twith a tab',
  'Grüße, señor, ça va',
  '漢字かな',
  '✔️ 1️⃣ 🔟 👍🏽 👩‍💻 ❤️',
  '‹U+200B›',
])('C15: %j is left as it is', (text) => {
  expect(visible(text)).toBe(text);
});

test('C15: in prose the no-break spaces of French become plain spaces', () => {
  expect(visible('Vraiment\u202f! 5\u00a0Go', { spaces: 'plain' })).toBe('Vraiment ! 5 Go');
});

test('C15: whatever comes in, no control or direction-changing character goes out', () => {
  const nasty = fc.constantFrom(
    '\u200b',
    '\u202e',
    '\u2067',
    '\u0000',
    '\u001b',
    '\ufeff',
    '\u200d',
    '\ufe0f',
    '👍',
    '1',
    'a',
    '\ud83d',
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(nasty, fc.string({ unit: 'binary' }))), (parts) => {
      const shown = visible(parts.join(''));
      expect(shown).not.toMatch(
        /(?![\n\t])[\p{Cc}\p{Cs}\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/u,
      );
      expect(visible(shown)).toBe(shown);
    }),
  );
});
