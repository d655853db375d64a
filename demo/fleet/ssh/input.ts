import type { Readable } from 'node:stream';
import { MAX_COMMAND_BYTES, decodeCommand } from '../../../core/executions/remote/protocol.ts';

/** Each byte of a command takes at most five on the line, and then there is the newline. */
const MAX_LINE_BYTES = MAX_COMMAND_BYTES * 5 + 1;

/**
 * Reads the next line that hands a command over. Resolves with the command, or with what is wrong with it, which is then
 * told to whoever sent it.
 */
export async function readCommandLine(
  input: Readable,
  expectedBytes: number,
): Promise<{ command: string } | { fault: string }> {
  const line = await readLine(input);
  if (line === undefined) return { fault: 'the command line did not arrive whole' };
  let command: Buffer;
  try {
    command = decodeCommand(line);
  } catch (error) {
    return { fault: error instanceof Error ? error.message : 'the command line cannot be decoded' };
  }
  if (command.length !== expectedBytes) {
    return { fault: `the command has ${command.length} bytes instead of ${expectedBytes}` };
  }
  return { command: command.toString() };
}

function readLine(input: Readable): Promise<string | undefined> {
  return new Promise((resolve) => {
    let text = '';
    const finish = (line: string | undefined): void => {
      input.off('data', take);
      input.off('end', ended);
      input.off('close', ended);
      resolve(line);
    };
    const take = (bytes: Buffer): void => {
      text += bytes.toString('latin1');
      const newline = text.indexOf('\n');
      if (newline >= 0) {
        finish(text.slice(0, newline));
        const rest = text.slice(newline + 1);
        // Kept for who reads next: without a listener it would flow away.
        input.pause();
        if (rest !== '') input.unshift(Buffer.from(rest, 'latin1'));
      } else if (text.length > MAX_LINE_BYTES) finish(undefined);
    };
    const ended = (): void => finish(undefined);
    input.on('data', take);
    input.on('end', ended);
    input.on('close', ended);
    input.resume();
  });
}
