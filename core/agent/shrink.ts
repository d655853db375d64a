import { z } from 'zod';
import { cutLabel } from '../text/label.ts';

/** What is at most this long stays: a line in its place would save nothing. In characters. */
const SMALL = 280;

const executionShape = z.looseObject({
  execution_id: z.string(),
  status: z.string(),
  target: z.string().optional(),
  exit_code: z.int().optional(),
});

/** An old tool result as a line that says what it was and how to read it again (L5). Small ones stay as they are. */
export function shrinkResult(name: string, result: string): string {
  if (result.length <= SMALL) return result;
  const execution = executionShape.safeParse(parse(result));
  if (execution.success) {
    const { execution_id, status, target, exit_code } = execution.data;
    return JSON.stringify({
      execution_id,
      status,
      ...(target === undefined ? {} : { target }),
      ...(exit_code === undefined ? {} : { exit_code }),
      shortened: `Output left out. Read it again with get_execution_status {"execution_id":"${execution_id}"}.`,
    });
  }
  return JSON.stringify({ shortened: `Result left out. Call ${name} again if you need it.` });
}

/** An old note, likewise: its first line, without the output that hung on it. */
export function shrinkNote(text: string): string {
  if (text.length <= SMALL) return text;
  const first = cutLabel(text.split('\n', 1)[0] ?? '', SMALL);
  return `${first}\n(The rest is left out. get_execution_status reads an execution's output again.)`;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Cut or foreign text: it is no execution's result.
    return undefined;
  }
}
