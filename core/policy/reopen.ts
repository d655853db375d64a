import type { Unit } from '../db/database.ts';
import type { Execution, Grant, Session } from '../db/rows.ts';
import { newId, type GrantId } from '../ids.ts';
import { limits } from '../limits.ts';
import { ENDED } from './ended-grants.ts';
import { isPausedForGrant } from './pause.ts';

/** How the task's permission stands at the end of a command. */
export type AfterGrant = 'unchanged' | 'reopened' | 'ran_out';

/**
 * Looks, at the end of a command, whether the grant behind it ran out while it ran (J3). With a goal, and the task still
 * executing, it is opened anew so that the agent can go on; otherwise it stays closed. Only the grant that allowed this very
 * command, or that its approval opened, is opened, and never one that was revoked or is for destructive commands; the new
 * one refers to the same approval (R1, R14). Judged by the database's clock. The caller holds the task's lock.
 */
export async function reopenAfter(
  unit: Unit,
  session: Session,
  execution: Execution,
): Promise<AfterGrant> {
  const grant = await ranOutMeanwhile(unit, execution);
  if (grant === null) return 'unchanged';
  const goesOn = session.goal !== null && session.status === 'executing';
  if (!goesOn || (await isPausedForGrant(unit))) return 'ran_out';
  const id = newId<GrantId>();
  const ttlMs = limits().grantTtlMs;
  await unit.db.$executeRaw`
    INSERT INTO grants (id, session_id, kind, approval_id, opened_by, expires_at)
    VALUES (${id}::uuid, ${session.id}::uuid, 'task', ${grant.approvalId}::uuid, ${grant.openedBy},
      clock_timestamp() + ${ttlMs} * interval '1 millisecond')`;
  unit.emit({ type: 'grant.opened', sessionId: session.id, refId: id, data: { kind: 'task' } });
  unit.audit({
    actor: 'system',
    action: 'grant.reopened',
    sessionId: session.id,
    subject: id,
    data: {
      kind: 'task',
      approval: grant.approvalId,
      ranOut: grant.id,
      execution: execution.id,
      ttlMs,
    },
  });
  return 'reopened';
}

async function ranOutMeanwhile(unit: Unit, execution: Execution): Promise<Grant | null> {
  const { startedAt, sessionId, grantId, approvalId } = execution;
  if (startedAt === null || (grantId === null && approvalId === null)) return null;
  const rows = await unit.db.$queryRaw<Array<{ id: string }>>`
    SELECT g.id FROM grants g JOIN approvals a ON a.id = g.approval_id AND a.status = 'approved'
    WHERE g.session_id = ${sessionId}::uuid AND g.kind = 'task'
      AND (g.closed_at IS NULL OR g.closed_reason = ${ENDED})
      AND (g.id = ${grantId}::uuid OR g.approval_id = ${approvalId}::uuid)
      AND g.expires_at >= ${startedAt} AND g.expires_at <= clock_timestamp()
      AND NOT EXISTS (SELECT FROM grants o WHERE o.session_id = g.session_id AND o.kind = 'task'
        AND o.closed_at IS NULL AND o.expires_at > clock_timestamp())
    ORDER BY g.expires_at DESC LIMIT 1`;
  const id = rows[0]?.id;
  return id === undefined ? null : unit.db.grant.findUnique({ where: { id } });
}
