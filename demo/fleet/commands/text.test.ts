import { describe, expect, it } from 'vitest';
import { columns, human, options, span } from './text.ts';

describe('the words of command line programs', () => {
  it.each([
    [0, '0'],
    [1023, '1023'],
    [1024, '1.0K'],
    [1024 * 9.95, '10K'],
    [1.41 * 1024 ** 3, '1.5G'],
    [2048 * 1024 ** 3, '2.0T'],
  ])('%d bytes are %s', (bytes, text) => {
    expect(human(bytes)).toBe(text);
  });

  it.each([
    [5, '5s'],
    [65, '1min 5s'],
    [7200, '2h'],
    [3 * 3600 + 660, '3h 11min'],
    [86_400, '1 day'],
    [8 * 86_400, '1 week 1 day'],
  ])('%d seconds are %s', (seconds, text) => {
    expect(span(seconds)).toBe(text);
  });

  it('columns are as wide as their widest cell', () => {
    expect(
      columns(
        [
          ['a', 'b', 'c'],
          ['long', '1', 'x'],
        ],
        [1],
      ),
    ).toBe('a    b c\nlong 1 x\n');
  });

  it('options are found in bundles, with values attached or following, up to --', () => {
    const { has, value, rest } = options(
      ['-hT', '-n5', '--max', '3', '--type=zfs', 'x', '--', '-y'],
      ['-n', '--max'],
    );
    expect([has('-h'), has('-T'), has('-y'), has('-q', '-h')]).toEqual([true, true, false, true]);
    expect([value('-n'), value('--max'), value('--type'), value('--none')]).toEqual([
      '5',
      '3',
      'zfs',
      undefined,
    ]);
    expect(rest).toEqual(['x', '-y']);
  });
});
