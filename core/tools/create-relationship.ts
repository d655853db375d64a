import { z } from 'zod';
import { addRelation } from '../graph/change.ts';
import { findEntity } from './describe-entity.ts';
import { defineTool } from './tool.ts';

/** Writes a relation back to the graph (K8). */
export const createRelationshipTool = defineTool({
  name: 'create_relationship',
  description:
    'Writes down how two entities hang together, as "source type target": "service:nginx@web-1 depends_on service:postgres@db-1". Types, direction and number are checked against the ontology; one that is noted already stays. Needs no approval. The blast radius of later tasks is worked out from these.',
  kind: 'task',
  input: z.strictObject({
    source: z.string().min(1).describe('Slug, or a name that only one entity has.'),
    type: z.string().min(1).describe('Such as runs_on, depends_on, hosts, mounts, routes_to.'),
    target: z.string().min(1).describe('Slug, or a name that only one entity has.'),
  }),
  entity: ({ source }) => source,
  entities: ({ source, target }) => [source, target],
  async handler({ unit, sessionId }, { source, type, target }) {
    const from = await findEntity(unit.db, source);
    const to = await findEntity(unit.db, target);
    const { added } = await addRelation(unit, {
      sessionId,
      by: 'agent',
      source: from.slug,
      type,
      target: to.slug,
    });
    return {
      ok: true,
      value: {
        relation: `${from.slug} ${type} ${to.slug}`,
        ...(added ? { added } : { added, note: 'This was noted already.' }),
      },
      entity: from.slug,
    };
  },
});
