import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { shellWord } from './shell-word.ts';

const HOSTILE = [
  "it's",
  '$(id)',
  '`id`',
  '; id',
  'a\nb',
  '-rf',
  '"',
  '\\',
  "'\\''",
  '*',
  '',
  '!x',
  '${HOME}',
];

test('Z3: a shell gives back every word as it was', () => {
  const words = [
    ...HOSTILE,
    ...fc.sample(fc.string({ unit: 'grapheme' }), { numRuns: 200, seed: 7 }),
  ].map((word) => word.replaceAll('\0', ''));
  const script = `printf '%s\\0' ${words.map(shellWord).join(' ')}`;
  const said = execFileSync('/bin/sh', ['-c', script], { encoding: 'utf8' });
  expect(said.split('\0').slice(0, -1)).toEqual(words);
});

test('Z3: a NUL is refused', () => {
  expect(() => shellWord('a\0b')).toThrow(RangeError);
});
