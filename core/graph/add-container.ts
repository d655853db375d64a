import type { Unit } from '../db/database.ts';
import { newId, type EntityId, type SessionId } from '../ids.ts';
import { relate } from './load.ts';

/** A container that was made on a Proxmox host. */
interface MadeContainer {
  slug: string;
  name: string;
  pveId: number;
  /** The Proxmox host: slug and row. */
  host: string;
  hostId: EntityId;
  address: string | undefined;
  sessionId: SessionId | null;
  /** Which execution made it, for the audit log. */
  executionId: string;
}

/**
 * Adds a new container to the graph (X11): the entity, in state provisioning, and the `hosts` relation from its host. An entity
 * of that name stays as it is, whatever its state: then nothing is added.
 */
export async function addContainer(unit: Unit, made: MadeContainer): Promise<{ added: boolean }> {
  const id = newId<EntityId>();
  const attributes = {
    pve_id: made.pveId,
    host: made.host,
    ...(made.address === undefined ? {} : { address: made.address }),
  };
  const count = await unit.db.$executeRaw`
    INSERT INTO entities (id, slug, type, name, state, attributes, source)
    VALUES (${id}::uuid, ${made.slug}, 'lxc', ${made.name}, 'provisioning', ${JSON.stringify(attributes)}::jsonb, 'agent')
    ON CONFLICT (slug) DO NOTHING`;
  if (count === 0) return { added: false };
  await relate(unit, { sourceId: made.hostId, type: 'hosts', targetId: id, origin: 'agent' });
  unit.emit({ type: 'graph.changed', sessionId: made.sessionId, refId: id, data: {} });
  unit.audit({
    actor: 'agent',
    action: 'graph.entity_added',
    sessionId: made.sessionId,
    subject: made.slug,
    data: { execution: made.executionId, state: 'provisioning', ...attributes },
  });
  return { added: true };
}
