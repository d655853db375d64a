import { z } from 'zod';
import type { ExecutionRequest } from '../executions/request.ts';
import type { Reader } from '../db/database.ts';
import { NomosError } from '../errors.ts';
import { selectTargets, type TargetSelector } from '../graph/select-targets.ts';
import { MAX_COMMAND_BYTES } from '../executions/remote/protocol.ts';
import type { ExecutionId } from '../ids.ts';
import { MAX_EXECUTION_MS } from '../limits.ts';
import { classify } from '../policy/classify.ts';
import { RISKS } from '../policy/risk.ts';
import { lookAtScripts, lookAtScriptsOn } from './look-at-scripts.ts';
import { alreadyRequested, outcomeOf, requestOne, waitForEnd } from './one-execution.ts';
import { makePreview, makePreviews } from './preview.ts';
import { runMany } from './run-many.ts';
import { defineTool, type ChangeContext, type ToolOutcome } from './tool.ts';

/** How many targets one call may have. */
const MAX_TARGETS = 100;

const slug = z.string().trim().min(1);
const selector = z.strictObject({
  type: z.string().optional().describe('Such as "host" or "lxc".'),
  state: z.string().optional().describe('Such as "active".'),
  tag: z.string().optional().describe('One of the tags of the entity.'),
});

const input = z.strictObject({
  target: z
    .union([slug, z.array(slug).min(1).max(MAX_TARGETS), selector])
    .describe(
      'A slug such as "host:web-1" or "lxc:dns"; or a list of slugs; or a selector of all that fit.',
    ),
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
      'For a change: a dry run that only reads, such as "apt-get -s upgrade", "rsync -n …", "nginx -t" or a diff. It runs first on each target, and what it prints stands on the card that the operator decides by.',
    ),
  timeout: z
    .int()
    .min(1)
    .max(MAX_EXECUTION_MS / 1000)
    .optional()
    .describe('Seconds after which it is ended. Default 600, at most 3600.'),
  canary: z
    .boolean()
    .optional()
    .describe('With several targets: the first runs alone, the rest only if it succeeds there.'),
});

/** Runs a command on a host or container, as far as policy and operator let it (X1, X2). */
export const runTool = defineTool({
  name: 'run',
  description:
    'Runs a shell command on one host or container, or on several: one card and one approval for all, five at a time, one table back. What only reads runs at once; what changes something waits for the operator\'s ✅, what destroys for a typed "I confirm": the answer\'s note says which. Waits up to a minute for the end; a longer command goes on, and its end wakes you. Put related reads into one command.',
  kind: 'change',
  input,
  entity: ({ target }) => (typeof target === 'string' ? target : undefined),
  entities: ({ target }) =>
    typeof target === 'string' ? [target] : Array.isArray(target) ? target : [],
  looksOnly: ({ command, declared_risk }) => classify(command, declared_risk).risk === 'read_only',
  resumable: true,
  async handler(context, args) {
    const { target } = args;
    const [only, ...more] = Array.isArray(target) ? target : [];
    if (typeof target === 'string') return runOne(context, { ...args, target });
    if (only !== undefined && more.length === 0) return runOne(context, { ...args, target: only });
    return runMany(context, async () => {
      const targets = Array.isArray(target)
        ? [...new Set(target)]
        : await selectFew(context.database.read, target);
      return {
        ...whatToRun(args),
        targets,
        canary: args.canary === true,
        previews:
          args.preview === undefined || changesNothing(args)
            ? undefined
            : await makePreviews(context, targets, {
                command: args.preview,
                purpose: args.purpose,
              }),
        scripts: changesNothing(args) ? undefined : await lookAtScriptsOn(context, targets, args),
      };
    });
  },
});

type Arguments = z.output<typeof input>;

async function runOne(
  context: ChangeContext,
  args: Arguments & { target: string },
): Promise<ToolOutcome> {
  const id = (await alreadyRequested(context)) ?? (await requestFrom(context, args));
  return outcomeOf(await waitForEnd(context, id));
}

async function requestFrom(
  context: ChangeContext,
  args: Arguments & { target: string },
): Promise<ExecutionId> {
  const { target, purpose } = args;
  if (changesNothing(args)) return requestOne(context, () => ({ target, ...whatToRun(args) }));
  const preview =
    args.preview === undefined
      ? undefined
      : await makePreview(context, { target, command: args.preview, purpose });
  const scripts = await lookAtScripts(context, args);
  return requestOne(context, () => ({ target, preview, scripts, ...whatToRun(args) }));
}

const changesNothing = ({ command, declared_risk }: Arguments): boolean =>
  classify(command, declared_risk).risk === 'read_only';

function whatToRun(
  args: Arguments,
): Pick<ExecutionRequest, 'command' | 'purpose' | 'declaredRisk' | 'timeoutMs'> {
  return {
    command: args.command,
    purpose: args.purpose,
    declaredRisk: args.declared_risk,
    timeoutMs: args.timeout === undefined ? undefined : args.timeout * 1000,
  };
}

async function selectFew(db: Reader, selected: TargetSelector): Promise<string[]> {
  const slugs = await selectTargets(db, selected);
  if (slugs.length <= MAX_TARGETS) return slugs;
  throw new NomosError(
    'too_many_targets',
    'model',
    `The selector picks ${slugs.length} targets; one call takes ${MAX_TARGETS}.`,
    { hint: 'Narrow it by type, state or tag, or give lists.' },
  );
}
