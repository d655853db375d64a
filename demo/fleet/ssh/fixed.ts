import { MAX_SCRIPT_BYTES } from '../../../core/executions/scripts.ts';
import { shellWord } from '../../../core/text/shell-word.ts';
import type { Shell } from '../machine/shell.ts';

/** The first file of a list of `<SHA-256> <path>` that holds something else, as the wrapper on a real machine finds it. */
export async function changedFile(shell: Shell, fixed: string): Promise<string | undefined> {
  for (const line of fixed.split('\n').filter((text) => text !== '')) {
    const [want = '', ...words] = line.split(' ');
    const path = words.join(' ');
    let told = '';
    await shell.run({
      command: `cd; head -c ${MAX_SCRIPT_BYTES + 1} < ${shellWord(path)} | sha256sum`,
      signal: AbortSignal.timeout(10_000),
      output: (stream, bytes) => (told += stream === 'stdout' ? bytes.toString() : ''),
    });
    if (told.split(' ')[0] !== want) return path;
  }
  return undefined;
}
