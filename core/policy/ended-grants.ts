import type { Database, Unit } from '../db/database.ts';
import type { ApprovalId, GrantId, SessionId } from '../ids.ts';

/** Why a grant is closed that came to its end. */
export const ENDED = 'ended';

/**
 * Closes grants whose time is over, by the database's clock. A clock that is set back afterwards does not bring them back
 * (R14). Returns how many.
 */
export async function closeEndedGrants(database: Database): Promise<number> {
  const due = await database.read.$queryRaw<Array<{ id: GrantId }>>`
    SELECT id FROM grants WHERE closed_at IS NULL AND expires_at <= clock_timestamp()`;
  let closed = 0;
  for (const { id } of due) {
    await database.write(async (unit) => {
      const [row] = await unit.db.$queryRaw<Array<{ session_id: SessionId | null }>>`
        UPDATE grants SET closed_at = clock_timestamp(), closed_reason = ${ENDED}
        WHERE id = ${id}::uuid AND closed_at IS NULL AND expires_at <= clock_timestamp()
        RETURNING session_id`;
      if (row === undefined) return;
      unit.emit({ type: 'grant.closed', sessionId: row.session_id, refId: id });
      unit.audit({
        actor: 'system',
        action: 'grant.ended',
        sessionId: row.session_id,
        subject: id,
      });
      closed++;
    });
  }
  return closed;
}

/**
 * When grants are closed by a person, one that has ended while its command still runs must not be opened again either (J3):
 * it is closed for the same reason.
 */
export async function forgetEnded(
  unit: Unit,
  args: { sessionId?: SessionId; approvalId?: ApprovalId; grantId?: GrantId; reason: string },
): Promise<void> {
  await unit.db.grant.updateMany({
    where: {
      closedReason: ENDED,
      session: { endedAt: null },
      ...(args.sessionId === undefined ? {} : { sessionId: args.sessionId }),
      ...(args.approvalId === undefined ? {} : { approvalId: args.approvalId }),
      ...(args.grantId === undefined ? {} : { id: args.grantId }),
    },
    data: { closedReason: args.reason },
  });
}
