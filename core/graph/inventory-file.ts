import { z } from 'zod';
import { checkRelations, impliedHosts } from './inventory-relations.ts';
import type { InventoryEntity, InventoryRelation, Path } from './inventory-relations.ts';
import type { EntityType, Ontology } from './ontology-file.ts';
import { YamlSource, listed, quote, type YamlPath } from '../yaml-source.ts';

export type { InventoryEntity, InventoryRelation } from './inventory-relations.ts';

/** The fleet as its operator wrote it down. */
export interface Inventory {
  readonly file: string;
  readonly entities: readonly InventoryEntity[];
  readonly relations: readonly InventoryRelation[];
}

/** `type:name`; the name part may hold an @ (a service on a machine) and dots (a domain). */
const SLUG = /^[a-z][a-z0-9_]{0,39}:[a-z0-9][a-z0-9._@-]{0,119}$/;
/** A host name, IPv4 or IPv6 address; never something that a program could take for an option. */
const ADDRESS = /^[A-Za-z0-9][A-Za-z0-9.-]{0,252}$|^[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*(%[A-Za-z0-9]+)?$/;

const slug = z.string().regex(SLUG, 'a slug is type:name in lower case, like host:web-1');
const schema = z.strictObject({
  version: z.literal(1, 'this version of Nomos reads version 1').default(1),
  entities: z.array(
    z.strictObject({
      slug,
      type: z.string(),
      name: z.string().min(1).max(120).optional(),
      state: z.string().optional(),
      attributes: z.record(z.string(), z.json()).default({}),
    }),
  ),
  relations: z
    .array(z.tuple([z.string(), z.string(), z.string()], 'a relation is [source, type, target]'))
    .default([]),
});

const connection = {
  address: z
    .string('missing: the host name or IP address to connect to')
    .regex(ADDRESS, 'a host name or an IP address'),
  ssh_port: z.int('a port from 1 to 65535').min(1).max(65_535).optional(),
  ssh_user: z
    .string()
    .regex(/^[a-z_][a-z0-9_.-]{0,31}$/i, 'a user name')
    .optional(),
};

/** What a target must say about itself so that commands can reach it, by the reach of its type. */
const requirements = {
  ssh: z.looseObject(connection),
  pct: z.looseObject({
    pve_id: z
      .int('missing or wrong: the container number on its Proxmox host')
      .min(100)
      .max(999_999_999),
    host: z.string('missing: the slug of the Proxmox host that it runs on, like host:pve-1'),
    address: connection.address.optional(),
    ssh_port: connection.ssh_port,
    ssh_user: connection.ssh_user,
  }),
} as const;

/**
 * Reads the fleet from a YAML file (`seeds/inventory.example.yaml` describes the format) and checks
 * it against the ontology. Entities whose type is reached by SSH need `address`; those reached by
 * `pct exec` need `pve_id` and `host`, which also makes the `hosts` relation when the file leaves it out.
 * `name` defaults to the part of the slug behind the colon, `state` to the type's first state.
 * Throws `YamlFileError` with all problems, each with line, offending value and what is allowed.
 */
export function loadInventory(path: string, ontology: Ontology): Inventory {
  return inventoryFrom(YamlSource.read(path), ontology);
}

/** As `loadInventory`, for text; `file` is the name used in messages. */
export function parseInventory(text: string, file: string, ontology: Ontology): Inventory {
  return inventoryFrom(YamlSource.parse(file, text), ontology);
}

function inventoryFrom(source: YamlSource, ontology: Ontology): Inventory {
  const file = source.check(schema, whereKeysBelong);
  const entities = new Map<string, InventoryEntity>();
  file.entities.forEach((given, index) => {
    const path = ['entities', index];
    const line = source.lineOf([...path, 'slug']);
    const twin = entities.get(given.slug);
    if (twin) {
      source.add(
        [...path, 'slug'],
        `${quote(given.slug)} stands here a second time; first in line ${twin.line}`,
      );
      return;
    }
    const type = checkType(source, ontology, given.slug, given.type, path);
    const state = checkState(source, type, given.state, path);
    if (type) checkTarget(source, type, given.slug, given.attributes, path);
    const name = given.name ?? given.slug.slice(given.slug.indexOf(':') + 1);
    entities.set(given.slug, {
      slug: given.slug,
      type: given.type,
      name,
      state,
      attributes: given.attributes,
      line,
    });
  });
  const written = file.relations.map(([from, type, to], index) => ({
    relation: { source: from, type, target: to, line: source.lineOf(['relations', index]) },
    path: ['relations', index],
  }));
  const relations = checkRelations(source, ontology, entities, [
    ...written,
    ...impliedHosts(source, ontology, file.entities, entities, file.relations),
  ]);
  source.throwIfWrong();
  return { file: source.file, entities: [...entities.values()], relations };
}

/** Facts of an entity stand under `attributes`; the mistake that everybody makes once. */
function whereKeysBelong(path: YamlPath, key: string): string | undefined {
  const [list, , ...deeper] = path;
  if (list !== 'entities' || deeper.length > 0) return undefined;
  return `an entity has slug, type, name, state and attributes; facts such as ${key} stand under attributes: { ${key}: … }`;
}

function checkType(
  source: YamlSource,
  ontology: Ontology,
  slugText: string,
  typeText: string,
  path: Path,
): EntityType | undefined {
  const type = ontology.entityTypes.get(typeText);
  if (!type) {
    source.add(
      [...path, 'type'],
      `unknown entity type ${quote(typeText)}; known: ${listed(ontology.entityTypes.keys())}`,
    );
  } else if (!slugText.startsWith(`${typeText}:`)) {
    source.add(
      [...path, 'slug'],
      `slug ${quote(slugText)} must begin with its type, ${quote(`${typeText}:`)}`,
    );
  }
  return type;
}

function checkState(
  source: YamlSource,
  type: EntityType | undefined,
  given: string | undefined,
  path: Path,
): string {
  if (!type) return given ?? '';
  const names = type.states.map((state) => state.name);
  if (given !== undefined && !names.includes(given)) {
    source.add(
      [...path, 'state'],
      `unknown state ${quote(given)} of a ${type.name}; allowed: ${listed(names)}`,
    );
  }
  return given ?? names[0] ?? '';
}

function checkTarget(
  source: YamlSource,
  type: EntityType,
  slugText: string,
  attributes: Readonly<Record<string, unknown>>,
  path: Path,
): void {
  if (type.reach === 'none') return;
  const result = requirements[type.reach].safeParse(attributes);
  for (const issue of result.error?.issues ?? []) {
    const key = issue.path.map(String).join('.');
    const given = attributes[key] === undefined ? '' : ` (given: ${quote(attributes[key])})`;
    source.add(
      [...path, 'attributes', ...issue.path],
      `attributes.${key} of ${slugText}: ${issue.message}${given}`,
    );
  }
}
