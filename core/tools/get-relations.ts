import { z } from 'zod';
import { listRelations } from '../graph/read.ts';
import { findEntity } from './describe-entity.ts';
import { defineTool } from './tool.ts';

/** What an entity is connected with. */
export const getRelationsTool = defineTool({
  name: 'get_relations',
  description:
    'The current relations of an entity, both ways: "out" reads "it <type> the other", "in" reads "the other <type> it".',
  kind: 'read',
  input: z.strictObject({
    slug: z.string().min(1).describe('Slug, or a name that only one entity has.'),
  }),
  entity: ({ slug }) => slug,
  async handler({ db }, { slug }) {
    const entity = await findEntity(db, slug);
    const relations = await listRelations(db, entity.slug);
    return {
      ok: true,
      value: { slug: entity.slug, count: relations.length, relations },
      entity: entity.slug,
    };
  },
});
