import { describe, expect, it } from 'vitest';
import { createMasker } from '../executions/masking/masker.ts';
import { maskDeep } from './mask-deep.ts';

const { mask } = createMasker(['the-known-secret']);

describe('what the API shows', () => {
  it('X9: masks texts at any depth, and whole values whose field names a secret', () => {
    expect(
      maskDeep(
        {
          list: ['the-known-secret', { deep: 'x the-known-secret y' }],
          json: '{"password":"hunter2-and-more"}',
          apiKey: 'any words at all',
          db_password: '${DB_PASSWORD}',
          sort_key: 'name',
          pw: 'short',
        },
        mask,
      ),
    ).toEqual({
      list: ['[masked]', { deep: 'x [masked] y' }],
      json: '{"password":"[masked]"}',
      apiKey: '[masked]',
      db_password: '${DB_PASSWORD}',
      sort_key: 'name',
      pw: 'short',
    });
  });

  it('leaves ids, states, times and numbers as they are', () => {
    const id = '01a22801-302f-7450-96bf-43a149f70782';
    expect(
      maskDeep(
        {
          id,
          next: `1764000000123_${id}`,
          at: new Date(0),
          n: 5n,
          none: null,
          yes: true,
          status: 'awaiting_input',
        },
        mask,
      ),
    ).toEqual({
      id,
      next: `1764000000123_${id}`,
      at: '1970-01-01T00:00:00.000Z',
      n: 5,
      none: null,
      yes: true,
      status: 'awaiting_input',
    });
  });

  it('refuses a number that JSON would change without a word', () => {
    expect(() => maskDeep({ n: 2n ** 60n }, mask)).toThrow(TypeError);
  });
});
