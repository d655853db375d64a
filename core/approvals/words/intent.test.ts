import { describe, expect, test } from 'vitest';
import { readIntent } from './intent.ts';

describe('T15: nothing but a decision', () => {
  test.each([
    'yes',
    'yes please',
    'go ahead, thanks',
    'I confirm',
    'I confirm lxc:old',
    'no',
    'no thanks',
    "don't do it",
    'not now please',
    'stop',
    '👍',
    '👎',
  ])('%j is nothing but a decision', (text) => {
    expect(readIntent(text).bare).toBe(true);
  });

  test.each([
    '',
    'hello',
    'thanks',
    'no, use apt instead of snap',
    'no because the backup still runs',
    'yes and check the disk',
    'stop nginx on web-1 at noon',
    'wait, why?',
    'no? really?',
    'restart nginx',
  ])('%j is more, or something else', (text) => {
    expect(readIntent(text).bare).toBe(false);
  });
});

describe('A6: what a confirmation is about', () => {
  test.each([
    ['I confirm', '', undefined],
    ['yes, I confirm, thanks', '', undefined],
    ['I confirm lxc:old', 'lxc:old', { names: ['lxc:old'], actions: [], nouns: [] }],
    ['I confirm 3F9A please', '3F9A', { names: ['3f9a'], actions: [], nouns: [] }],
    [
      'I confirm the deletion of lxc:old',
      'the deletion of lxc:old',
      { names: ['lxc:old'], actions: ['delete'], nouns: [] },
    ],
    [
      'I confirm destroy 135 in strong',
      'destroy 135 in strong',
      { names: ['135', 'strong'], actions: ['delete'], nouns: [] },
    ],
    [
      'I confirm wiping /dev/sdb',
      'wiping /dev/sdb',
      { names: ['/dev/sdb'], actions: ['delete'], nouns: [] },
    ],
    ['I confirm both', 'both', { names: [], actions: [], nouns: [], scope: 2 }],
    ['I confirm the container', 'the container', { names: [], actions: [], nouns: ['container'] }],
  ])('%j', (text, confirmRest, reference) => {
    const intent = readIntent(text);
    expect(intent).toMatchObject({ confirm: true, confirmRest });
    expect(intent.reference).toEqual(reference);
  });
});

describe('A5: what an approval names', () => {
  test.each([
    ['yes', undefined],
    ['go ahead with the plan', undefined],
    ['yes, restart nginx on web-1', { names: ['nginx', 'web-1'], actions: ['restart'], nouns: [] }],
    ['approve 3f9a', { names: ['3f9a'], actions: [], nouns: [] }],
    ['yes, all of them', { names: [], actions: [], nouns: [], scope: 'all' }],
    ['yes, both', { names: [], actions: [], nouns: [], scope: 2 }],
  ])('%j', (text, reference) => {
    const intent = readIntent(text);
    expect(intent.assent).toBe(true);
    expect(intent.reference).toEqual(reference);
  });
});

describe('A17: a denial begins with a negation', () => {
  test.each([
    'no',
    'No, use the other host',
    'please don’t',
    'hmm, not yet',
    'wait',
    'stop it',
    'no, why would you do that?',
    'thumbs down',
  ])('%j denies', (text) => {
    expect(readIntent(text)).toMatchObject({ denial: true, negation: true, assent: false });
  });

  test.each([
    'no problem, go ahead',
    'no worries',
    'not sure',
    "can't we use apt?",
    'wait, what does it do?',
    "isn't that dangerous?",
    'no?',
    'No. 2',
    "I haven't confirmed anything",
    'yes, no',
    'ok stop',
  ])('%j leaves the card waiting', (text) => {
    expect(readIntent(text)).toMatchObject({ denial: false, assent: false, confirm: false });
  });
});
