import type { Ontology, RelationshipType } from './ontology-file.ts';
import { listed, quote } from '../yaml-source.ts';
import type { YamlSource } from '../yaml-source.ts';

/** An entity as the inventory file states it. */
export interface InventoryEntity {
  /** `type:name`, unique in the file. */
  readonly slug: string;
  readonly type: string;
  readonly name: string;
  readonly state: string;
  /** Facts; what a target needs has been checked (see `loadInventory`). */
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Where it stands in the file, counted from 1. */
  readonly line: number;
}

/** A relation between two entities of the file, by slug. */
export interface InventoryRelation {
  readonly source: string;
  readonly type: string;
  readonly target: string;
  readonly line: number;
}

/** Where a value stands in the file. */
export type Path = readonly (string | number)[];

/** A relation and the place in the file that it comes from. */
export interface Placed {
  readonly relation: InventoryRelation;
  readonly path: Path;
}

/** A container's `host` attribute says the same as a `hosts` relation; it need not be written twice. */
export function impliedHosts(
  source: YamlSource,
  ontology: Ontology,
  given: readonly { slug: string; type: string; attributes: Readonly<Record<string, unknown>> }[],
  entities: ReadonlyMap<string, InventoryEntity>,
  written: readonly (readonly [string, string, string])[],
): Placed[] {
  const implied: Placed[] = [];
  given.forEach(({ slug, type, attributes }, index) => {
    const host = attributes['host'];
    if (ontology.entityTypes.get(type)?.reach !== 'pct' || typeof host !== 'string') return;
    const path = ['entities', index, 'attributes', 'host'];
    if (!entities.has(host)) {
      const hosts = [...entities.values()].filter(
        (entity) => ontology.entityTypes.get(entity.type)?.reach === 'ssh',
      );
      source.add(
        path,
        `host ${quote(host)} of ${slug} is not in this file; known: ${listed(hosts.map((h) => h.slug))}`,
      );
      return;
    }
    const stated = written.some(
      ([from, relation, to]) => from === host && relation === 'hosts' && to === slug,
    );
    if (stated || !ontology.relationshipTypes.has('hosts')) return;
    const line = source.lineOf(path);
    implied.push({ relation: { source: host, type: 'hosts', target: slug, line }, path });
  });
  return implied;
}

/** Checks types, ends, doubles and cardinality; notes what is wrong and returns the sound relations. */
export function checkRelations(
  source: YamlSource,
  ontology: Ontology,
  entities: ReadonlyMap<string, InventoryEntity>,
  placed: readonly Placed[],
): InventoryRelation[] {
  const seen = new Map<string, InventoryRelation>();
  const bySource = new Map<string, InventoryRelation>();
  const byTarget = new Map<string, InventoryRelation>();
  for (const { relation, path } of placed) {
    const type = ontology.relationshipTypes.get(relation.type);
    const inList = path[0] === 'relations';
    if (!type) {
      source.add(
        [...path, 1],
        `unknown relation type ${quote(relation.type)}; known: ${listed(ontology.relationshipTypes.keys())}`,
      );
      continue;
    }
    const ends = [
      ['source', relation.source, type.sources, 0],
      ['target', relation.target, type.targets, 2],
    ] as const;
    let sound = true;
    for (const [side, end, allowed, position] of ends) {
      const at = inList ? [...path, position] : path;
      const entity = entities.get(end);
      if (!entity) {
        source.add(
          at,
          `${side} ${quote(end)} of ${type.name} is not among the entities of this file`,
        );
        sound = false;
      } else if (!allowed.includes(entity.type) && ontology.entityTypes.has(entity.type)) {
        source.add(
          at,
          `${quote(end)} is a ${entity.type}, which cannot be the ${side} of ${type.name}; allowed: ${listed(allowed)}`,
        );
        sound = false;
      }
    }
    if (!sound) continue;
    const key = JSON.stringify([relation.source, relation.type, relation.target]);
    const twin = seen.get(key);
    if (twin) {
      source.add(path, `relation ${key} stands here a second time; first in line ${twin.line}`);
      continue;
    }
    seen.set(key, relation);
    checkCardinality(source, type, relation, path, bySource, byTarget);
  }
  return [...seen.values()];
}

function checkCardinality(
  source: YamlSource,
  type: RelationshipType,
  relation: InventoryRelation,
  path: Path,
  bySource: Map<string, InventoryRelation>,
  byTarget: Map<string, InventoryRelation>,
): void {
  const [sources, targets] = type.cardinality.split('-to-');
  const note = (
    index: Map<string, InventoryRelation>,
    end: string,
    other: keyof InventoryRelation,
  ) => {
    const key = JSON.stringify([type.name, end]);
    const first = index.get(key);
    if (first) {
      source.add(
        path,
        `${quote(end)} has ${type.name} ${quote(first[other])} already (line ${first.line}), and ${type.name} is ${type.cardinality}; given also: ${quote(relation[other])}`,
      );
    } else {
      index.set(key, relation);
    }
  };
  if (targets === 'one') note(bySource, relation.source, 'target');
  if (sources === 'one') note(byTarget, relation.target, 'source');
}
