import { z } from 'zod';
import { blastRadius } from '../graph/blast-radius.ts';
import type { EntityId } from '../ids.ts';
import { findEntity } from './describe-entity.ts';
import { defineTool } from './tool.ts';

/** What fails when an entity does (P8). */
export const getBlastRadiusTool = defineTool({
  name: 'get_blast_radius',
  description:
    'What depends on an entity, directly (depth 1) and through others, and so fails or is at risk when it is stopped or changed. Look before you propose a change to something that others use.',
  kind: 'read',
  input: z.strictObject({
    slug: z.string().min(1).describe('Slug, or a name that only one entity has.'),
  }),
  entity: ({ slug }) => slug,
  async handler({ db }, { slug }) {
    const { slug: found } = await findEntity(db, slug);
    const { id } = await db.entity.findUniqueOrThrow({
      where: { slug: found },
      select: { id: true },
    });
    const { version: _version, ...blast } = await blastRadius(db, id as EntityId);
    return { ok: true, value: { slug: found, ...blast }, entity: found };
  },
});
