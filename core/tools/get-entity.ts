import { z } from 'zod';
import { listRelations } from '../graph/read.ts';
import { describeEntity, findEntity } from './describe-entity.ts';
import { defineTool } from './tool.ts';

/** One entity with all its facts and relations. */
export const getEntityTool = defineTool({
  name: 'get_entity',
  description:
    'One entity of the fleet graph: state, health, address, every known fact, and its relations. For more than one, list_entities in one call is cheaper.',
  kind: 'read',
  input: z.strictObject({
    slug: z
      .string()
      .min(1)
      .describe('Slug such as "host:web-1", or a name that only one entity has, such as "web-1".'),
  }),
  entity: ({ slug }) => slug,
  async handler({ db }, { slug }) {
    const entity = await findEntity(db, slug);
    const relations = await listRelations(db, entity.slug);
    return { ok: true, value: { ...describeEntity(entity), relations }, entity: entity.slug };
  },
});
