import { requestPlanApproval, spokenPlan } from '../../core/approvals/plan.ts';
import { whichFit } from '../../core/approvals/words/card-match.ts';
import type { Intent } from '../../core/approvals/words/intent.ts';
import type { Session } from '../../core/db/rows.ts';
import { asId, type SessionId, type TurnId } from '../../core/ids.ts';
import { lockSession } from '../../core/tasks/lock.ts';
import { proposePlan } from '../../core/tasks/plan.ts';
import { setGoing } from '../../core/tasks/reopen.ts';
import { answer, type HandlerContext } from './context.ts';
import { distrustCard, distrustOf } from './trust.ts';
import { giveWord } from './verdict.ts';
import type { WordsOutcome } from './words.ts';

/**
 * "Proceed" where nothing waits: if the turn's last pass proposed a plan, or told one in words and asked whether to begin, that plan is
 * approved as by a tap on its card, with an approval of its own on record (A11, A8). To anything else a "yes" is a message like any other.
 */
export async function assentToWords(
  context: HandlerContext,
  session: Session,
  text: string,
  intent: Intent,
  turnId?: TurnId,
): Promise<WordsOutcome> {
  if (!intent.assent || !intent.bare || context.operator.role === 'viewer') return 'for_agent';
  const { unit } = context;
  const sessionId = asId<SessionId>(session.id);
  const locked = await lockSession(unit, sessionId);
  if (locked.archivedAt !== null) return 'for_agent';
  const plan = await spokenPlan(unit.db, sessionId, turnId);
  if (plan === null) return 'for_agent';
  const words = ['plan', ...plan.steps.flatMap(({ title, detail }) => [title, detail ?? ''])];
  if (whichFit(intent.reference, [words.join(' ')]).length === 0) return 'for_agent';
  const why = await distrustOf(context, sessionId, 'word');
  if (why !== undefined) {
    const asked = { verdict: 'approve', needsTyped: false, shortId: null } as const;
    await answer(context, distrustCard(why, asked), turnId === undefined ? {} : { turnId });
    return 'dealt_with';
  }
  // A task without a goal ended with the answer that told the plan (T9); the word for it opens it again.
  await setGoing(unit, locked);
  const steps = plan.worded ? await proposePlan(unit, sessionId, plan.steps) : plan.steps;
  const { approvalId } = await requestPlanApproval(unit, plan, steps);
  const approval = await unit.db.approval.findUniqueOrThrow({ where: { id: approvalId } });
  await giveWord(context, approval, {
    verdict: 'approve',
    means: 'word',
    words: text,
    spoken: true,
  });
  return 'dealt_with';
}
