import type { JsonInput, Unit } from '../db/database.ts';
import type { Entity } from '../db/rows.ts';
import { NomosError } from '../errors.ts';
import { asId, type EntityId, type SessionId } from '../ids.ts';
import { safeJson } from '../text/safe.ts';
import { relate } from './load.ts';

/** Most bytes of one entity's attributes as JSON: they go into prompts whole. */
export const MAX_ATTRIBUTE_BYTES = 16 * 1024;

/** A change of the graph that cannot be made: says what is wrong and what is allowed. */
export class GraphError extends NomosError {
  constructor(code: string, message: string, hint?: string) {
    super(code, 'model', message, hint === undefined ? {} : { hint });
  }
}

// They decide where a command goes, or which rules hold for it (X12, P6), or what checks ask by themselves, from inside the network
// (Z6): only who keeps the inventory file may.
const REACH_KEYS: ReadonlySet<string> = new Set([
  'address',
  'ssh_port',
  'ssh_user',
  'host',
  'pve_id',
  'tags',
  'url',
]);
const KEY = /^[a-z][a-z0-9_]{0,63}$/;

/** Who changes the graph, for the audit log. */
interface Author {
  sessionId: SessionId;
  /** `agent`, or an operator. */
  by: string;
}

/**
 * Merges facts into an entity (K8): a key that is given replaces that key, `null` takes it away, all others stay. Returns the
 * keys that have another value now; none is no change, and then nothing is recorded.
 *
 * Throws `GraphError`: a key that is no name or that is reserved, or attributes that grow over `MAX_ATTRIBUTE_BYTES`.
 */
export async function mergeAttributes(
  unit: Unit,
  args: Author & { slug: string; attributes: Readonly<Record<string, unknown>> },
): Promise<{ changed: string[] }> {
  const entity = await lockEntity(unit, args.slug);
  checkKeys(Object.keys(args.attributes));
  const before = entity.attributes as Record<string, unknown>;
  const after = { ...before };
  for (const [key, value] of Object.entries(args.attributes)) {
    if (value === null) delete after[key];
    else after[key] = safeJson(value);
  }
  const changed = Object.keys(args.attributes)
    .filter((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]))
    .toSorted();
  if (changed.length === 0) return { changed };
  const bytes = Buffer.byteLength(JSON.stringify(after));
  if (bytes > MAX_ATTRIBUTE_BYTES) {
    throw new GraphError(
      'attributes_too_large',
      `The attributes of ${args.slug} would be ${bytes} bytes; allowed are ${MAX_ATTRIBUTE_BYTES}.`,
      'Attributes are short facts. Take old ones away with null, and keep long text as knowledge.',
    );
  }
  await unit.db.entity.update({
    where: { id: entity.id },
    data: { attributes: after as JsonInput, updatedAt: new Date() },
  });
  unit.emit({
    type: 'graph.changed',
    sessionId: args.sessionId,
    refId: entity.id,
    data: { keys: changed },
  });
  unit.audit({
    actor: args.by,
    action: 'graph.attributes_changed',
    sessionId: args.sessionId,
    subject: args.slug,
    data: {
      before: Object.fromEntries(changed.map((key) => [key, before[key] ?? null])),
      after: Object.fromEntries(changed.map((key) => [key, after[key] ?? null])),
    },
  });
  return { changed };
}

/** Throws `GraphError` for a key that is no name, or that is reserved. */
export function checkKeys(keys: readonly string[]): void {
  const reserved = keys.filter((key) => REACH_KEYS.has(key));
  if (reserved.length > 0) {
    throw new GraphError(
      'attribute_reserved',
      `${reserved.join(', ')}: these decide where commands and checks go and which rules hold; only the inventory file changes them.`,
      'Note what you found under another key, such as lan_address, and tell the operator if the inventory is wrong.',
    );
  }
  const bad = keys.filter((key) => !KEY.test(key));
  if (bad.length > 0) {
    throw new GraphError(
      'attribute_key_invalid',
      `${bad.map((key) => JSON.stringify(key.slice(0, 70))).join(', ')} cannot be an attribute: a key is lower-case letters, digits and _, begins with a letter and has at most 64 characters.`,
    );
  }
}

