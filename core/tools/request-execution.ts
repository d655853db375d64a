import { z } from 'zod';
import {
  ACTIONS,
  aptUpgradeCommand,
  SYSTEMCTL_VERBS,
  systemctlCommand,
  UNIT_NAME,
} from '../executions/actions.ts';
import { newContainer, pctCreateCommand } from '../executions/pct-create.ts';
import { classify } from '../policy/classify.ts';
import { runTool } from './run.ts';
import { defineTool } from './tool.ts';

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
function commandOf(args: Input): { command: string } | { missing: string } {
  switch (args.action) {
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
    case 'pct_create':
      return args.container === undefined
        ? { missing: 'container' }
        : { command: pctCreateCommand(args.container) };
  }
}

/** Named actions as thin forms of `run` (X10): same classes, same approvals, same result. */
export const requestExecutionTool = defineTool({
  name: 'request_execution',
  description:
    'A named action on one host or container: restart a unit, a systemctl verb, apt_upgrade (audit only looks, upgrade changes), pct_exec, pct_create. It is judged, approved and told exactly like run; take run for everything else.',
  kind: 'change',
  input,
  entity: ({ target }) => target,
  looksOnly: (args) => {
    const made = commandOf(args);
    return 'command' in made && classify(made.command).risk === 'read_only';
  },
  resumable: true,
  async handler(context, args) {
    const made = commandOf(args);
    if ('missing' in made) {
      return { ok: false, value: { error: `${args.action} needs the field "${made.missing}".` } };
    }
    const { target, purpose } = args;
    const call = runTool.prepare({ target, purpose, command: made.command });
    if (!call.ok) return { ok: false, value: { error: call.problem } };
    if (call.kind !== 'change') throw new Error('run is a change');
    return call.run(context);
  },
});
