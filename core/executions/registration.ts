import { z } from 'zod';
import type { Unit } from '../db/database.ts';
import type { Execution } from '../db/rows.ts';
import { addContainer } from '../graph/add-container.ts';
import { asId, type EntityId, type SessionId } from '../ids.ts';

const registrationShape = z.strictObject({
  version: z.literal(1),
  slug: z.string(),
  name: z.string(),
  pveId: z.int(),
  /** Slug of the Proxmox host. */
  host: z.string(),
  /** The static address without its prefix, where one was asked for. */
  address: z.string().optional(),
});

/** The container that an execution makes, as it is stored with it: what is written to the graph when it succeeded (X11). */
export type Registration = z.output<typeof registrationShape>;

/** An execution's registration, or null. Throws a ZodError for stored JSON of another form. */
export function readRegistration(stored: unknown): Registration | null {
  return stored === null ? null : registrationShape.parse(stored);
}

/**
 * Writes what a successful execution made into the graph, in the transaction that ends it, so that both are or neither is.
 * Where the name was taken meanwhile nothing is changed, and the execution says so.
 */
export async function registerMade(
  unit: Unit,
  execution: Pick<Execution, 'id' | 'sessionId' | 'entityId' | 'registers'>,
): Promise<void> {
  const made = readRegistration(execution.registers);
  if (made === null) return;
  const { added } = await addContainer(unit, {
    ...{ slug: made.slug, name: made.name, pveId: made.pveId, host: made.host },
    hostId: asId<EntityId>(execution.entityId),
    address: made.address,
    sessionId: execution.sessionId === null ? null : asId<SessionId>(execution.sessionId),
    executionId: execution.id,
  });
  if (added) return;
  await unit.db.execution.update({
    where: { id: execution.id },
    data: {
      error: `Container ${made.pveId} is there, but it is not in the graph: there is another ${made.slug} by now. The inventory file has to name it.`,
    },
  });
}

/** Executions that are on their way to make a container: their numbers and names are spoken for. */
export async function containersOnTheWay(
  unit: Unit,
): Promise<Array<{ shortId: string; registration: Registration }>> {
  const rows = await unit.db.$queryRaw<Array<{ shortId: string; registers: unknown }>>`
    SELECT short_id AS "shortId", registers FROM executions
    WHERE registers IS NOT NULL
      AND status IN ('requested', 'pending_approval', 'approved', 'queued', 'running')`;
  return rows.flatMap(({ shortId, registers }) => {
    const registration = readRegistration(registers);
    return registration === null ? [] : [{ shortId, registration }];
  });
}
