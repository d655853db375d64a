import type { Database, Unit } from '../db/database.ts';
import { eachAlone } from '../db/each-alone.ts';
import type { Approval } from '../db/rows.ts';
import { tellRest } from '../executions/finish.ts';
import { transition } from '../executions/states.ts';
import type { ApprovalId, SessionId, TurnId } from '../ids.ts';
import { addNote } from '../tasks/messages.ts';
import { refreshStatus } from '../tasks/status.ts';
import { lockApproval } from './lock.ts';
import { expiryNote, planExpiryNote } from './notes.ts';
import { coveredSteps } from './plan.ts';

/** Ends an approval that nobody decided in time, and its executions with it; the agent is told (A14). The caller holds the locks. */
export async function expireApproval(unit: Unit, approval: Approval): Promise<void> {
  await unit.db.approval.update({ where: { id: approval.id }, data: { status: 'expired' } });
  unit.emit({
    type: 'approval.decided',
    sessionId: approval.sessionId,
    refId: approval.id,
    data: { status: 'expired' },
  });
  unit.audit({
    actor: 'system',
    action: 'approval.expired',
    sessionId: approval.sessionId,
    subject: approval.id,
  });
  const executions = await unit.db.execution.findMany({
    where: { approvalId: approval.id, status: 'pending_approval' },
    orderBy: { createdAt: 'asc' },
  });
  for (const execution of executions) {
    await transition(
      unit,
      execution,
      'pending_approval',
      'expired',
      { actor: 'system' },
      {
        continuation: 'woken',
        continuedAt: new Date(),
      },
    );
  }
  const plan = approval.kind === 'plan';
  if (approval.sessionId === null || approval.turnId === null) return;
  if (executions.length === 0 && !plan) return;
  await addNote(unit, {
    sessionId: approval.sessionId as SessionId,
    turnId: approval.turnId as TurnId,
    text: plan ? planExpiryNote(approval.shortId, coveredSteps(approval)) : expiryNote(executions),
    // Nobody decided: in a turn that was stopped it is read with the operator's next word.
    wake: 'continuation',
    of: approval.passId,
  });
  await tellRest(unit, executions);
  await refreshStatus(unit, approval.sessionId as SessionId);
}

/** Expires every approval whose time is over by the database's clock. Returns how many. */
export async function expireDueApprovals(database: Database): Promise<number> {
  const due = await database.read.$queryRaw<Array<{ id: ApprovalId }>>`
    SELECT id FROM approvals
    WHERE status = 'pending' AND expires_at <= clock_timestamp()
    ORDER BY expires_at LIMIT 200`;
  return eachAlone(database, 'expiry', due, async ({ id }) =>
    database.write(async (unit) => {
      const approval = await lockApproval(unit, id);
      if (approval.status !== 'pending') return false;
      await expireApproval(unit, approval);
      return true;
    }),
  );
}
