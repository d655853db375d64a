import type { Reader } from '../../core/db/database.ts';
import type { Session } from '../../core/db/rows.ts';
import type { Role } from '../../core/operators.ts';
import type { WaitingName } from '../cards/replies.ts';
import { cardKey } from './keys.ts';
import { cardLinks } from './load-task.ts';

/** Something that waits for a person, with where it stands. */
export interface WaitingThing {
  readonly name: WaitingName;
  readonly cardKey: string;
  readonly turnId: string | null;
  readonly open: boolean;
  readonly until: Date | null;
  /** Who must decide; null for a question, which anyone may answer. */
  readonly needs: { role: Role; people: number } | null;
}

/** An approval by its id, as answers name it; undefined if there is none. */
export async function waitingName(
  db: Reader,
  session: Pick<Session, 'roomId'>,
  approvalId: string,
): Promise<WaitingThing | undefined> {
  const approval = await db.approval.findUnique({
    where: { id: approvalId },
    include: {
      executions: { orderBy: { createdAt: 'asc' }, omit: { stdout: true, stderr: true } },
    },
  });
  if (approval === null) return undefined;
  const [first, ...others] = approval.executions;
  const key = first === undefined ? cardKey.plan(approval.id) : cardKey.execution(first);
  const links = await cardLinks(db, session, [key]);
  return {
    name: {
      // The id that the card shows: an execution's own where there is one alone.
      shortId: first !== undefined && others.length === 0 ? first.shortId : approval.shortId,
      label: first?.purpose ?? 'The plan',
      target:
        first === undefined
          ? null
          : others.length === 0
            ? first.targetSlug
            : `${others.length + 1} targets`,
      risk: approval.risk,
      link: links(key),
    },
    cardKey: key,
    turnId: approval.turnId,
    open: approval.status === 'pending',
    until: approval.expiresAt,
    needs: { role: approval.needsRole as Role, people: approval.needsPeople },
  };
}

/** A question by its id, likewise. */
export async function waitingQuestion(
  db: Reader,
  session: Pick<Session, 'roomId'>,
  questionId: string,
): Promise<WaitingThing | undefined> {
  const question = await db.question.findUnique({ where: { id: questionId } });
  if (question === null) return undefined;
  const key = cardKey.question(questionId);
  const links = await cardLinks(db, session, [key]);
  return {
    name: { shortId: null, label: question.prompt, target: null, risk: null, link: links(key) },
    cardKey: key,
    turnId: question.turnId,
    open: question.status === 'open',
    until: null,
    needs: null,
  };
}
