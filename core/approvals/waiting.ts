import type { Reader } from '../db/database.ts';
import type { Approval, ApprovalVote, Execution, Question } from '../db/rows.ts';
import type { SessionId, TurnId } from '../ids.ts';
import { coveredSteps } from './plan.ts';

/** An approval that waits, with what it covers, and who has agreed so far where several must. */
export type WaitingApproval = Approval & { executions: Execution[]; votes: ApprovalVote[] };

/** What to load with an approval for the above. */
export const APPROVAL_PARTS = {
  executions: { orderBy: { createdAt: 'asc' } },
  votes: { orderBy: { at: 'asc' } },
} as const;

/** The approvals that wait, oldest first: everywhere, in one task, or in one turn. */
export async function waitingApprovals(
  db: Reader,
  where: { sessionId?: SessionId; turnId?: TurnId } = {},
): Promise<WaitingApproval[]> {
  return db.approval.findMany({
    where: { ...where, status: 'pending' },
    include: APPROVAL_PARTS,
    orderBy: { createdAt: 'asc' },
  });
}

/** What waits for a person in one turn. */
export interface WaitingTurn {
  turnId: TurnId;
  approvals: WaitingApproval[];
  questions: Question[];
}

/** The turns of a task in which something waits for a person (T15), oldest first. */
export async function turnsThatWait(db: Reader, sessionId: SessionId): Promise<WaitingTurn[]> {
  const [approvals, questions] = await Promise.all([
    waitingApprovals(db, { sessionId }),
    db.question.findMany({ where: { sessionId, status: 'open' }, orderBy: { createdAt: 'asc' } }),
  ]);
  const turns = new Map<string, WaitingTurn>();
  const turnOf = (id: string): WaitingTurn => {
    const known = turns.get(id) ?? { turnId: id as TurnId, approvals: [], questions: [] };
    turns.set(id, known);
    return known;
  };
  for (const approval of approvals) {
    if (approval.turnId !== null) turnOf(approval.turnId).approvals.push(approval);
  }
  for (const question of questions) turnOf(question.turnId).questions.push(question);
  return [...turns.values()];
}

/** What an approval's card shows in words, for `whichFit`. */
export function wordsOfCard(approval: WaitingApproval): string {
  return [
    approval.shortId,
    ...(approval.kind === 'plan' ? ['plan'] : []),
    ...coveredSteps(approval).flatMap(({ title, detail }) => [title, detail ?? '']),
    ...approval.executions.flatMap((execution) => [
      execution.targetSlug,
      execution.shortId,
      execution.purpose,
      execution.command,
    ]),
  ].join(' ');
}
