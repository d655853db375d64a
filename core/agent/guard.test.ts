import { expect, test } from 'vitest';
import { unusable } from './guard.ts';
import type { ModelAnswer } from './model/types.ts';

function judge(
  text: string,
  operator = 'how are the disks on web-1?',
  more: Partial<ModelAnswer> = {},
): string | undefined {
  const answer: ModelAnswer = {
    text,
    toolCalls: [],
    finish: 'stop',
    usage: { tokensIn: 0, tokensOut: 0 },
    model: 'm',
    ...more,
  };
  return unusable(answer, [operator]);
}

test.each(['', '  \n\t', '\u00a0'])('L4: an empty answer (%j) cannot be used', (text) => {
  expect(judge(text)).toBe('it was empty');
});

test('L4: an answer with tool calls can be used whatever its text', () => {
  expect(
    judge('', 'x', { toolCalls: [{ id: 'a', name: 'run', arguments: '{}' }] }),
  ).toBeUndefined();
});

test.each([
  "I'm sorry, but I can't assist with that.",
  'I’m sorry, but as an AI I am unable to help.',
  "Sorry, I can't do that.",
  'I cannot help with this request.',
  'As an AI language model, I have no access to servers.',
  '抱歉，我无法回答你的问题。',
])('L4: boilerplate is a refusal: %s', (text) => {
  expect(judge(text, '磁盘 disks')).toBe('it was a refusal without a reason');
});

test('L4: what the endpoint withheld is a refusal', () => {
  expect(judge('', 'x', { finish: 'filtered' })).toBe('it was a refusal without a reason');
});

test.each([
  "I'm sorry, but I can't reach nas-1: its SSH port refuses connections since 14:02. The other three hosts are fine, and their disks are below 60 %. Shall I look at the switch, or is nas-1 powered down on purpose today? Its last backup ended at 03:10.",
  'I cannot see a unit called foobar on web-1. Which one do you mean?',
  'I will not delete it: it is the only copy.',
  'nginx: active',
  'OK',
])('L4: a reason, a question or a short word is an answer: %s', (text) => {
  expect(judge(text)).toBeUndefined();
});

test.each([
  ['所有磁盘都正常。', 'how are the disks?'],
  ['Все диски в порядке, свободно больше половины.', 'how are the disks?'],
  ['すべてのディスクは正常です。', 'how are the disks?'],
  ['All disks are fine, the fullest is at 53 percent.', '磁盘怎么样？'],
  ['모든 디스크가 정상입니다. 여유 공간이 충분합니다.', 'как дела с дисками?'],
])('L4: %j is in another script than %j', (text, operator) => {
  expect(judge(text, operator)).toBe('it was in another script than the operator writes in');
});

test.each([
  ['所有磁盘都正常，nginx 已经运行。', '检查 web-1 上的 nginx'],
  ['nginx 已重启 (systemctl restart nginx, exit code 0)', '重启 nginx'],
  ['すべて正常です。ディスク使用率は53%です。', 'ディスクを確認して'],
  ['The folder is called 备份 and holds 12 files from last year.', 'what is on the disk?'],
  ['It printed:\n```\nвсе диски в порядке, всё хорошо\n```', 'what does the motd say?'],
  ['Alle Platten sind in Ordnung, die vollste hat 53 %.', 'wie voll sind die Platten?'],
  ['nginx: active', '重启 nginx'],
  ['Диск заполнен на 53 %.', 'check disks. спасибо'],
])('L4: %j can be used for %j', (text, operator) => {
  expect(judge(text, operator)).toBeUndefined();
});

test('L4: without a word of the operator no script is expected', () => {
  expect(
    unusable(
      {
        text: '好',
        toolCalls: [],
        finish: 'stop',
        usage: { tokensIn: 0, tokensOut: 0 },
        model: 'm',
      },
      ['42 %?'],
    ),
  ).toBeUndefined();
});

const CALL = '{"name":"run","arguments":{"target":"host:web-1","command":"uptime"}}';
const writtenOut = (text: string): string | undefined =>
  unusable(
    { text, toolCalls: [], finish: 'stop', usage: { tokensIn: 0, tokensOut: 0 }, model: 'm' },
    ['how is web-1?'],
    ['run', 'get_entity'],
  );

test.each([
  CALL,
  `\n${CALL}\n`,
  `\`\`\`json\n${CALL}\n\`\`\``,
  `<tool_call>\n${CALL}\n</tool_call>`,
  `[${CALL}]`,
  '{"tool":"get_entity","input":{}}',
  '{"type":"function","function":{"name":"run","arguments":"{}"}}',
])('L4: a call that is written out is none, and no answer either: %j', (text) => {
  expect(writtenOut(text)).toBe('it was a tool call written out as text, which makes no call');
});

test.each([
  `I would call ${CALL}`,
  '{"name":"nginx","state":"active"}',
  '[]',
  '{"name":"run"',
  'run',
  '```json\n{"load":0.4}\n```',
])('L4: an answer that is JSON, or quotes a call, is an answer: %j', (text) => {
  expect(writtenOut(text)).toBeUndefined();
});
