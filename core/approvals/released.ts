import type { Unit } from '../db/database.ts';
import type { Approval, Execution } from '../db/rows.ts';
import { scriptWasChanged } from '../executions/judge.ts';
import { readScripts } from '../executions/scripts.ts';
import { blastShape } from '../graph/blast-radius.ts';
import { resolveTarget, TargetError } from '../graph/targets.ts';
import type { ApprovalId } from '../ids.ts';
import { roleCovers, type Role } from '../operators.ts';
import { assess } from '../policy/assess.ts';
import { databaseNow } from '../tasks/lock.ts';
import type { Decision } from './decide.ts';

/**
 * What approving a plan approves along with it: the changes that the same pass left waiting, as far as the task's grant would
 * let them run if they were asked for now. Never what is destructive, what needs somebody else or more people, what a rule
 * always asks for, what has expired, or what could not be seen.
 */
export async function releasedByPlan(
  unit: Unit,
  plan: Approval,
  decision: Decision,
): Promise<Approval[]> {
  if (plan.passId === null) return [];
  const now = await databaseNow(unit);
  const waiting = await unit.db.approval.findMany({
    where: {
      sessionId: plan.sessionId,
      passId: plan.passId,
      kind: 'execution',
      status: 'pending',
      needsTyped: false,
      needsPeople: 1,
      expiresAt: { gt: now },
    },
    include: { executions: { orderBy: { createdAt: 'asc' } } },
    orderBy: { createdAt: 'asc' },
  });
  const released: Approval[] = [];
  for (const { executions, ...approval } of waiting) {
    if (!roleCovers(decision.operator.role, approval.needsRole as Role)) continue;
    if ((await decision.isShown?.(approval.id as ApprovalId)) === false) continue;
    if (await everyCovered(unit, executions)) released.push(approval);
  }
  return released;
}

async function everyCovered(unit: Unit, executions: readonly Execution[]): Promise<boolean> {
  for (const execution of executions) {
    if (!(await wouldRunByGrant(unit, execution))) return false;
  }
  return true;
}

async function wouldRunByGrant(unit: Unit, execution: Execution): Promise<boolean> {
  try {
    const { target, tags } = await resolveTarget(unit.db, execution.targetSlug);
    const verdict = assess({
      command: execution.command,
      declared: execution.declaredRisk ?? undefined,
      target,
      tags,
      blast: blastShape.parse(execution.blast),
    });
    if (verdict.alwaysAsk || verdict.risk === 'destructive') return false;
    const scripts = readScripts(execution.scripts)?.files ?? [];
    return !(await scriptWasChanged(unit, { ...execution, scripts }));
  } catch (error) {
    // No command is sent there any more; the claim would say so, but nobody should be asked to believe that it runs.
    if (error instanceof TargetError) return false;
    throw error;
  }
}
