/** Reads the case files of the classifier's tests. */
import { readFileSync } from 'node:fs';

/** The commands of `reading`, `changing` or `destroying`, from both lists of a kind; `⏎` in a line stands for a newline. */
export function cases(name: 'reading' | 'changing' | 'destroying'): string[] {
  return ['', 'redteam-']
    .flatMap((list) =>
      readFileSync(new URL(`./${list}${name}.txt`, import.meta.url), 'utf8').split('\n'),
    )
    .filter((line) => line !== '' && !line.startsWith('# '))
    .map((line) => line.replaceAll('⏎', '\n'));
}

/** How much the random tests do: 1 normally; `NOMOS_POLICY_FUZZ=50` does fifty times as much. */
export const EFFORT = Math.max(1, Number(process.env['NOMOS_POLICY_FUZZ'] ?? '1') || 1);

/** A word that the shell takes as exactly this text. */
export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
