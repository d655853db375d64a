import { z } from 'zod';
import type { Reader } from '../db/database.ts';
import { NomosError } from '../errors.ts';
import { getEntity, listEntities, type EntityListing } from '../graph/read.ts';
import { formatDuration } from '../text/duration.ts';

const SUGGESTIONS = 8;

/** The parameter of a look at one entity or, left out, at the whole fleet. */
export const oneOrAll = z
  .string()
  .min(1)
  .optional()
  .describe('Slug, or a name that only one entity has. Without it the whole fleet.');

/** An entity as the model gets it: what it is, how it is, where it is, and how old that knowledge is (F1). */
export function describeEntity(
  entity: EntityListing,
  now: Date = new Date(),
): Record<string, unknown> {
  const { lan_address, address, ...facts } = entity.attributes;
  return {
    slug: entity.slug,
    type: entity.type,
    name: entity.name,
    state: entity.state,
    health: entity.health,
    checked:
      entity.checkedAt === null
        ? 'never'
        : `${formatDuration(now.getTime() - entity.checkedAt.getTime())} ago`,
    ...(typeof (lan_address ?? address) === 'string' ? { address: lan_address ?? address } : {}),
    ...(Object.keys(facts).length === 0 ? {} : { attributes: facts }),
  };
}

/** The entity that a model named by slug or by a name that only one has. Throws `entity_unknown` with names that are near. */
export async function findEntity(db: Reader, name: string): Promise<EntityListing> {
  const entity = await getEntity(db, name);
  if (entity !== null) return entity;
  const bare = name.slice(name.indexOf(':') + 1);
  const near = bare === '' ? [] : await listEntities(db, { text: bare, limit: SUGGESTIONS });
  const named = near.filter((candidate) => candidate.name === name);
  throw new NomosError(
    'entity_unknown',
    'model',
    named.length > 1
      ? `"${name}" can be ${named.map((candidate) => candidate.slug).join(' or ')}: give the whole slug.`
      : `There is no entity "${name}" in the fleet graph.`,
    {
      fields: { name },
      hint:
        near.length === 0
          ? 'list_entities shows what there is.'
          : `Near it are: ${near.map((candidate) => candidate.slug).join(', ')}.`,
    },
  );
}
