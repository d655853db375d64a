import { expect, test } from 'vitest';
import { reactionMeaning, reactionOption } from './reactions.ts';

test.each([
  ['✅', 'approve'],
  ['✅\ufe0f', 'approve'],
  ['✔', 'approve'],
  ['✔\ufe0f', 'approve'],
  ['✔\ufe0e', 'approve'],
  ['👍', 'approve'],
  ['👍\ufe0f', 'approve'],
  ['👍🏻', 'approve'],
  ['👍🏿', 'approve'],
  ['❌', 'deny'],
  ['❌\ufe0f', 'deny'],
  ['✖', 'deny'],
  ['✖\ufe0f', 'deny'],
  ['👎', 'deny'],
  ['👎🏽', 'deny'],
  ['🛑', 'stop'],
  ['🔁', 'retry'],
  ['▶', 'continue'],
  ['▶\ufe0f', 'continue'],
  ['👀', 'seen'],
  ['🔕', 'mute'],
  ['🤖', 'task'],
  ['1\ufe0f\u20e3', 'option'],
  ['🔟', 'option'],
])('A2: %s means %s', (key, meaning) => {
  expect(reactionMeaning(key)).toBe(meaning);
});

test.each([
  '',
  ' ',
  '❤️',
  '🎉',
  'yes',
  'approve',
  '✅✅',
  '✅ ',
  ' ✅',
  '✅ok',
  '👍👎',
  '👍\u200d👎',
  '✅\u200b',
  '☑️',
  '🆗',
  '1',
  '\ufe0f',
  '🏽',
  '0\ufe0f\u20e3',
  '#\ufe0f\u20e3',
  '__proto__',
])('A2: %j means nothing', (key) => {
  expect(reactionMeaning(key)).toBeNull();
  expect(reactionOption(key)).toBeNull();
});

test('C5: the keycaps stand for options 1 to 10', () => {
  const keys = [...'123456789'].flatMap((digit) => [`${digit}\ufe0f\u20e3`, `${digit}\u20e3`]);
  expect(keys.map(reactionOption)).toEqual([1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9]);
  expect(reactionOption('🔟')).toBe(10);
  expect(reactionOption('👍')).toBeNull();
});
