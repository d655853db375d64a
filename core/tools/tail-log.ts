import { z } from 'zod';
import type { Execution } from '../db/rows.ts';
import { UNIT_NAME } from '../executions/actions.ts';
import { MODEL_OUTPUT_BYTES } from '../executions/results.ts';
import { classify } from '../policy/classify.ts';
import { lastLines } from '../text/clip.ts';
import { logCommand } from './log-command.ts';
import { alreadyRequested, outcomeOf, requestOne, waitForEnd } from './one-execution.ts';
import { defineTool } from './tool.ts';

const MAX_LINES = 1000;

const input = z
  .strictObject({
    target: z.string().trim().min(1).describe('Slug of a host or container.'),
    unit: z
      .string()
      .regex(UNIT_NAME, 'the name of a systemd unit, like nginx or nginx.service')
      .optional()
      .describe('Its journal. Give unit or file, not both.'),
    file: z
      .string()
      .max(1000)
      .regex(/^\/[^\0\n]+$/, 'the absolute path of one file, like /var/log/syslog')
      .optional()
      .describe('A log file by its absolute path.'),
    lines: z.int().min(1).max(MAX_LINES).default(100),
    grep: z
      .string()
      .min(1)
      .max(200)
      .regex(/^[^\0\n]+$/, 'one line')
      .optional()
      .describe('A text, not a pattern: only lines that contain it, in any case.'),
  })
  .refine(({ unit, file }) => (unit === undefined) !== (file === undefined), {
    path: ['unit'],
    message: 'give either unit or file',
  });

/** The end of a log on one target, over the same path and policy as `run` (X1). */
export const tailLogTool = defineTool({
  name: 'tail_log',
  description:
    "The last lines of a unit's journal or of a log file on one host or container, if wanted only those with a text in them. Reads at once, like run; a file that holds keys or passwords asks the operator as run would. For the same log on several machines one run with a list of targets is cheaper.",
  kind: 'change',
  input,
  entity: ({ target }) => target,
  looksOnly: (args) => classify(logCommand(args)).risk === 'read_only',
  resumable: true,
  async handler(context, args) {
    const { target, unit, file } = args;
    const id =
      (await alreadyRequested(context)) ??
      (await requestOne(context, () => ({
        target,
        command: logCommand(args),
        purpose: `Read the log of ${unit ?? file ?? ''}`.slice(0, 300),
      })));
    const awaited = await waitForEnd(context, id);
    const { execution, teller } = awaited;
    if (teller === 'note' || execution.status !== 'completed') return outcomeOf(awaited);
    return { ...lines(execution, args.lines), entity: execution.targetSlug };
  },
});

// Of a log the newest lines count, so the head is what is left out.
function lines(
  execution: Execution,
  wanted: number,
): { ok: boolean; value: object & Record<string, unknown> } {
  const { text, droppedBytes } = lastLines(execution.stdout, wanted, MODEL_OUTPUT_BYTES);
  const { stderr } = execution;
  const empty = text.trim() === '';
  return {
    // A pipe ends well even if the log could not be opened: then there are words about it and no line.
    ok: !empty || stderr.trim() === '',
    value: {
      execution_id: execution.shortId,
      target: execution.targetSlug,
      log: text,
      ...(stderr.trim() === '' ? {} : { stderr: lastLines(stderr, 5, 500).text }),
      ...(empty && stderr.trim() === '' ? { note: 'No line of it fits.' } : {}),
      ...(droppedBytes > 0
        ? { note: `The ${droppedBytes} bytes before these lines are left out; grep narrows it.` }
        : {}),
    },
  };
}
