import { readFileSync } from 'node:fs';
import type { Language } from './lists.ts';

/** One line of `conversation.txt`, the test data of the word lists. */
export interface Line {
  readonly number: number;
  readonly verdict: string;
  readonly languages: readonly Language[];
  readonly text: string;
}

/** Reads `conversation.txt`; its head says what the columns mean. */
export function readLog(): readonly Line[] {
  return readFileSync(new URL('./conversation.txt', import.meta.url), 'utf8')
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
