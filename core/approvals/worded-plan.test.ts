import { expect, test } from 'vitest';
import { wordedPlan } from './worded-plan.ts';

const LIST = '1. Stop nginx\n2. Move the old logs away\n3. Start nginx';

test.each([
  ['I would do this:', 'Shall I proceed?'],
  ['The disk is full.\n\nMy plan:', 'Say "go ahead" and I begin.'],
  ["Here is what I'll do:", 'OK?'],
  ['Steps:', 'Do you want me to do this?'],
  ['Das würde ich machen: So werde ich vorgehen, in Schritten:', 'Soll ich loslegen?'],
  ['Voy a hacer esto:', '¿Procedo?'],
  ['Je propose ceci :', 'D’accord ?'],
])('A11: a list after “%s” before “%s” is a plan in words', (before, after) => {
  expect(wordedPlan(`${before}\n\n${LIST}\n\n${after}`)?.map(({ title }) => title)).toEqual([
    'Stop nginx',
    'Move the old logs away',
    'Start nginx',
  ]);
});

test.each([
  ['findings', `I found:\n\n${LIST}\n\nShall I look further?`],
  ['a plan that asks for nothing', `My plan:\n\n${LIST}\n\nI begin tomorrow.`],
  ['a question without a list', 'My plan: restart nginx. Shall I proceed?'],
  ['one step', 'My plan:\n\n1. Stop nginx\n\nShall I proceed?'],
  ['points without an order', 'My plan:\n\n- stop nginx\n- start nginx\n\nShall I proceed?'],
  ['a list that does not count from one', 'My plan:\n\n3. Stop\n4. Start\n\nShall I proceed?'],
  ['a list that skips', 'My plan:\n\n1. Stop\n3. Start\n\nShall I proceed?'],
  ['the asking before the list', `Shall I proceed with my plan?\n\n${LIST}`],
  ['another question after it', `My plan was:\n\n${LIST}\n\nWhich host do you mean?`],
  ['findings after a plan', `My plan was done. What I saw:\n\n1. one\n2. two\n\nAnything else?`],
])('A11: %s are no plan in words', (_what, answer) => {
  expect(wordedPlan(answer)).toBeNull();
});

test('A11: steps keep their words, without marks, and long ones are told whole', () => {
  const long = `Check ${'every mount point '.repeat(20)}`.trim();
  const steps = wordedPlan(
    `I'd go like this:\n1) **Stop** \`nginx\`\n   and wait\n2) ${long}\n\nShould I?`,
  );
  expect(steps?.[0]).toEqual({ title: 'Stop nginx and wait' });
  expect(steps?.[1]?.detail).toBe(long);
  expect(steps?.[1]?.title.length).toBeLessThanOrEqual(120);
});

test('A11: a million lines are looked through in no more than their length', () => {
  expect(wordedPlan('1. a\n'.repeat(200_000))).toBeNull();
  expect(wordedPlan(`${'can I '.repeat(150_000)}`)).toBeNull();
  expect(wordedPlan(`My plan:\n\n${LIST}\n\n${'can I '.repeat(20_000)}`)).toBeNull();
});
