import type { Database } from '../db/database.ts';

/** What a look over the audit log found. `broken` is the first entry that does not fit, null when all do. */
export interface AuditCheck {
  entries: number;
  broken: { id: bigint; why: 'changed' | 'chain' } | null;
}

/**
 * Checks the audit log from its first entry to its last: each must have the hash of its own content, and carry the hash of
 * the one before (R15). Done in the database, where the hashes were made.
 */
export async function verifyAudit(database: Database): Promise<AuditCheck> {
  const [counted, broken] = await Promise.all([
    database.read.auditEntry.count(),
    database.read.$queryRaw<Array<{ id: bigint; changed: boolean }>>`
      SELECT id, changed FROM (
        SELECT a.id, a.hash <> audit_hash(a) AS changed,
          a.prev_hash <> coalesce(lag(a.hash) OVER (ORDER BY a.id), '') AS unchained
        FROM audit_log a
      ) entry
      WHERE changed OR unchained ORDER BY id LIMIT 1`,
  ]);
  const first = broken[0];
  return {
    entries: counted,
    broken: first === undefined ? null : { id: first.id, why: first.changed ? 'changed' : 'chain' },
  };
}
