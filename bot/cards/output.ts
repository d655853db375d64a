import { byteLength, lastLines } from '../../core/text/clip.ts';
import { terminalText } from '../../core/text/terminal.ts';
import { visible } from '../../core/text/visible.ts';
import { pre, type Rich } from './rich.ts';

/** What a card shows of an output at most (C11). */
export const OUTPUT_LINES_MAX = 12;
export const OUTPUT_BYTES_MAX = 1024;

/** The end of an output as a terminal would show it, in a code block; undefined if nothing was printed. */
export function outputBlock(tail: string): Rich | undefined {
  const plain = terminalText(tail);
  // Escapes of hidden characters are longer than what they stand for, so what is cut is the text as it is shown.
  const shown = lastLines(
    visible(plain, { spaces: 'plain' }),
    OUTPUT_LINES_MAX,
    OUTPUT_BYTES_MAX,
  ).text;
  return shown.trim() === '' ? undefined : pre(shown, { spaces: 'plain' });
}

/** Whether an output is longer than a card shows, so that it is attached whole. */
export function outputIsLong(stdout: string, stderr: string): boolean {
  const whole = visible(terminalText(stdout + stderr), { spaces: 'plain' });
  return (
    byteLength(whole) > OUTPUT_BYTES_MAX || whole.trimEnd().split('\n').length > OUTPUT_LINES_MAX
  );
}
