import { expect, test } from 'vitest';
import { statementNames } from './statement-names.ts';

test('B2: a text that is asked for again and again gets one name, another text another', () => {
  const nameOf = statementNames();
  const named = (sql: string): string[] => [1, 2, 3, 4].map(() => nameOf({ sql }));
  const [first, second, third, fourth] = named('SELECT 1');
  expect([first, second]).toEqual(['', '']);
  expect(third).toMatch(/^\w+$/);
  expect(fourth).toBe(third);
  expect(named('SELECT 2').at(-1)).not.toBe(third);
});

test('R13: texts without end leave the named ones as they are, and are not all kept', () => {
  const nameOf = statementNames();
  const hot = (): string => nameOf({ sql: 'SELECT hot' });
  hot();
  hot();
  const name = hot();
  const names = new Set<string>();
  for (let i = 0; i < 5_000; i++)
    for (let j = 0; j < 3; j++) names.add(nameOf({ sql: `SELECT ${i}` }));
  expect(hot()).toBe(name);
  expect(names.size).toBeLessThan(400);
  // One that comes back after more others than are counted begins anew.
  const fresh = statementNames();
  fresh({ sql: 'rare' });
  fresh({ sql: 'rare' });
  for (let i = 0; i < 2_000; i++) fresh({ sql: `once ${i}` });
  expect(fresh({ sql: 'rare' })).toBe('');
});
