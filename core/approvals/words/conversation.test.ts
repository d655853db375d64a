import { expect, test } from 'vitest';
import { readLog } from './conversation-log.ts';
import { LANGUAGES, readIntent, type Intent } from './intent.ts';

const lines = readLog();

test('the conversation log is long and holds every verdict in every language', () => {
  expect(lines.length).toBeGreaterThan(1000);
  for (const language of LANGUAGES) {
    const verdicts = new Set(
      lines.filter((line) => line.languages.includes(language)).map((line) => line.verdict),
    );
    expect([...verdicts].toSorted()).toEqual([
      'ask',
      'assent',
      'confirm',
      'deny',
      'negated',
      'nothing',
      'part',
      'when',
    ]);
  }
});

test.each(lines)(
  'A3, A4, A5, A17: line $number, $verdict: $text',
  ({ verdict, languages, text }) => {
    expect(verdictOf(readIntent(text, languages))).toBe(verdict);
  },
);

function verdictOf(intent: Intent): string {
  if (intent.confirm) return 'confirm';
  if (intent.assent) return 'assent';
  if (intent.denial) return 'deny';
  if (intent.question) return 'ask';
  if (intent.negation) return 'negated';
  if (intent.conditional) return 'when';
  return intent.partial ? 'part' : 'nothing';
}
