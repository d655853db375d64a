import { describe, expect, it } from 'vitest';
import { affects } from './approval.ts';
import { examples } from './examples.ts';
import { knowledgeExamples } from './knowledge-examples.ts';
import { allowedTags } from './test-html.ts';
import { fits } from './card.ts';

describe('cards', () => {
  for (const { name, card } of [...examples(), ...knowledgeExamples()]) {
    it(`C3, C10: ${name}`, () => {
      expect(
        `${card.msgtype} → ${card.mentions.join(', ') || 'nobody'}\n\n${card.body}\n\n${breakTags(card.formatted_body)}`,
      ).toMatchSnapshot();
    });

    it(`C15, C17: ${name} uses only the tags that the smallest client shows, and fits`, () => {
      expect(allowedTags(card.formatted_body)).toEqual([]);
      expect(fits(card)).toBe(true);
      expect(card.body).not.toMatch(/<\/?[a-z]+>/);
      expect(card.body.split('\n')[0]?.trim()).not.toBe('');
    });
  }
});

function breakTags(html: string): string {
  return html.replace(/(<\/(?:p|ul|ol|pre|blockquote|li)>|<br>)/g, '$1\n').trimEnd();
}

describe('P8: what depends on a target stands on the card by distance', () => {
  const level = (count: number, ...names: string[]): { names: string[]; count: number } => ({
    names,
    count,
  });

  it.each([
    ['nothing', [], 'Nothing is known to depend on it.'],
    ['direct ones', [level(2, 'a', 'b')], 'Affects a and b.'],
    ['more than fit', [level(7, 'a', 'b', 'c', 'd', 'e')], 'Affects a, b, c, d and 3 more.'],
    [
      'two steps',
      [level(1, 'a'), level(3, 'x', 'y', 'z')],
      'Affects a; through them x, y and 1 more.',
    ],
    [
      'further ones',
      [level(1, 'a'), level(1, 'x'), level(4), level(2)],
      'Affects a; through them x; 6 further down.',
    ],
    [
      'ones whose names were not kept',
      [level(30, 'a'), level(9)],
      'Affects a and 29 more; through them 9.',
    ],
  ])('%s', (_what, blast, words) => {
    expect(affects(blast).text).toBe(words);
  });
});
