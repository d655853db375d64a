import { z } from 'zod';
import {
  ACTIONS,
  type Action,
  aptUpgradeCommand,
  SYSTEMCTL_VERBS,
  systemctlCommand,
  UNIT_NAME,
} from '../executions/actions.ts';
import { newContainer, type NewContainer } from '../executions/pct-create.ts';
import type { ExecutionId } from '../ids.ts';
import { classify } from '../policy/classify.ts';
import { containerToCreate } from './create-container.ts';
import { alreadyRequested, outcomeOf, requestOne, waitForEnd } from './one-execution.ts';
import { defineTool, type ChangeContext } from './tool.ts';

const input = z.strictObject({
  action: z
    .enum(ACTIONS)
    .describe(
      'restart and systemctl take unit, apt_upgrade takes mode, pct_exec takes command, pct_create takes container.',
    ),
  target: z
    .string()
    .trim()
    .min(1)
    .describe(
      'Slug of a host or container. For pct_exec: of the container; for pct_create: of the Proxmox host.',
    ),
  purpose: z
    .string()
    .trim()
    .min(3)
    .max(300)
    .describe('What it is for: the operator decides by it.'),
  unit: z
    .string()
    .regex(UNIT_NAME, 'the name of a systemd unit, like nginx or nginx.service')
    .optional(),
  verb: z.enum(SYSTEMCTL_VERBS).optional().describe('For systemctl.'),
  mode: z.enum(['audit', 'upgrade']).optional().describe('For apt_upgrade: audit only looks.'),
  command: z.string().min(1).optional().describe('For pct_exec: what runs in the container.'),
  container: newContainer.optional().describe('For pct_create: what is created.'),
});

type Input = z.output<typeof input>;

/** The command that an action stands for, or what is missing for it. */
function commandOf(
  action: Exclude<Action, 'pct_create'>,
  args: Input,
): { command: string } | { missing: string } {
  switch (action) {
    case 'restart':
      return args.unit === undefined
        ? { missing: 'unit' }
        : { command: systemctlCommand('restart', args.unit) };
    case 'systemctl':
      if (args.unit === undefined) return { missing: 'unit' };
      return args.verb === undefined
        ? { missing: 'verb' }
        : { command: systemctlCommand(args.verb, args.unit) };
    case 'apt_upgrade':
      return args.mode === undefined
        ? { missing: 'mode' }
        : { command: aptUpgradeCommand(args.mode) };
    case 'pct_exec':
      // A container is entered by its Proxmox host's pct exec whatever is asked of it (X6).
      return args.command === undefined ? { missing: 'command' } : { command: args.command };
  }
}

/** Named actions as thin forms of `run` (X10): same classes, same approvals, same result. */
export const requestExecutionTool = defineTool({
  name: 'request_execution',
  description:
    'A named action on one host or container: restart a unit, a systemctl verb, apt_upgrade (audit only looks, upgrade changes), pct_exec, pct_create. It is judged, approved and told exactly like run; take run for everything else. pct_create finds template and number on the host, checks the gateway of a static address, creates and starts, and puts the container into the graph; what is installed in it you do by run on lxc:<hostname> afterwards.',
  kind: 'change',
  input,
  entity: ({ target }) => target,
  looksOnly: (args) => {
    if (args.action === 'pct_create') return false;
    const made = commandOf(args.action, args);
    return 'command' in made && classify(made.command).risk === 'read_only';
  },
  resumable: true,
  async handler(context, args) {
    const { action, container } = args;
    const made =
      action !== 'pct_create'
        ? commandOf(action, args)
        : container === undefined
          ? { missing: 'container' }
          : { container };
    if ('missing' in made) {
      return { ok: false, value: { error: `${action} needs the field "${made.missing}".` } };
    }
    const id = (await alreadyRequested(context)) ?? (await request(context, args, made));
    return outcomeOf(await waitForEnd(context, id));
  },
});

async function request(
  context: ChangeContext,
  { target, purpose }: Input,
  made: { command: string } | { container: NewContainer },
): Promise<ExecutionId> {
  const wanted =
    'command' in made
      ? () => ({ target, purpose, command: made.command })
      : await containerToCreate(context, { target, purpose, container: made.container });
  return requestOne(context, wanted);
}
