import { z } from 'zod';
import { countStates, listEntities } from '../graph/read.ts';
import { describeEntity } from './describe-entity.ts';
import { defineTool } from './tool.ts';

const LIMIT = 200;

/** The system containers, active ones unless asked otherwise (audit 5.1). */
export const listLxcsTool = defineTool({
  name: 'list_lxcs',
  description:
    'The LXC containers with state, health, address, number and Proxmox host, in one call. Shows the active ones unless other states, or "all", are asked for, and says how many there are in the others.',
  kind: 'read',
  input: z.strictObject({
    state: z
      .array(z.string())
      .default(['active'])
      .describe('States such as "active" or "provisioning", or "all". Default: active.'),
    health: z.string().optional().describe('"healthy", "degraded", "down", "stale" or "unknown".'),
    text: z.string().min(1).optional().describe('A text that must stand in slug, name or facts.'),
  }),
  async handler({ db }, { state, health, text }) {
    const all = state.includes('all');
    const [found, counts] = await Promise.all([
      listEntities(db, {
        types: ['lxc'],
        ...(all ? {} : { states: state }),
        ...(health === undefined ? {} : { health }),
        ...(text === undefined ? {} : { text }),
        limit: LIMIT + 1,
      }),
      countStates(db, 'lxc'),
    ]);
    const containers = found.slice(0, LIMIT).map((entity) => describeEntity(entity));
    const others = Object.fromEntries(
      Object.entries(counts).filter(([name]) => !all && !state.includes(name)),
    );
    return {
      ok: true,
      value: {
        state: all ? 'all' : state.join(', '),
        count: containers.length,
        ...(Object.keys(others).length === 0 ? {} : { not_shown: others }),
        ...(found.length > LIMIT
          ? { note: `There are more than ${LIMIT}: narrow it with text or health.` }
          : {}),
        containers,
      },
    };
  },
});
