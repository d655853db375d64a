import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { byteLength, headAndTail, headBytes, lastLines, tailBytes } from './clip.ts';
import { cpuMs } from '../../test/support/cpu-time.ts';

const anyText = fc.string({ unit: fc.constantFrom('a', 'é', '漢', '👍', '\n', '👩‍💻') });

describe('headBytes and tailBytes', () => {
  test.each([
    ['a漢b', 1, 'a', 'b'],
    ['a漢b', 2, 'a', 'b'],
    ['a漢b', 4, 'a漢', '漢b'],
    ['👍', 3, '', ''],
    ['👍', 4, '👍', '👍'],
    ['abc', 0, '', ''],
    ['', 5, '', ''],
  ])('%j in %d bytes', (text, max, head, tail) => {
    expect(headBytes(text, max)).toBe(head);
    expect(tailBytes(text, max)).toBe(tail);
  });

  test('X4: no code point is split and nothing that fits is lost', () => {
    fc.assert(
      fc.property(anyText, fc.nat(60), (text, max) => {
        const points = [...text];
        const fits = (count: number) => byteLength(points.slice(0, count).join('')) <= max;
        const count = points.findLastIndex((_, index) => fits(index + 1)) + 1;
        expect(headBytes(text, max)).toBe(points.slice(0, count).join(''));
        const tail = tailBytes(text, max);
        expect(text.endsWith(tail)).toBe(true);
        expect(tail).not.toContain('\ufffd');
        expect(byteLength(tail)).toBeGreaterThan(Math.min(max, byteLength(text)) - 4);
      }),
    );
  });

  test.each([-1, 1.5, Number.NaN])('a limit of %d is refused', (max) => {
    expect(() => headBytes('a', max)).toThrow(RangeError);
    expect(() => tailBytes('a', max)).toThrow(RangeError);
  });
});

describe('headAndTail', () => {
  test('X4: a short text stays whole', () => {
    expect(headAndTail('all of it', 4096)).toEqual({ text: 'all of it', droppedBytes: 0 });
  });

  test('X4: the model gets beginning and end in 4 KiB and is told what is missing', () => {
    const text = `first\n${'x'.repeat(10_000)}\nlast`;
    const clipped = headAndTail(text, 4096);
    expect(clipped.text.startsWith('first\nx')).toBe(true);
    expect(clipped.text.endsWith('x\nlast')).toBe(true);
    expect(clipped.text).toContain(`\n… ${clipped.droppedBytes} bytes left out …\n`);
    expect(byteLength(clipped.text)).toBeLessThanOrEqual(4096);
    expect(byteLength(clipped.text)).toBeGreaterThan(4080);
  });

  test('X4: sizes add up for any text and any limit', () => {
    fc.assert(
      fc.property(anyText, fc.nat(200), (text, max) => {
        const { text: shown, droppedBytes } = headAndTail(text, max);
        expect(byteLength(shown)).toBeLessThanOrEqual(max);
        const marker = `\n… ${droppedBytes} bytes left out …\n`;
        const kept = byteLength(shown) - (shown.includes(marker) ? byteLength(marker) : 0);
        expect(kept + droppedBytes).toBe(byteLength(text));
      }),
    );
  });

  test('R13: 64 MiB are clipped without being copied piece by piece', () => {
    const text = 'line of output\n'.repeat(4_500_000);
    const spent = cpuMs(() => {
      expect(headAndTail(text, 4096).droppedBytes).toBeGreaterThan(60 * 1024 * 1024);
    });
    expect(spent).toBeLessThan(2000);
  });
});

describe('lastLines', () => {
  test.each([
    ['a\nb\nc\n', 2, 100, 'b\nc', 2],
    ['a\nb\nc', 3, 100, 'a\nb\nc', 0],
    ['\nabc', 5, 100, '\nabc', 0],
    ['a\n\n\n', 2, 100, '\n', 2],
    ['one\ntwo\nthree', 12, 9, 'two\nthree', 4],
    ['one\ntwo\nthree', 12, 8, 'three', 8],
    ['0123456789', 12, 7, '…6789', 6],
    ['', 12, 100, '', 0],
    ['\n', 12, 100, '', 0],
    ['abc', 0, 100, '', 3],
    ['abc', 12, 0, '', 3],
  ])('C11: %j in %d lines and %d bytes', (text, lines, bytes, shown, dropped) => {
    expect(lastLines(text, lines, bytes)).toEqual({ text: shown, droppedBytes: dropped });
  });

  test('C11: both limits hold for any text, and what is shown is its end', () => {
    fc.assert(
      fc.property(anyText, fc.nat(6), fc.nat(30), (text, lines, bytes) => {
        const { text: shown } = lastLines(text, lines, bytes);
        expect(byteLength(shown)).toBeLessThanOrEqual(bytes);
        expect(shown === '' ? 0 : shown.split('\n').length).toBeLessThanOrEqual(lines);
        const body = text.endsWith('\n') ? text.slice(0, -1) : text;
        expect(body.endsWith(shown.replace(/^…/, ''))).toBe(true);
      }),
    );
  });

  test.each([-1, 0.5])('a limit of %d lines is refused', (lines) => {
    expect(() => lastLines('a', lines, 10)).toThrow(/maxLines/);
  });
});
