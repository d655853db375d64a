import { z } from 'zod';
import { newestNotes } from '../knowledge/queries.ts';
import { findEntity } from './describe-entity.ts';
import { noteWithText } from './note-for-model.ts';
import { defineTool } from './tool.ts';

const BYTES = 12 * 1024;

/** What was written about one entity (K7). */
export const getEntityKnowledgeTool = defineTool({
  name: 'get_entity_knowledge',
  description:
    'The notes about one entity, the newest first, each with its text and with what became of the task that wrote it. Take it before you change something on a machine or service: somebody may have found out already what is special about it.',
  kind: 'read',
  input: z.strictObject({
    slug: z.string().min(1).describe('Slug, or a name that only one entity has.'),
    limit: z.int().min(1).max(20).default(5),
  }),
  entity: ({ slug }) => slug,
  async handler({ db }, { slug, limit }) {
    const entity = await findEntity(db, slug);
    const { id } = await db.entity.findUniqueOrThrow({
      where: { slug: entity.slug },
      select: { id: true },
    });
    const notes = await newestNotes(db, { entityId: id, limit });
    const each = Math.floor(BYTES / Math.max(1, notes.length));
    return {
      ok: true,
      value: {
        slug: entity.slug,
        count: notes.length,
        notes: notes.map((note) => noteWithText(note, each)),
      },
      entity: entity.slug,
    };
  },
});
