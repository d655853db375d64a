import type { EventType } from '../events/types.ts';
import { Prisma } from './generated/client.ts';
import type { PrismaClient } from './generated/client.ts';

/** A new row of the event log. `data` is small and holds ids, never command output. */
export interface NewEvent {
  type: EventType;
  sessionId?: string | null;
  /** The id of the row that the event is about. */
  refId?: string | null;
  data?: Record<string, unknown>;
}

/** A new row of the audit log: who did what to what. */
export interface NewAudit {
  /** A Matrix user id, `token:<name>`, `agent` or `system`. */
  actor: string;
  action: string;
  sessionId?: string | null;
  subject?: string | null;
  data?: Record<string, unknown>;
}

/**
 * Writes a unit's events and audit entries as its last statements. The lock makes the ids of both logs follow the order
 * of commits: a reader that has seen id n has seen all before it. Taken last, it is held only for the commit itself, and
 * no transaction that holds it waits for another lock.
 */
export async function flushRecord(
  db: Pick<PrismaClient, '$executeRaw'>,
  events: readonly NewEvent[],
  audits: readonly NewAudit[],
): Promise<void> {
  if (events.length === 0 && audits.length === 0) return;
  await db.$executeRaw`SELECT pg_advisory_xact_lock(hashtext('nomos_record'))`;
  if (events.length > 0) {
    const rows = events.map(
      (event) =>
        Prisma.sql`(${event.type}, ${event.sessionId ?? null}::uuid, ${event.refId ?? null}, ${JSON.stringify(event.data ?? {})}::jsonb)`,
    );
    await db.$executeRaw`INSERT INTO events (type, session_id, ref_id, data) VALUES ${Prisma.join(rows)}`;
  }
  if (audits.length > 0) {
    // One statement: its rows are taken in their order, and each one's trigger sees the one before (R15).
    const rows = audits.map(
      (entry) =>
        Prisma.sql`(${entry.actor}, ${entry.action}, ${entry.sessionId ?? null}::uuid, ${entry.subject ?? null},
          ${JSON.stringify(entry.data ?? {})}::jsonb, '', '')`,
    );
    await db.$executeRaw`INSERT INTO audit_log (actor, action, session_id, subject, data, prev_hash, hash) VALUES ${Prisma.join(rows)}`;
  }
}
