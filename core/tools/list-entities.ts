import { z } from 'zod';
import { listEntities } from '../graph/read.ts';
import { describeEntity } from './describe-entity.ts';
import { defineTool } from './tool.ts';

const LIMIT = 200;

/** Entities of the fleet graph by type, state, health and text, in one call. */
export const listEntitiesTool = defineTool({
  name: 'list_entities',
  description:
    'Entities of the fleet graph with state, health, address and facts, all in one call. Filters narrow it; without any, everything. At most 200.',
  kind: 'read',
  input: z.strictObject({
    type: z
      .array(z.string())
      .optional()
      .describe('Types such as "host", "lxc", "vm", "service", "storage".'),
    state: z
      .array(z.string())
      .optional()
      .describe('States such as "active", "stopped", "retired".'),
    health: z.string().optional().describe('"healthy", "degraded", "down", "stale" or "unknown".'),
    text: z.string().min(1).optional().describe('A text that must stand in slug, name or facts.'),
  }),
  async handler({ db }, { type, state, health, text }) {
    const found = await listEntities(db, {
      ...(type === undefined ? {} : { types: type }),
      ...(state === undefined ? {} : { states: state }),
      ...(health === undefined ? {} : { health }),
      ...(text === undefined ? {} : { text }),
      limit: LIMIT + 1,
    });
    const entities = found.slice(0, LIMIT).map((entity) => describeEntity(entity));
    return {
      ok: true,
      value: {
        count: entities.length,
        ...(found.length > LIMIT
          ? { note: `There are more than ${LIMIT}: narrow it with a filter.` }
          : {}),
        entities,
      },
    };
  },
});
