import { expect, test } from 'vitest';
import { terminalText } from './terminal.ts';
import { cpuMs } from '../../test/support/cpu-time.ts';

test.each([
  ['plain\ntext', 'plain\ntext'],
  ['\u001b[1;31mred\u001b[0m', 'red'],
  ['\u001b]0;title\u0007text', 'text'],
  ['\u001b]8;;http://x\u001b\\link\u001b]8;;\u001b\\', 'link'],
  ['a\r\nb\r\r\n', 'a\nb\n'],
  ['10 %\r50 %\r100 %\ndone', '100 %\ndone'],
  ['50 %\r', '50 %'],
  ['\u001b(Bx\u001b=y', 'xy'],
])('C11: %j is shown as %j', (text, shown) => {
  expect(terminalText(text)).toBe(shown);
});

test('C11: a megabyte of broken escapes takes linear time', () => {
  const spent = cpuMs(() => {
    for (const piece of ['\u001b]', '\u001b[0;', '\u001b', '\r', '\u001b]x']) {
      terminalText(piece.repeat(1_000_000 / piece.length));
    }
  });
  expect(spent).toBeLessThan(2000);
});
