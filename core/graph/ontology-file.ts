import { z } from 'zod';
import { YamlSource, listed, quote } from '../yaml-source.ts';

/** How a command gets to an entity: over SSH, by `pct exec` on its Proxmox host, or not at all. */
export type Reach = 'ssh' | 'pct' | 'none';

/** A state an entity may be in, and whether a command may be sent to it then (P9). */
export interface EntityState {
  readonly name: string;
  readonly runnable: boolean;
}

/** A kind of entity. `states` is never empty; the first one is the default. */
export interface EntityType {
  readonly name: string;
  readonly description: string;
  readonly reach: Reach;
  /** Whether commands can run on such an entity at all: `reach` is not `none`. */
  readonly runnable: boolean;
  readonly states: readonly EntityState[];
}

/** How many edges of a type may leave a source and reach a target; read as source-to-target. */
export type Cardinality = 'one-to-one' | 'one-to-many' | 'many-to-one' | 'many-to-many';

/** The side of a relation that suffers when the other side fails; blast radius follows it (P8). */
export type Dependent = 'source' | 'target' | 'none';

/** A kind of relation. `sources` and `targets` name entity types, with `*` already resolved. */
export interface RelationshipType {
  readonly name: string;
  readonly description: string;
  readonly sources: readonly string[];
  readonly targets: readonly string[];
  readonly cardinality: Cardinality;
  readonly dependent: Dependent;
}

/** The types that the fleet graph is made of (F3). */
export interface Ontology {
  readonly file: string;
  readonly entityTypes: ReadonlyMap<string, EntityType>;
  readonly relationshipTypes: ReadonlyMap<string, RelationshipType>;
}

const typeName = z
  .string()
  .regex(
    /^[a-z][a-z0-9_]{0,39}$/,
    'a name is lower-case letters, digits and _, at most 40 characters',
  );
const description = z.string().min(1, 'a description must say something');
const typeList = z.array(z.string()).min(1, 'at least one entity type, or ["*"] for all');

const schema = z.strictObject({
  version: z.literal(1, 'this version of Nomos reads version 1'),
  entity_types: z.record(
    typeName,
    z.strictObject({
      description,
      reach: z.enum(['ssh', 'pct', 'none'], 'allowed: ssh, pct, none').default('none'),
      states: z.array(typeName).min(1, 'at least one state'),
      refused_states: z.array(z.string()).default([]),
    }),
  ),
  relationship_types: z.record(
    typeName,
    z.strictObject({
      description,
      source: typeList,
      target: typeList,
      cardinality: z.enum(
        ['one-to-one', 'one-to-many', 'many-to-one', 'many-to-many'],
        'allowed: one-to-one, one-to-many, many-to-one, many-to-many',
      ),
      dependent: z.enum(['source', 'target', 'none'], 'allowed: source, target, none'),
    }),
  ),
});

type File = z.infer<typeof schema>;

/**
 * Reads the ontology from a YAML file (`seeds/ontology.yaml` describes the format). Throws
 * `YamlFileError` that names file, line, the offending value and what is allowed.
 */
export function loadOntology(path: string): Ontology {
  return ontologyFrom(YamlSource.read(path));
}

/** As `loadOntology`, for text; `file` is the name used in messages. */
export function parseOntology(text: string, file: string): Ontology {
  return ontologyFrom(YamlSource.parse(file, text));
}

function ontologyFrom(source: YamlSource): Ontology {
  const file = source.check(schema);
  const entityTypes = readEntityTypes(source, file);
  const relationshipTypes = readRelationshipTypes(source, file);
  source.throwIfWrong();
  return { file: source.file, entityTypes, relationshipTypes };
}

function readEntityTypes(source: YamlSource, file: File): Map<string, EntityType> {
  const types = new Map<string, EntityType>();
  for (const [name, given] of Object.entries(file.entity_types)) {
    const path = ['entity_types', name];
    given.states.forEach((state, index) => {
      if (given.states.indexOf(state) !== index) {
        source.add([...path, 'states', index], `state ${quote(state)} of ${name} is listed twice`);
      }
    });
    given.refused_states.forEach((state, index) => {
      if (!given.states.includes(state)) {
        source.add(
          [...path, 'refused_states', index],
          `unknown state ${quote(state)} of ${name}; its states: ${listed(given.states)}`,
        );
      }
    });
    if (given.reach === 'none' && given.refused_states.length > 0) {
      source.add(
        [...path, 'refused_states'],
        `${name} has reach none, so no command is ever sent to it; leave refused_states out`,
      );
    }
    const runnable = given.reach !== 'none';
    const states = given.states.map((state) => ({
      name: state,
      runnable: runnable && !given.refused_states.includes(state),
    }));
    types.set(name, {
      name,
      description: given.description.trim(),
      reach: given.reach,
      runnable,
      states,
    });
  }
  return types;
}

function readRelationshipTypes(source: YamlSource, file: File): Map<string, RelationshipType> {
  const known = Object.keys(file.entity_types);
  const resolve = (name: string, side: 'source' | 'target', names: readonly string[]) => {
    if (names.length === 1 && names[0] === '*') return known;
    names.forEach((type, index) => {
      const path = ['relationship_types', name, side, index];
      if (!known.includes(type)) {
        source.add(
          path,
          `unknown entity type ${quote(type)} as ${side} of ${name}; known: ${listed(known)}, or "*" alone`,
        );
      } else if (names.indexOf(type) !== index) {
        source.add(path, `entity type ${quote(type)} is listed twice as ${side} of ${name}`);
      }
    });
    return names;
  };
  const types = new Map<string, RelationshipType>();
  for (const [name, given] of Object.entries(file.relationship_types)) {
    types.set(name, {
      name,
      description: given.description.trim(),
      sources: resolve(name, 'source', given.source),
      targets: resolve(name, 'target', given.target),
      cardinality: given.cardinality,
      dependent: given.dependent,
    });
  }
  return types;
}
