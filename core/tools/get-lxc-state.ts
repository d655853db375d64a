import { z } from 'zod';
import { containerStateCommand, readContainerState } from '../executions/container-state.ts';
import { NomosError } from '../errors.ts';
import { resolveTarget } from '../graph/targets.ts';
import { describeEntity, findEntity } from './describe-entity.ts';
import { alreadyRequested, outcomeOf, requestOne, waitForEnd } from './one-execution.ts';
import { defineTool } from './tool.ts';

/** How one container is now, by its Proxmox host. */
export const getLxcStateTool = defineTool({
  name: 'get_lxc_state',
  description:
    'How one container is at this moment, asked of its Proxmox host: running or stopped, memory, disk, uptime, and its configuration (net0, features, mounts). Goes over SSH: for one container that you name; list_lxcs answers for all of them in one call.',
  kind: 'change',
  input: z.strictObject({
    slug: z.string().trim().min(1).describe('Slug of the container, such as "lxc:dns".'),
  }),
  entity: ({ slug }) => slug,
  looksOnly: () => true,
  resumable: true,
  async handler(context, { slug }) {
    const { read } = context.database;
    const entity = await findEntity(read, slug);
    const { target } = await resolveTarget(read, entity.slug);
    const { container, host } = target;
    if (container === undefined) {
      throw new NomosError(
        'not_a_container',
        'model',
        `${entity.slug} is a ${entity.type}, not a container of a Proxmox host.`,
        { hint: 'get_entity tells about it; run looks at the machine itself.' },
      );
    }
    const id =
      (await alreadyRequested(context)) ??
      (await requestOne(context, () => ({
        target: host.slug,
        command: containerStateCommand(container.pveId),
        purpose: `Look how ${entity.slug} is`,
      })));
    const awaited = await waitForEnd(context, id);
    const { execution, teller } = awaited;
    const state =
      teller !== 'note' && execution.status === 'completed'
        ? readContainerState(execution.stdout)
        : undefined;
    if (state === undefined) return { ...outcomeOf(awaited), entity: entity.slug };
    const { slug: known, state: noted, health, checked } = describeEntity(entity);
    return {
      ok: true,
      value: {
        slug: known,
        host: host.slug,
        pve_id: container.pveId,
        status: state.status,
        ...state.live,
        config: state.config,
        in_graph: { state: noted, health, checked },
        execution_id: execution.shortId,
      },
      entity: entity.slug,
    };
  },
});
