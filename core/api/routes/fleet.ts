import { z } from 'zod';
import type { Reader } from '../../db/database.ts';
import { NotFoundError } from '../../errors.ts';
import { blastRadius, blastShape } from '../../graph/blast-radius.ts';
import { getEntity, listEntities, listRelations, type EntityListing } from '../../graph/read.ts';
import { edgesAmong, nodesOf, slugsAround } from '../../graph/subgraph.ts';
import { asId, type EntityId } from '../../ids.ts';
import { count, pageSize, plainText, words } from '../fields.ts';
import { ApiError } from '../problem.ts';
import { lookRoute, type Route } from '../route.ts';

/** How much of the graph one answer shows. */
const MAX_NODES = 1_000;

const name = plainText(200).min(1, 'it is empty');
const bySlug = z.strictObject({
  slug: name.describe('Such as `host:web-1`; or a name that only one entity has.'),
});
const listQuery = z.strictObject({
  type: name.optional(),
  state: name.optional(),
  health: name.optional().describe('As the checks last saw it; `unknown` without one.'),
  text: words(200).optional().describe('Looked for in slug, name and attributes.'),
  limit: pageSize({ max: 1_000, otherwise: 200 }),
  before: z
    .string()
    .max(400)
    .regex(/^[^~\0]+~[^\0]+$/, 'is not the "next" of an earlier page')
    .optional()
    .describe('The `next` of the page before.'),
});
const graphQuery = z.strictObject({
  around: name.optional().describe('Only what is connected with this entity. Else everything.'),
  depth: count({ min: 1, max: 4 })
    .optional()
    .describe('Over so many relations, in whatever direction. Only with `around`; 2 if left out.'),
  limit: pageSize({ max: MAX_NODES, otherwise: 200 }),
});

const entity = z.object({
  slug: z.string(),
  type: z.string(),
  name: z.string(),
  state: z.string(),
  health: z.string(),
  checkedAt: z.date().nullable(),
  attributes: z.record(z.string(), z.unknown()),
});
const node = entity.omit({ checkedAt: true, attributes: true });
const dependent = z
  .string()
  .describe('Which side suffers when the other fails: source, target, or none.');

/** The fleet: entities, the graph, and what depends on what (F3, P8). */
export const fleetRoutes: readonly Route[] = [
  lookRoute({
    path: '/api/v1/entities',
    tag: 'fleet',
    summary: 'Entities, by type and slug',
    query: listQuery,
    answer: z.object({
      entities: z.array(entity),
      next: z.string().nullable().describe('The `before` of the following page; null at the end.'),
    }),
    async handle({ deps, query }) {
      const { type, state, health, text, limit, before } = query;
      const found = await listEntities(deps.database.read, {
        ...(type === undefined ? {} : { types: [type] }),
        ...(state === undefined ? {} : { states: [state] }),
        ...(health === undefined ? {} : { health }),
        ...(text === undefined ? {} : { text }),
        ...(before === undefined ? {} : { after: readCursor(before) }),
        limit: limit + 1,
      });
      const page = found.slice(0, limit);
      const last = page.at(-1);
      return {
        entities: page.map(shown),
        next: found.length > limit && last !== undefined ? `${last.type}~${last.slug}` : null,
      };
    },
  }),
  lookRoute({
    path: '/api/v1/entities/:slug',
    tag: 'fleet',
    summary: 'One entity with its current relations',
    params: bySlug,
    answer: entity.extend({
      relations: z.array(
        z.object({
          direction: z.enum(['out', 'in']),
          type: z.string(),
          slug: z.string().describe('The other end.'),
        }),
      ),
    }),
    async handle({ deps, params: { slug } }) {
      const db = deps.database.read;
      const found = await find(db, slug);
      return { ...shown(found), relations: await listRelations(db, found.slug) };
    },
  }),
  lookRoute({
    path: '/api/v1/entities/:slug/blast-radius',
    tag: 'fleet',
    summary: 'What depends on an entity, directly and through others',
    notes: '`names` are the nearest 30; `total` and `byDepth` count all, six relations far.',
    params: bySlug,
    answer: z.object({ slug: z.string(), ...blastShape.omit({ version: true }).shape }),
    async handle({ deps, params: { slug } }) {
      const db = deps.database.read;
      const found = await find(db, slug);
      const { id } = await db.entity.findUniqueOrThrow({
        where: { slug: found.slug },
        select: { id: true },
      });
      const { total, byDepth, names } = await blastRadius(db, asId<EntityId>(id));
      return { slug: found.slug, total, byDepth, names };
    },
  }),
  lookRoute({
    path: '/api/v1/graph',
    tag: 'fleet',
    summary: 'The fleet graph, or the part of it around an entity',
    notes: 'Edges are the current relations among the nodes that are shown.',
    query: graphQuery,
    problems: ['not_found'],
    answer: z.object({
      nodes: z.array(node),
      edges: z.array(
        z.object({ source: z.string(), type: z.string(), target: z.string(), dependent }),
      ),
      cut: z.boolean().describe('Whether there are more nodes than `limit`.'),
    }),
    async handle({ deps, query: { around, depth, limit } }) {
      const db = deps.database.read;
      if (around === undefined && depth !== undefined) {
        throw new ApiError('request_invalid', 'depth: goes only with around');
      }
      const slugs =
        around === undefined
          ? (await listEntities(db, { limit: limit + 1 })).map(({ slug }) => slug)
          : await slugsAround(db, (await find(db, around)).slug, {
              depth: depth ?? 2,
              limit: limit + 1,
            });
      const drawn = slugs.slice(0, limit);
      const [nodes, edges] = await Promise.all([nodesOf(db, drawn), edgesAmong(db, drawn)]);
      return { nodes, edges, cut: slugs.length > limit };
    },
  }),
];

async function find(db: Reader, slug: string): Promise<EntityListing> {
  const found = await getEntity(db, slug);
  if (found === null) throw new NotFoundError('entity', slug);
  return found;
}

// A list of entities is ordered by type and slug; a type has no "~".
function readCursor(cursor: string): { type: string; slug: string } {
  const at = cursor.indexOf('~');
  return { type: cursor.slice(0, at), slug: cursor.slice(at + 1) };
}

function shown(found: EntityListing): z.input<typeof entity> {
  const { slug, type, name: called, state, health, checkedAt, attributes } = found;
  return { slug, type, name: called, state, health, checkedAt, attributes };
}
