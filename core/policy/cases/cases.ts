/** Reads the case files of the classifier's tests. */
import { readFileSync } from 'node:fs';

/** The commands of one list; `⏎` in a line stands for a newline. */
function list(file: string): string[] {
  return readFileSync(new URL(`./${file}.txt`, import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('# '))
    .map((line) => line.replaceAll('⏎', '\n'));
}

/** The commands of `reading`, `changing` or `destroying`, from both lists of a kind. */
export function cases(name: 'reading' | 'changing' | 'destroying'): string[] {
  return [...list(name), ...list(`redteam-${name}`)];
}

/** Changes that an operator makes every day: a ✅ is enough for them. */
export const ordinaryChanges = (): string[] => list('ordinary-changes');

/** How much the random tests do: 1 normally; `NOMOS_POLICY_FUZZ=50` does fifty times as much. */
export const EFFORT = Math.max(1, Number(process.env['NOMOS_POLICY_FUZZ'] ?? '1') || 1);

export { shellWord as quoted } from '../../text/shell-word.ts';
