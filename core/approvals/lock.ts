import type { Unit } from '../db/database.ts';
import { lockRow } from '../db/lock-row.ts';
import type { Approval } from '../db/rows.ts';
import { NotFoundError } from '../errors.ts';
import type { ApprovalId, SessionId } from '../ids.ts';
import { lockSession } from '../tasks/lock.ts';

/** Locks an approval for the rest of the transaction, its task before it, and gives it. Throws `not_found`. */
export async function lockApproval(unit: Unit, approvalId: ApprovalId): Promise<Approval> {
  const found = await unit.db.approval.findUnique({
    where: { id: approvalId },
    select: { sessionId: true },
  });
  if (found === null) throw new NotFoundError('approval', approvalId);
  if (found.sessionId !== null) await lockSession(unit, found.sessionId as SessionId);
  const approval = await lockRow(unit, 'approvals', approvalId);
  if (approval === undefined) throw new NotFoundError('approval', approvalId);
  return approval;
}
