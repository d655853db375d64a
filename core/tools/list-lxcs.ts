import { z } from 'zod';
import { listEntities } from '../graph/read.ts';
import { describeEntity } from './describe-entity.ts';
import { defineTool } from './tool.ts';

const LIMIT = 200;

/** The system containers, active ones unless asked otherwise (audit 5.1). */
export const listLxcsTool = defineTool({
  name: 'list_lxcs',
  description:
    'The LXC containers with state, health, address, number and Proxmox host, in one call. Shows the active ones unless another state, or "all", is asked for.',
  kind: 'read',
  input: z.strictObject({
    state: z.string().default('active').describe('One state, or "all". Default: "active".'),
  }),
  async handler({ db }, { state }) {
    const found = await listEntities(db, {
      types: ['lxc'],
      ...(state === 'all' ? {} : { states: [state] }),
      limit: LIMIT + 1,
    });
    const containers = found.slice(0, LIMIT).map((entity) => describeEntity(entity));
    return {
      ok: true,
      value: {
        state,
        count: containers.length,
        ...(found.length > LIMIT
          ? { note: `There are more than ${LIMIT}; list_entities can narrow it.` }
          : {}),
        containers,
      },
    };
  },
});
