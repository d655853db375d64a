import { z } from 'zod';
import type { Execution } from '../db/rows.ts';
import { awaitExecution } from '../executions/await.ts';
import type { Preview } from '../executions/preview.ts';
import { requestExecution } from '../executions/request.ts';
import { MAX_COMMAND_BYTES } from '../executions/remote/protocol.ts';
import { isFinal } from '../executions/states.ts';
import { faultPoint } from '../faults.ts';
import { asId, type ExecutionId } from '../ids.ts';
import { MAX_EXECUTION_MS } from '../limits.ts';
import { classify } from '../policy/classify.ts';
import { RISKS } from '../policy/risk.ts';
import { executionResult } from './execution-result.ts';
import { makePreview } from './preview.ts';
import { defineTool, type ChangeContext } from './tool.ts';

const input = z.strictObject({
  target: z
    .string()
    .trim()
    .min(1)
    .describe('Slug of a host or container, such as "host:web-1" or "lxc:dns".'),
  command: z
    .string()
    .min(1)
    .max(
      MAX_COMMAND_BYTES,
      `at most ${MAX_COMMAND_BYTES} bytes; put long content into a file on the target in parts`,
    )
    .describe('Any shell command or script. It gets no terminal and no input.'),
  purpose: z
    .string()
    .trim()
    .min(3)
    .max(300)
    .describe('What it is for, in a few words: the operator decides by it. At best 60 characters.'),
  declared_risk: z
    .enum(RISKS)
    .optional()
    .describe('Your own judgement. It can only raise what the policy finds.'),
  preview: z
    .string()
    .min(1)
    .optional()
    .describe(
      'For a change: a dry run that only reads, such as "apt-get -s upgrade", "rsync -n …", "nginx -t" or a diff. It runs first on the same target, and its output stands on the card that the operator decides by.',
    ),
  timeout: z
    .int()
    .min(1)
    .max(MAX_EXECUTION_MS / 1000)
    .optional()
    .describe('Seconds after which it is ended. Default 600, at most 3600.'),
});

/** Runs a command on a host or container, as far as policy and operator let it (X1, X2). */
export const runTool = defineTool({
  name: 'run',
  description:
    'Runs a shell command on one host or container. What only reads runs at once; what changes something waits for the operator\'s ✅, what destroys for a typed "I confirm": the answer\'s note says which. Waits up to a minute for the end; a longer command goes on, and its end wakes you. Put related reads into one command.',
  kind: 'change',
  input,
  entity: ({ target }) => target,
  looksOnly: ({ command, declared_risk }) => classify(command, declared_risk).risk === 'read_only',
  resumable: true,
  async handler(context, args) {
    const id = (await alreadyRequested(context)) ?? (await requestFrom(context, args));
    const execution = await waitForEnd(context, id);
    const ok = !isFinal(execution.status) || execution.status === 'completed';
    return { ok, value: executionResult(execution), entity: execution.targetSlug };
  },
});

// A pass that was taken up finds what this very call had asked for, instead of asking twice.
async function alreadyRequested({
  database,
  toolCallId,
}: ChangeContext): Promise<ExecutionId | null> {
  const found = await database.read.execution.findFirst({
    where: { toolCallId },
    select: { id: true },
  });
  return found === null ? null : asId<ExecutionId>(found.id);
}

async function requestFrom(
  context: ChangeContext,
  args: z.output<typeof input>,
): Promise<ExecutionId> {
  const { target, purpose, preview } = args;
  const reads = classify(args.command, args.declared_risk).risk === 'read_only';
  return preview === undefined || reads
    ? request(context, args)
    : request(context, args, await makePreview(context, { target, command: preview, purpose }));
}

async function request(
  context: ChangeContext,
  args: z.output<typeof input>,
  preview?: Preview,
): Promise<ExecutionId> {
  const { sessionId, turnId, passId, toolCallId } = context;
  return context.write(async (unit) => {
    const { executionId } = await requestExecution(unit, {
      sessionId,
      turnId,
      passId,
      toolCallId,
      target: args.target,
      command: args.command,
      purpose: args.purpose,
      preview,
      declaredRisk: args.declared_risk,
      timeoutMs: args.timeout === undefined ? undefined : args.timeout * 1000,
    });
    await unit.db.toolCall.update({ where: { id: toolCallId }, data: { executionId } });
    await faultPoint('agent.before_execution_requested');
    return executionId;
  });
}

async function waitForEnd(context: ChangeContext, id: ExecutionId): Promise<Execution> {
  const { signal, inlineWaitMs: timeoutMs } = context;
  const { execution } = await awaitExecution(context, id, { timeoutMs, signal });
  return execution;
}
