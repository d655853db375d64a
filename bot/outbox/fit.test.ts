import { describe, expect, test } from 'vitest';
import { asId } from '../../core/ids.ts';
import type { MatrixEventId } from '../../core/ids.ts';
import { MAX_CONTENT_BYTES, fitMessage } from './fit.ts';
import { type MessageContent, editEvent, messageEvent } from './relations.ts';

const tags = { txn: 't' };
const root = asId<MatrixEventId>('$e');
const asEdit = (message: MessageContent) => editEvent(message, tags, root);
const asNew = (message: MessageContent) => messageEvent(message, tags);
const bytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

describe('fitMessage', () => {
  test('C15: a message that fits is left as it is', () => {
    const message: MessageContent = {
      msgtype: 'm.text',
      body: 'x'.repeat(10_000),
      formatted_body: '<p>x</p>',
      mentions: ['@a:b'],
    };
    expect(fitMessage(message, asNew)).toEqual(asNew(message));
  });

  test('C15: an edit counts its text twice, and loses its formatting before its words', () => {
    const body = 'x'.repeat(20_000);
    const message: MessageContent = { msgtype: 'm.text', body, formatted_body: body, mentions: [] };
    expect(fitMessage(message, asNew)).toHaveProperty('formatted_body', body);
    const edit = fitMessage(message, asEdit);
    expect(bytes(edit)).toBeLessThanOrEqual(MAX_CONTENT_BYTES);
    expect(edit['m.new_content']).toMatchObject({ body });
    expect(edit['m.new_content']).not.toHaveProperty('formatted_body');
  });

  test.each([
    ['plain', 'a'],
    ['emoji, whole code points only', '😀'],
    ['control characters, six bytes each in JSON', '\u0001'],
    ['quotes', '"'],
  ])('C15: 500 kB of %s are cut with a note', (_name, unit) => {
    const body = unit.repeat(Math.ceil(500_000 / Buffer.byteLength(unit)));
    for (const build of [asNew, asEdit]) {
      const event = fitMessage({ msgtype: 'm.text', body, mentions: [] }, build);
      expect(bytes(event)).toBeLessThanOrEqual(MAX_CONTENT_BYTES);
      expect(bytes(event)).toBeGreaterThan(MAX_CONTENT_BYTES * 0.5);
      expect(event['body']).toContain('[shortened');
      expect((event['body'] as string).isWellFormed()).toBe(true);
    }
  });
});
