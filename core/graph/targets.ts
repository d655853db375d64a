import { z } from 'zod';
import type { Reader } from '../db/database.ts';
import { NomosError } from '../errors.ts';
import { asId, type EntityId } from '../ids.ts';

const endpoint = z.object({
  slug: z.string(),
  address: z.string(),
  port: z.int().min(1).max(65_535),
  user: z.string(),
});

/**
 * Where a command goes, as it was when it was requested: kept with the execution, shown on the card, and compared again
 * before the command starts (A16, A19). `container` is set when the command runs through `pct exec` on `host`.
 */
export const targetShape = z.strictObject({
  version: z.literal(1),
  slug: z.string(),
  type: z.string(),
  host: endpoint,
  container: z.strictObject({ slug: z.string(), pveId: z.int() }).optional(),
});

/** See `targetShape`. */
export type StoredTarget = z.infer<typeof targetShape>;

/** A target that commands may be sent to. */
export interface ResolvedTarget {
  entityId: EntityId;
  state: string;
  /** `attributes.tags` of the entity: what rules may go by. */
  tags: string[];
  target: StoredTarget;
}

/** A command cannot be sent to what was named: unknown, not a machine, destroyed, retired, or without an address. */
export class TargetError extends NomosError {
  constructor(code: string, slug: string, message: string, hint?: string) {
    super(code, 'model', message, { fields: { slug }, ...(hint === undefined ? {} : { hint }) });
  }
}

const DEFAULT_SSH_PORT = 22;
const DEFAULT_SSH_USER = 'root';

const states = z.array(z.object({ name: z.string(), runnable: z.boolean() }));
const sshAttributes = z.looseObject({
  address: z.string().optional(),
  ssh_port: z.int().optional(),
  ssh_user: z.string().optional(),
});
const tagged = z.looseObject({ tags: z.array(z.string()).catch([]).default([]) });
const pctAttributes = z.looseObject({ pve_id: z.int(), host: z.string() });

/**
 * Finds the machine or container that a slug names (`host:web-1`, or `web-1` when that is the only one) and how to reach
 * it: by type, never by name alone (X6). Throws `TargetError` before anything is sent (P9).
 */
export async function resolveTarget(db: Reader, name: string): Promise<ResolvedTarget> {
  const entity = await findEntity(db, name);
  if (entity === null) {
    throw new TargetError(
      'target_unknown',
      name,
      `There is no entity "${name}" in the fleet graph.`,
      'Use list_entities or list_lxcs to find its slug.',
    );
  }
  const { typeOf } = entity;
  if (typeOf.reach === 'none') {
    throw new TargetError(
      'target_not_runnable',
      entity.slug,
      `${entity.slug} is a ${entity.type}; commands run on hosts, virtual machines and containers only.`,
      'Name the machine that it runs on (get_relations shows it).',
    );
  }
  const state = states.parse(typeOf.states).find((candidate) => candidate.name === entity.state);
  if (state?.runnable !== true) {
    throw new TargetError(
      'target_retired',
      entity.slug,
      `${entity.slug} is ${entity.state}: no command is sent to it.`,
    );
  }
  return {
    entityId: asId<EntityId>(entity.id),
    state: entity.state,
    tags: tagged.parse(entity.attributes).tags,
    target:
      typeOf.reach === 'pct'
        ? await containerTarget(db, entity)
        : { version: 1, slug: entity.slug, type: entity.type, host: hostEndpoint(entity) },
  };
}

interface EntityRow {
  slug: string;
  type: string;
  attributes: unknown;
}

async function findEntity(db: Reader, name: string) {
  const exact = await db.entity.findUnique({ where: { slug: name }, include: { typeOf: true } });
  if (exact !== null || name.includes(':')) return exact;
  const named = await db.entity.findMany({
    where: { name, typeOf: { reach: { not: 'none' } } },
    include: { typeOf: true },
    take: 5,
  });
  if (named.length > 1) {
    throw new TargetError(
      'target_ambiguous',
      name,
      `"${name}" can be ${named.map((entity) => entity.slug).join(' or ')}.`,
      'Give the whole slug.',
    );
  }
  return named[0] ?? null;
}

function hostEndpoint(entity: EntityRow): StoredTarget['host'] {
  const parsed = sshAttributes.safeParse(entity.attributes);
  if (!parsed.success) {
    throw new TargetError(
      'target_misdescribed',
      entity.slug,
      `${entity.slug} cannot be reached as it is described: ${parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ')}.`,
      'Set it right in the inventory file (attributes address, ssh_port, ssh_user).',
    );
  }
  const { address, ssh_port, ssh_user } = parsed.data;
  if (address === undefined) {
    throw new TargetError(
      'target_without_address',
      entity.slug,
      `${entity.slug} has no address.`,
      'Give it one in the inventory file (attributes.address).',
    );
  }
  return {
    slug: entity.slug,
    address,
    port: ssh_port ?? DEFAULT_SSH_PORT,
    user: ssh_user ?? DEFAULT_SSH_USER,
  };
}

async function containerTarget(db: Reader, entity: EntityRow): Promise<StoredTarget> {
  const parsed = pctAttributes.safeParse(entity.attributes);
  if (!parsed.success) {
    throw new TargetError(
      'target_without_host',
      entity.slug,
      `${entity.slug} does not say which container of which Proxmox host it is (attributes pve_id and host).`,
    );
  }
  const host = await db.entity.findUnique({
    where: { slug: parsed.data.host },
    include: { typeOf: true },
  });
  if (host === null || host.typeOf.reach !== 'ssh') {
    throw new TargetError(
      'target_without_host',
      entity.slug,
      `${entity.slug} says that it runs on "${parsed.data.host}", which is no host in the fleet graph.`,
    );
  }
  const runnable = states
    .parse(host.typeOf.states)
    .find((state) => state.name === host.state)?.runnable;
  if (runnable !== true) {
    throw new TargetError(
      'target_retired',
      entity.slug,
      `${entity.slug} runs on ${host.slug}, which is ${host.state}: no command is sent to it.`,
    );
  }
  return {
    version: 1,
    slug: entity.slug,
    type: entity.type,
    host: hostEndpoint(host),
    container: { slug: entity.slug, pveId: parsed.data.pve_id },
  };
}
