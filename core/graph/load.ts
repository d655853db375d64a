import type { Database, Unit } from '../db/database.ts';
import { asId, newId, type EntityId } from '../ids.ts';
import type { Inventory, InventoryEntity } from './inventory-file.ts';
import type { Ontology } from './ontology-file.ts';

/** What loading the inventory changed. `gone` are entities of earlier loads that the file no longer names. */
export interface LoadReport {
  added: string[];
  updated: string[];
  relationsAdded: number;
  gone: string[];
}

/**
 * Brings the graph in line with the ontology and the inventory file, in one transaction. Loading it twice changes
 * nothing. What the agent learned is kept: attributes that the file does not name stay, and so does a state that was
 * changed since the file last said something else. What vanished from the file is reported, not deleted.
 */
export async function loadGraph(
  database: Database,
  ontology: Ontology,
  inventory: Inventory,
): Promise<LoadReport> {
  return database.write(async (unit) => {
    await loadTypes(unit, ontology);
    const report: LoadReport = { added: [], updated: [], relationsAdded: 0, gone: [] };
    const ids = new Map<string, EntityId>();
    for (const entity of inventory.entities)
      ids.set(entity.slug, await loadEntity(unit, entity, report));
    for (const relation of inventory.relations) {
      const sourceId = ids.get(relation.source);
      const targetId = ids.get(relation.target);
      if (sourceId === undefined || targetId === undefined) continue;
      const added = await relate(unit, {
        sourceId,
        type: relation.type,
        targetId,
        origin: 'inventory',
      });
      if (added) report.relationsAdded++;
    }
    report.gone = await markGone(unit, inventory);
    return report;
  });
}

/** Adds a current edge unless there is one. Returns whether it was added. */
export async function relate(
  unit: Unit,
  edge: { sourceId: EntityId; type: string; targetId: EntityId; origin: string },
): Promise<boolean> {
  const added = await unit.db.$executeRaw`
    INSERT INTO relationships (id, source_id, type, target_id, origin)
    VALUES (${newId()}::uuid, ${edge.sourceId}::uuid, ${edge.type}, ${edge.targetId}::uuid, ${edge.origin})
    ON CONFLICT (source_id, type, target_id) WHERE valid_to IS NULL DO NOTHING`;
  return added > 0;
}

async function loadTypes(unit: Unit, ontology: Ontology): Promise<void> {
  for (const type of ontology.entityTypes.values()) {
    const data = {
      description: type.description,
      reach: type.reach,
      states: type.states.map((state) => ({ ...state })),
    };
    await unit.db.entityType.upsert({
      where: { name: type.name },
      create: { name: type.name, ...data },
      update: data,
    });
  }
  for (const type of ontology.relationshipTypes.values()) {
    const data = {
      description: type.description,
      sourceTypes: [...type.sources],
      targetTypes: [...type.targets],
      cardinality: type.cardinality,
      dependent: type.dependent,
    };
    await unit.db.relationshipType.upsert({
      where: { name: type.name },
      create: { name: type.name, ...data },
      update: data,
    });
  }
}

async function loadEntity(
  unit: Unit,
  entity: InventoryEntity,
  report: LoadReport,
): Promise<EntityId> {
  const existing = await unit.db.entity.findUnique({ where: { slug: entity.slug } });
  if (existing === null) {
    const id = newId<EntityId>();
    await unit.db.entity.create({
      data: {
        id,
        slug: entity.slug,
        type: entity.type,
        name: entity.name,
        state: entity.state,
        attributes: { ...entity.attributes, [FILE_STATE]: entity.state },
        source: 'inventory',
      },
    });
    unit.emit({ type: 'graph.changed', refId: id });
    report.added.push(entity.slug);
    return id;
  }
  const before = existing.attributes as Record<string, unknown>;
  const attributes = { ...before, ...entity.attributes, [FILE_STATE]: entity.state };
  // The file's word counts again only when the file changed its mind.
  const state = before[FILE_STATE] === entity.state ? existing.state : entity.state;
  const same =
    existing.name === entity.name &&
    existing.state === state &&
    existing.goneFromFileAt === null &&
    JSON.stringify(sorted(before)) === JSON.stringify(sorted(attributes));
  if (!same) {
    await unit.db.entity.update({
      where: { id: existing.id },
      data: {
        name: entity.name,
        state,
        attributes: attributes,
        goneFromFileAt: null,
        updatedAt: new Date(),
      },
    });
    unit.emit({ type: 'graph.changed', refId: existing.id });
    report.updated.push(entity.slug);
  }
  return asId<EntityId>(existing.id);
}

/** The attribute that remembers which state the inventory file gave. */
export const FILE_STATE = '_file_state';

function sorted(value: Record<string, unknown>): [string, unknown][] {
  return Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
}

async function markGone(unit: Unit, inventory: Inventory): Promise<string[]> {
  const gone = await unit.db.entity.findMany({
    where: {
      source: 'inventory',
      slug: { notIn: inventory.entities.map((entity) => entity.slug) },
    },
    select: { id: true, slug: true, goneFromFileAt: true },
  });
  const fresh = gone.filter((entity) => entity.goneFromFileAt === null).map((entity) => entity.id);
  if (fresh.length > 0) {
    await unit.db.entity.updateMany({
      where: { id: { in: fresh } },
      data: { goneFromFileAt: new Date() },
    });
  }
  return gone.map((entity) => entity.slug);
}
