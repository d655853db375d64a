import { describe, expect, it } from 'vitest';
import { examples } from './examples.ts';
import { allowedTags } from './test-html.ts';
import { fits } from './card.ts';

describe('cards', () => {
  for (const { name, card } of examples()) {
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
