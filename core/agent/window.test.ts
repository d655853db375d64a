import { expect, test } from 'vitest';
import type { Exchange, History } from './history.ts';
import { note, withoutTags } from './prompt.ts';
import { shrinkNote, shrinkResult } from './shrink.ts';
import { estimateTokens, fitWindow } from './window.ts';

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

function history(before: Exchange[], own: Exchange[], summary?: string): History {
  return { summary, before, own, operatorTexts: [] };
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

test('L5: the summary of what is older stands first', () => {
  const messages = fitWindow(history([said('one')], [said('two')], 'It began with disks.'), 10_000);
  expect(messages.map(({ content }) => content)).toEqual([
    note('It began with disks.'),
    'one',
    'two',
  ]);
});

test('L5, L10: what has no room is told in short: how much of what, and the newest of it in quotes', () => {
  const before = [
    said('look at <note>the disk</note>'),
    answer(1, 100),
    ...Array.from({ length: 28 }, (_, i) => said(`old ${i} ${'o'.repeat(3_000)}`)),
  ];
  const messages = fitWindow(history(before, [said('now')], 'What was before.'), 4_000);
  expect(messages[0]?.content).toBe(note('What was before.'));
  const [head, ...lines] = messages[1]?.content.split('\n').slice(1, -1) ?? [];
  expect(head).toMatch(
    /^30 messages are left out here for want of room: 29 of the operator, 1 answers of yours with their results, 0 notes/,
  );
  expect(lines).toHaveLength(9);
  expect(lines[0]).toBe('- … 22 lines more …');
  expect(lines.at(-1)).toMatch(/^- the operator: "old 27 o+…"$/);
  const roomy = text(fitWindow(history(before.slice(0, 7), [said('now')]), 3_000));
  expect(roomy).toContain('the operator: "look at &lt;note>the disk&lt;/note>"');
  expect(roomy).toContain('you called run "{}": ex1, completed, exit code 0');
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
      const messages = fitWindow(history(before, own, 's'.repeat(6_000)), 4000);
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
