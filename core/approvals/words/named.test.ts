import { expect, it } from 'vitest';
import { namedIn } from './named.ts';

it.each([
  ['yes', undefined],
  ['yes please, all of them', undefined],
  ['no, not yet', undefined],
  ['I confirm', undefined],
  ['stop nginx', { names: ['nginx'], actions: [], nouns: [] }],
  ['cancel the backup of web-1', { names: ['web-1'], actions: ['backup'], nouns: [] }],
  ['apply the updates', { names: [], actions: ['upgrade'], nouns: [] }],
  ['I confirm k7f3q', { names: ['k7f3q'], actions: [], nouns: [] }],
])('“%s”', (text, named) => {
  expect(namedIn(text)).toEqual(named);
});

it('reads the languages that are switched on', () => {
  expect(namedIn('neustart', ['de'])).toEqual({ names: [], actions: ['restart'], nouns: [] });
  expect(namedIn('neustart')).toBeUndefined();
  expect(namedIn('ja bitte', ['de'])).toBeUndefined();
});
