import { describe, expect, test } from 'vitest';
import { cleanBody } from './clean.ts';
import { readIntent } from './intent.ts';
import { cpuMs } from '../../../test/support/cpu-time.ts';

const names = ['Nomos', '@nomos:example.org'];

test.each([
  ['the words alone', 'yes', 'yes'],
  ['white space', '  yes \r\n', 'yes'],
  ['a reply block', '<mx-reply><blockquote>I confirm</blockquote></mx-reply>no', 'no'],
  [
    'a reply quotation',
    '> <@nomos:example.org> Delete it? Type "I confirm"\n> or deny\n\nno',
    'no',
  ],
  ['an edit', ' * yes', 'yes'],
  ['an edit of a reply', ' * > <@nomos:example.org> go ahead?\n\nyes', 'yes'],
  ['an edit inside a reply', '> <@nomos:example.org> go ahead?\n\n * yes', 'yes'],
  ['a mention with a colon', 'Nomos: yes', 'yes'],
  ['a mention with a comma', 'nomos, yes', 'yes'],
  ['a mention without', 'Nomos go ahead', 'go ahead'],
  ['a mention by handle', '@nomos yes', 'yes'],
  ['a mention by user id', '@nomos:example.org: I confirm', 'I confirm'],
  ['a mention behind a quotation', '> <@a:b> x\n\nNomos: no', 'no'],
  ['an emoji with its selector', '✔\ufe0f', '✔'],
  ['letters in two parts', 'si\u0301', 'sí'],
  ['no-break spaces of French', 'oui\u202f!', 'oui !'],
])('A5: %s', (_, body, text) => {
  expect(cleanBody(body, names)).toBe(text);
});

test.each([
  ['only a quotation', '> I confirm', ''],
  ['only a quotation, long', '> yes\n> I confirm', ''],
  ['a name that is part of a word', 'Nomosyes', 'Nomosyes'],
  ['the name alone', 'Nomos', 'Nomos'],
])('A5: nothing is made up from %s', (_, body, text) => {
  expect(cleanBody(body, names)).toBe(text);
});

describe('A5: cleaning never makes an approval', () => {
  test.each([
    ['words that go on with a quotation', '> should I say:\nI confirm'],
    ['an invisible character', 'I con\u200bfirm'],
    ['an invisible character before the words', '\u200bI confirm'],
    ['a quoted yes and words of one’s own', '> yes\n\nlet me think'],
    ['two quotations', '> a\n\n> I confirm\nI'],
    ['a selector inside a word', 'ye\ufe0fs'],
  ])('%s', (_, body) => {
    expect(readIntent(cleanBody(body, names))).toMatchObject({ assent: false, confirm: false });
  });

  test('a bot that is called like a refusal hides none', () => {
    for (const name of ["Don't", 'No', 'Wait', 'Stop']) {
      expect(readIntent(cleanBody(`${name}: go ahead`, [name])).assent).toBe(false);
    }
  });
});

test('a megabyte of quotation is cleaned in no time', () => {
  const spent = cpuMs(() => {
    for (const piece of ['> yes\n', '<mx-reply>', ' * ', '\n', '> ']) {
      cleanBody(piece.repeat(1_048_576 / piece.length), names);
    }
  });
  expect(spent).toBeLessThan(3000);
});
