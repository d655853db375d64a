import { expect, test } from 'vitest';
import { z } from 'zod';
import { mend } from './mend.ts';
import { defineTool } from './tool.ts';
import { ToolRegistry } from './registry.ts';

const input = z.strictObject({
  name: z.string().min(1),
  count: z.int().min(1).max(9).optional(),
  start: z.boolean().optional(),
  level: z.enum(['low_risk', 'high']).optional(),
  tags: z.array(z.string()).optional(),
  where: z.strictObject({ port: z.int() }).optional(),
  at: z.union([z.string(), z.array(z.string())]).optional(),
  steps: z.array(z.union([z.strictObject({ title: z.string() }), z.string()])).optional(),
});
const tool = defineTool({
  name: 'make',
  description: 'Makes.',
  kind: 'read',
  input,
  entity: ({ name }) => name,
  handler: async (_context, given) => ({ ok: true, value: { given } }),
});
const registry = new ToolRegistry([tool]);

function mended(args: unknown): unknown {
  const call = tool.prepare(args);
  return call.ok ? call.input : call.problem;
}

test.each([
  ['a number as text', { name: 'a', count: '3' }, { name: 'a', count: 3 }],
  ['a text as number', { name: 101 }, { name: '101' }],
  ['0 for false', { name: 'a', start: 0 }, { name: 'a', start: false }],
  ['"yes" for true', { name: 'a', start: 'Yes' }, { name: 'a', start: true }],
  ['one text for a list', { name: 'a', tags: 'web' }, { name: 'a', tags: ['web'] }],
  ['a list as JSON text', { name: 'a', tags: '["x","y"]' }, { name: 'a', tags: ['x', 'y'] }],
  ['nothing for a list', { name: 'a', tags: '' }, { name: 'a', tags: [] }],
  [
    'an object as JSON text',
    { name: 'a', where: '{"port":"80"}' },
    { name: 'a', where: { port: 80 } },
  ],
  [
    'a list as JSON text where one text would do as well',
    { name: 'a', at: '["x","y"]' },
    { name: 'a', at: ['x', 'y'] },
  ],
  ['a text that only begins like a list', { name: 'a', at: '[x' }, { name: 'a', at: '[x' }],
  [
    'one object for a list of them',
    { name: 'a', steps: { title: 't' } },
    { name: 'a', steps: [{ title: 't' }] },
  ],
  [
    'texts and objects mixed',
    { name: 'a', steps: ['x', { title: 't' }] },
    { name: 'a', steps: ['x', { title: 't' }] },
  ],
  ['null for "not given"', { name: 'a', count: null }, { name: 'a' }],
  ['another letter case', { name: 'a', level: 'Low Risk' }, { name: 'a', level: 'low_risk' }],
  ['all arguments as JSON text', '{"name":"a"}', { name: 'a' }],
])('L3: %s is mended', (_what, given, expected) => {
  expect(mended(given)).toEqual(expected);
});

test.each([
  ['a missing field', {}, 'Field "name" is missing: it must be of type string.'],
  [
    'a wrong type',
    { name: 'a', count: 'many' },
    'Field "count" cannot be "many": it must be of type number.',
  ],
  ['too much', { name: 'a', count: 12 }, 'Field "count" cannot be 12: it must be at most 9.'],
  ['an empty text', { name: '' }, 'Field "name" cannot be "": it must have at least 1 characters.'],
  [
    'a wrong choice',
    { name: 'a', level: 'mid' },
    'Field "level" cannot be "mid": allowed are "low_risk", "high".',
  ],
  [
    'an unknown field',
    { name: 'a', nmae: 'b' },
    'The arguments: nothing is called "nmae" there. This tool takes: name, count, start, level, tags, where, at, steps.',
  ],
  [
    'a fault deep inside',
    { name: 'a', where: { port: 'x' } },
    'Field "where.port" cannot be "x": it must be of type number.',
  ],
])('L3: %s gets an error that names the field and what is allowed', (_what, given, problem) => {
  expect(mended(given)).toBe(problem);
});

test('L3: what is doubtful is not guessed at', () => {
  expect(mend('2 or 3', { type: 'integer' })).toBe('2 or 3');
  expect(mend('maybe', { type: 'boolean' })).toBe('maybe');
  expect(mend(2, { type: 'boolean' })).toBe(2);
  expect(mend('[1', { type: 'object' })).toBe('[1');
});

test('L3: mending never changes arguments that are good already', () => {
  const good = {
    name: '007',
    count: 3,
    start: true,
    level: 'high',
    tags: ['["x"]'],
    where: { port: 1 },
  };
  expect(mended(good)).toEqual(good);
});

test('L3: an unknown tool, broken JSON and no arguments are told apart', () => {
  expect(registry.prepare('mk', '{}')).toEqual({
    ok: false,
    problem: 'There is no tool "mk". There are: make.',
  });
  expect(registry.prepare('make', '{"name":')).toMatchObject({
    ok: false,
    problem: expect.stringContaining('not JSON'),
  });
  expect(registry.prepare('make', '')).toMatchObject({
    ok: false,
    problem: expect.stringContaining('"name" is missing'),
  });
  expect(registry.prepare('make', '{"name":"a"}')).toMatchObject({
    ok: true,
    entity: 'a',
    parallel: true,
  });
});

test('L3: two tools of one name are a fault of the program', () => {
  expect(() => new ToolRegistry([tool, tool])).toThrow('same name');
});

test('L3: null means "not given", except among keys of the model\'s own choice', () => {
  const open = { type: 'object', additionalProperties: {} };
  expect(mend({ a: null, b: 1 }, open)).toEqual({ a: null, b: 1 });
  const closed = { type: 'object', properties: {}, additionalProperties: false };
  expect(mend({ a: null, b: 1 }, closed)).toEqual({ b: 1 });
});