/**
 * Adds a relation between two entities (K8), as the ontology allows it: types of both ends, direction, and how many there may
 * be. A relation that holds already stays as it is. Throws `GraphError`.
 */
export async function addRelation(
  unit: Unit,
  args: Author & { source: string; type: string; target: string },
): Promise<{ added: boolean }> {
  const type = await unit.db.relationshipType.findUnique({ where: { name: args.type } });
  if (type === null) {
    const known = await unit.db.relationshipType.findMany({ orderBy: { name: 'asc' } });
    throw new GraphError(
      'relation_type_unknown',
      `There is no relation type "${args.type}".`,
      `There are: ${known.map(({ name }) => name).join(', ')}.`,
    );
  }
  if (args.source === args.target) {
    throw new GraphError('relation_to_itself', `${args.source} cannot be related to itself.`);
  }
  // Always in one order, so that two tasks cannot wait for each other.
  const ends = new Map<string, Entity>();
  for (const slug of [args.source, args.target].toSorted()) {
    ends.set(slug, await lockEntity(unit, slug));
  }
  const source = entityOf(ends, args.source);
  const target = entityOf(ends, args.target);
  const fits = type.sourceTypes.includes(source.type) && type.targetTypes.includes(target.type);
  if (!fits) {
    const turned =
      type.sourceTypes.includes(target.type) && type.targetTypes.includes(source.type)
        ? ` The other way round it is allowed: ${target.slug} ${type.name} ${source.slug}.`
        : '';
    throw new GraphError(
      'relation_not_allowed',
      `A ${source.type} cannot stand in ${type.name} to a ${target.type}.${turned}`,
      `${type.name} goes from ${type.sourceTypes.join(', ')} to ${type.targetTypes.join(', ')}: ${type.description}`,
    );
  }
  const held = await unit.db.relationship.findFirst({
    where: { sourceId: source.id, type: type.name, targetId: target.id, validTo: null },
    select: { id: true },
  });
  if (held !== null) return { added: false };
  await checkCardinality(unit, type, source, target);
  await relate(unit, {
    sourceId: asId<EntityId>(source.id),
    type: type.name,
    targetId: asId<EntityId>(target.id),
    origin: args.by,
  });
  const data = { source: source.slug, type: type.name, target: target.slug };
  unit.emit({ type: 'graph.changed', sessionId: args.sessionId, refId: source.id, data });
  unit.audit({
    actor: args.by,
    action: 'graph.relation_added',
    sessionId: args.sessionId,
    subject: source.slug,
    data,
  });
  return { added: true };
}

async function checkCardinality(
  unit: Unit,
  type: { name: string; cardinality: string },
  source: Entity,
  target: Entity,
): Promise<void> {
  const [sources, targets] = type.cardinality.split('-to-');
  const current = { type: type.name, validTo: null };
  if (targets === 'one') {
    const other = await unit.db.relationship.findFirst({
      where: { ...current, sourceId: source.id },
      select: { target: { select: { slug: true } } },
    });
    if (other !== null) {
      throw tooMany(type, `${source.slug} ${type.name} ${other.target.slug} already`);
    }
  }
  if (sources === 'one') {
    const other = await unit.db.relationship.findFirst({
      where: { ...current, targetId: target.id },
      select: { source: { select: { slug: true } } },
    });
    if (other !== null) {
      throw tooMany(type, `${other.source.slug} ${type.name} ${target.slug} already`);
    }
  }
}

function tooMany(type: { name: string; cardinality: string }, held: string): GraphError {
  return new GraphError(
    'relation_too_many',
    `${held}, and ${type.name} is ${type.cardinality}.`,
    'If that relation is wrong or has ended, tell the operator: the inventory file has to say so.',
  );
}

function entityOf(ends: ReadonlyMap<string, Entity>, slug: string): Entity {
  const entity = ends.get(slug);
  if (entity === undefined) throw new TypeError(`${slug} was not looked up`);
  return entity;
}

/** The entity, locked until the unit's end, so that two merges at once both count. The slug is known to exist. */
async function lockEntity(unit: Unit, slug: string): Promise<Entity> {
  await unit.db.$queryRaw`SELECT 1 FROM entities WHERE slug = ${slug} FOR UPDATE`;
  return unit.db.entity.findUniqueOrThrow({ where: { slug } });
}
