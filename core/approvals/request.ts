import type { Unit } from '../db/database.ts';
import { newId, newShortId, type ApprovalId } from '../ids.ts';
import { limits } from '../limits.ts';
import type { Role } from '../operators.ts';
import type { Risk } from '../policy/risk.ts';

/** What has to be decided, as it was shown. */
export interface ApprovalRequest {
  sessionId: string | null;
  turnId: string | null;
  passId: string | null;
  risk: Risk;
  subjectHash: string;
  /** The steps of a plan that is to be approved as a whole (A11); without them it is about executions. */
  plan?: {
    version: 1;
    steps: ReadonlyArray<{ seq: number; title: string; detail: string | null }>;
  };
  /** Who must decide, and how many different people; by default one approver (A15). */
  needsRole?: Role;
  needsPeople?: number;
}

/** Opens an approval that waits for an operator and expires by the database's clock (A1). Destructive needs a typed word (A3). */
export async function requestApproval(
  unit: Unit,
  request: ApprovalRequest,
): Promise<{ approvalId: ApprovalId; expiresAt: Date }> {
  const id = newId<ApprovalId>();
  const kind = request.plan === undefined ? 'execution' : 'plan';
  const plan = request.plan === undefined ? null : JSON.stringify(request.plan);
  const rows = await unit.db.$queryRaw<Array<{ expires_at: Date }>>`
    INSERT INTO approvals (id, short_id, kind, session_id, turn_id, pass_id, risk, subject_hash, plan, needs_typed,
      needs_role, needs_people, expires_at)
    VALUES (${id}::uuid, ${newShortId()}, ${kind}::approval_kind, ${request.sessionId}::uuid, ${request.turnId}::uuid,
      ${request.passId}::uuid, ${request.risk}::risk, ${request.subjectHash}, ${plan}::jsonb, ${request.risk === 'destructive'},
      ${request.needsRole ?? 'approver'}, ${request.needsPeople ?? 1},
      clock_timestamp() + ${limits().approvalTtlMs} * interval '1 millisecond')
    RETURNING expires_at`;
  const expiresAt = rows[0]?.expires_at;
  if (expiresAt === undefined) throw new Error('the approval was not stored');
  unit.emit({ type: 'approval.requested', sessionId: request.sessionId, refId: id });
  unit.audit({
    actor: 'agent',
    action: 'approval.requested',
    sessionId: request.sessionId,
    subject: id,
    data: { kind, risk: request.risk, hash: request.subjectHash },
  });
  return { approvalId: id, expiresAt };
}
