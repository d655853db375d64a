import type { Unit } from '../db/database.ts';
import type { Grant } from '../db/rows.ts';
import { newId, type ApprovalId, type EntityId, type GrantId, type SessionId } from '../ids.ts';
import { limits } from '../limits.ts';
import { lockSession } from '../tasks/lock.ts';
import { forgetEnded } from './ended-grants.ts';
import type { Risk } from './risk.ts';

/**
 * The open grant that lets this run without asking, or null. A task's grant covers reversible_low and config_mutation in
 * that task; a destructive grant covers destructive commands in that task on that one target (A9, A10). Judged by the
 * database's clock (R14).
 */
export async function coveringGrant(
  unit: Unit,
  args: { sessionId: SessionId; entityId: EntityId; risk: Risk },
): Promise<Grant | null> {
  const destructive = args.risk === 'destructive';
  const rows = await unit.db.$queryRaw<Array<{ id: string }>>`
    SELECT id FROM grants
    WHERE session_id = ${args.sessionId}::uuid AND closed_at IS NULL AND expires_at > clock_timestamp()
      AND kind = ${destructive ? 'destructive' : 'task'}::grant_kind
      AND (${!destructive} OR entity_id = ${args.entityId}::uuid)
    ORDER BY expires_at DESC LIMIT 1`;
  const id = rows[0]?.id;
  return id === undefined ? null : unit.db.grant.findUnique({ where: { id } });
}

/** A task's own grant that is open now, by the database's clock, or null. */
export async function taskGrant(unit: Unit, sessionId: SessionId): Promise<Grant | null> {
  const rows = await unit.db.$queryRaw<Array<{ id: string }>>`
    SELECT id FROM grants
    WHERE session_id = ${sessionId}::uuid AND kind = 'task' AND closed_at IS NULL
      AND expires_at > clock_timestamp()
    ORDER BY expires_at DESC LIMIT 1`;
  const id = rows[0]?.id;
  return id === undefined ? null : unit.db.grant.findUnique({ where: { id } });
}

/**
 * The moment, by the database's clock, at which a grant still stands, and stands for this task and target; undefined when it does
 * not. It is locked for the rest of the transaction, so that it is not on record as ended before what it allows is as begun (R14).
 */
export async function grantStands(
  unit: Unit,
  args: { grantId: string; sessionId: string | null; entityId: string; risk: Risk },
): Promise<Date | undefined> {
  const rows = await unit.db.$queryRaw<Array<{ at: Date }>>`
    SELECT least(clock_timestamp(), expires_at) AS at FROM grants
    WHERE id = ${args.grantId}::uuid AND session_id = ${args.sessionId}::uuid
      AND closed_at IS NULL AND expires_at > clock_timestamp()
      AND CASE WHEN ${args.risk} = 'destructive' THEN kind = 'destructive' AND entity_id = ${args.entityId}::uuid
               ELSE kind = 'task' END
    FOR SHARE`;
  return rows[0]?.at;
}

/**
 * Opens or extends the grant that an approval gives. `target` opens the destructive one for that target; without it the
 * task's own. An extension never shortens.
 */
export async function openGrant(
  unit: Unit,
  args: { sessionId: SessionId; approvalId: ApprovalId; by: string; target?: EntityId },
): Promise<GrantId> {
  const kind = args.target === undefined ? 'task' : 'destructive';
  const ttlMs = args.target === undefined ? limits().grantTtlMs : limits().destructiveGrantTtlMs;
  const extended = await unit.db.$queryRaw<Array<{ id: string }>>`
    UPDATE grants SET expires_at = greatest(expires_at, clock_timestamp() + ${ttlMs} * interval '1 millisecond'),
      approval_id = ${args.approvalId}::uuid, opened_by = ${args.by}
    WHERE session_id = ${args.sessionId}::uuid AND closed_at IS NULL AND expires_at > clock_timestamp()
      AND kind = ${kind}::grant_kind AND entity_id IS NOT DISTINCT FROM ${args.target ?? null}::uuid
    RETURNING id`;
  const existing = extended[0]?.id as GrantId | undefined;
  const id = existing ?? newId<GrantId>();
  if (existing === undefined) {
    await unit.db.$executeRaw`
      INSERT INTO grants (id, session_id, kind, entity_id, approval_id, opened_by, expires_at)
      VALUES (${id}::uuid, ${args.sessionId}::uuid, ${kind}::grant_kind, ${args.target ?? null}::uuid,
        ${args.approvalId}::uuid, ${args.by}, clock_timestamp() + ${ttlMs} * interval '1 millisecond')`;
  }
  unit.emit({ type: 'grant.opened', sessionId: args.sessionId, refId: id, data: { kind } });
  unit.audit({
    actor: args.by,
    action: existing === undefined ? 'grant.opened' : 'grant.extended',
    sessionId: args.sessionId,
    subject: id,
    data: { kind, approval: args.approvalId, target: args.target ?? null, ttlMs },
  });
  return id;
}

/** Closes open grants: of one task, or of all; all that an approval opened or extended, or of both kinds. */
export async function closeGrants(
  unit: Unit,
  args: {
    sessionId?: SessionId;
    approvalId?: ApprovalId;
    grantId?: GrantId;
    reason: string;
    by: string;
  },
): Promise<number> {
  // One that is opened for the task in this moment is closed as well (R14).
  if (args.sessionId !== undefined) await lockSession(unit, args.sessionId);
  const open = await unit.db.grant.findMany({
    where: {
      closedAt: null,
      ...(args.sessionId === undefined ? {} : { sessionId: args.sessionId }),
      ...(args.approvalId === undefined ? {} : { approvalId: args.approvalId }),
      ...(args.grantId === undefined ? {} : { id: args.grantId }),
    },
    select: { id: true, sessionId: true },
  });
  await forgetEnded(unit, args);
  for (const grant of open) {
    await unit.db.grant.update({
      where: { id: grant.id },
      data: { closedAt: new Date(), closedReason: args.reason },
    });
    unit.emit({ type: 'grant.closed', sessionId: grant.sessionId, refId: grant.id });
    unit.audit({
      actor: args.by,
      action: 'grant.closed',
      sessionId: grant.sessionId,
      subject: grant.id,
      data: { reason: args.reason },
    });
  }
  return open.length;
}
