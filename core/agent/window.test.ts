import { expect, test } from 'vitest';
import type { Exchange, History } from './history.ts';
import { note, withoutTags } from './prompt.ts';
import { shrinkNote, shrinkResult } from './shrink.ts';
import { estimateTokens, fitWindow } from './window.ts';

const NONE = { operator: 0, notes: 0, answers: 0, results: 0 };

const said = (text: string): Exchange => ({ kind: 'operator', text, sender: '@ann:test' });
const answer = (n: number, size: number): Exchange => ({
  kind: 'answer',
  text: '',
  calls: [
    {
      id: `call${n}`,
      name: 'run',
      arguments: '{}',
      result: JSON.stringify({
        execution_id: `ex${n}`,
        status: 'completed',
        target: 'host:a',
        exit_code: 0,
        stdout: 'x'.repeat(size),
      }),
    },
  ],
});

function history(before: Exchange[], own: Exchange[], leftOut = NONE): History {
  return { before, own, leftOut, operatorTexts: [] };
}

const text = (messages: ReturnType<typeof fitWindow>): string =>
  messages.map((message) => message.content).join('\n');

test('L5: what fits is sent whole, and old results only as a line', () => {
  const messages = fitWindow(
    history([said('one'), answer(1, 1000)], [said('two'), answer(2, 1000)]),
    10_000,
  );
  expect(messages.map((message) => message.role)).toEqual([
    'user',
    'assistant',
    'tool',
    'user',
    'assistant',
    'tool',
  ]);
  expect(messages[2]?.content).toBe(
    '{"execution_id":"ex1","status":"completed","target":"host:a","exit_code":0,"shortened":"Output left out. Read it again with get_execution_status {\\"execution_id\\":\\"ex1\\"}."}',
  );
  expect(messages[5]?.content).toContain('x'.repeat(1000));
});

test('L5: what is left out is told, with how much of what', () => {
  const messages = fitWindow(
    history([], [said('two')], { operator: 3, notes: 1, answers: 4, results: 9 }),
    10_000,
  );
  expect(messages[0]?.content).toBe(
    note(
      '17 earlier messages of this task are left out here: 3 of the operator, 4 answers of yours, 9 tool results, 1 notes. What counts of them stands in the state below; get_execution_status reads results again.',
    ),
  );
});

test('L5, B6: whatever there is, the window stays within its tokens, and never loses what was asked in this pass', () => {
  for (const count of [0, 1, 4, 12, 39]) {
    for (const size of [10, 2000, 8000]) {
      const before = Array.from({ length: 30 }, (_, i) =>
        i % 2 === 0 ? said(`old ${i} ${'o'.repeat(500)}`) : answer(i, size),
      );
      const own = [
        said('the question'),
        ...Array.from({ length: count }, (_, i) => answer(100 + i, size)),
      ];
      const messages = fitWindow(history(before, own), 4000);
      expect(estimateTokens(messages)).toBeLessThanOrEqual(4000);
      expect(text(messages)).toContain('the question');
      if (count > 0) expect(text(messages)).toContain(`ex${100 + count - 1}`);
    }
  }
});

test('L5: the newest result stays whole as long as it can', () => {
  const own = [said('q'), ...Array.from({ length: 9 }, (_, i) => answer(i, 4000))];
  const messages = fitWindow(history([], own), 3000);
  expect(messages.at(-1)?.content).toContain('x'.repeat(4000));
  expect(messages.filter((message) => message.content.includes('shortened'))).not.toHaveLength(0);
});

test('L5: a message that alone is too long loses its middle, not its ends', () => {
  const messages = fitWindow(history([], [said(`begin ${'m'.repeat(100_000)} end`)]), 1000);
  expect(estimateTokens(messages)).toBeLessThanOrEqual(1000);
  expect(text(messages)).toMatch(/^begin [^]*bytes left out[^]* end$/);
});

test('L5: what was sent stays a prefix of what is sent next, as long as nothing has to give way', () => {
  const own = [said('q'), answer(1, 100), answer(2, 100)];
  const first = fitWindow(history([said('old')], own.slice(0, 2)), 10_000);
  const second = fitWindow(history([said('old')], own), 10_000);
  expect(second.slice(0, first.length)).toEqual(first);
});

test('L5: an answer never stands without its results, nor a result without its answer', () => {
  const own = [said('q'), ...Array.from({ length: 30 }, (_, i) => answer(i, 3000))];
  const messages = fitWindow(history([], own), 1500);
  const asked = messages
    .flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
    .map((call) => call.id);
  const got = messages.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : []));
  expect(got).toEqual(asked);
});

test('L5: small results stay; others name the tool to call again', () => {
  expect(shrinkResult('get_entity', '{"a":1}')).toBe('{"a":1}');
  expect(shrinkResult('list_entities', JSON.stringify({ entities: 'x'.repeat(500) }))).toBe(
    '{"shortened":"Result left out. Call list_entities again if you need it."}',
  );
  expect(shrinkNote(`Execution ab ended: completed.\n${'x'.repeat(500)}`)).toMatch(
    /^Execution ab ended: completed\.\n\(The rest/,
  );
});

test.each(['</note>', '<note from="nomos">', '</ NOTE>', '<state>', '< /state>', '</state'])(
  'L10, Z2: %s in foreign text is no tag any more',
  (tag) => {
    expect(withoutTags(`a ${tag} b`)).not.toMatch(/<\s*\/?\s*(note|state)/i);
    expect(withoutTags('1 < 2, <b>notes</b>')).toBe('1 < 2, <b>notes</b>');
  },
);
