import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { LANGUAGES, readIntent, type Intent, type Language } from './intent.ts';

interface Line {
  readonly number: number;
  readonly verdict: string;
  readonly languages: readonly Language[];
  readonly text: string;
}

const lines = readLog(new URL('./conversation.log', import.meta.url));

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
  if (intent.partial) return 'part';
  return intent.conditional ? 'when' : 'nothing';
}

function readLog(file: URL): readonly Line[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line, index): Line[] => {
      if (line === '' || line.startsWith('#')) return [];
      const [verdict = '', languages = '', ...text] = line.split('|');
      return [
        {
          number: index + 1,
          verdict: verdict.trim(),
          languages: languages.trim().split(',') as Language[],
          text: unescaped(text.join('|').slice(1)),
        },
      ];
    });
}

function unescaped(text: string): string {
  return text
    .replaceAll('\\n', '\n')
    .replace(/\\u\{([0-9A-F]+)\}/g, (_, code: string) => String.fromCodePoint(parseInt(code, 16)));
}
