import { z } from 'zod';
import { mergeAttributes } from '../graph/change.ts';
import { findEntity } from './describe-entity.ts';
import { defineTool } from './tool.ts';

/** Writes facts back to an entity (K8). */
export const updateEntityAttributesTool = defineTool({
  name: 'update_entity_attributes',
  description:
    'Writes down facts about an entity: versions, ports, paths, addresses found, what was changed. Merged with what is there: a given key replaces that key, null takes it away, the rest stays. Needs no approval. Write back whatever this task found out or changed, before complete_task.',
  kind: 'task',
  input: z.strictObject({
    slug: z.string().min(1).describe('Slug, or a name that only one entity has.'),
    attributes: z
      .record(z.string(), z.unknown())
      .refine((given) => Object.keys(given).length > 0, 'give at least one attribute')
      .describe(
        'Short facts by key, such as {"nginx_version": "1.26.2", "data_dir": "/srv/www"}. Keys are lower-case letters, digits and _.',
      ),
  }),
  entity: ({ slug }) => slug,
  async handler({ unit, sessionId }, { slug, attributes }) {
    const entity = await findEntity(unit.db, slug);
    const { changed } = await mergeAttributes(unit, {
      sessionId,
      by: 'agent',
      slug: entity.slug,
      attributes,
    });
    return {
      ok: true,
      value: {
        slug: entity.slug,
        changed,
        ...(changed.length === 0 ? { note: 'All of this was noted already.' } : {}),
      },
      entity: entity.slug,
    };
  },
});
