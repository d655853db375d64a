import { decide } from '../../core/approvals/decide.ts';
import type { Approval, DecisionMeans } from '../../core/db/rows.ts';
import { asId, type ApprovalId, type TurnId } from '../../core/ids.ts';
import { alreadyDecided, answerTo, voteCounted } from '../cards/replies.ts';
import { rich } from '../cards/rich.ts';
import { isShown, showAgain } from '../projector/shown.ts';
import type { AtEvent } from '../outbox/enqueue.ts';
import { answer, type HandlerContext } from './context.ts';
import { distrustCard, distrustOf } from './trust.ts';

/** An operator's word on one approval. */
export interface Word {
  readonly verdict: 'approve' | 'deny';
  readonly means: DecisionMeans;
  readonly words?: string | undefined;
  readonly reason?: string | undefined;
  readonly typedConfirmation?: boolean | undefined;
  /** It is about something that was said in words, so no card has to be there. */
  readonly spoken?: boolean | undefined;
}

/**
 * Takes an operator's word to `decide`, and tells them what came of it where the card itself does not (A7): it was decided
 * before, it expired, they may not, more people are needed. What is destructive and was merely tapped is answered by the
 * hint that `decide` asks for.
 */
export async function giveWord(
  context: HandlerContext,
  approval: Pick<Approval, 'id' | 'sessionId' | 'turnId'>,
  { spoken = false, ...word }: Word,
  replyTo?: AtEvent,
): Promise<void> {
  const { unit, event, operator, view } = context;
  if (await refusesUntrusted(context, approval, word, replyTo)) return;
  const result = await decide(unit, {
    approvalId: asId<ApprovalId>(approval.id),
    operator,
    eventId: event.eventId,
    ...word,
    operators: context.operators,
    isShown: async (id) => (spoken && id === approval.id) || isShown(unit.db, id),
  });
  const place = {
    turnId: approval.turnId === null ? undefined : asId<TurnId>(approval.turnId),
    to: replyTo,
  };
  switch (result.kind) {
    case 'approved':
    case 'denied':
    case 'needs_typed':
      return;
    case 'voted':
      return answer(context, voteCounted(result.have, result.need, result.again), place);
    case 'already': {
      const same =
        result.by === operator.userId &&
        result.status === (word.verdict === 'approve' ? 'approved' : 'denied');
      if (same) return;
      return answer(
        context,
        alreadyDecided({ status: result.status, decidedBy: result.by, decidedAt: result.at }, view),
        place,
      );
    }
    case 'expired':
      return answer(
        context,
        answerTo(
          rich`⌛ Too late: it had expired. Nothing was run; ask again if it is still wanted.`,
        ),
        place,
      );
    case 'not_shown':
      return answer(
        context,
        answerTo(
          (await showAgain(unit, asId<ApprovalId>(approval.id)))
            ? rich`⏳ Not decided: its card, or the file that belongs to it, could not be sent here. It is sent once more now; decide when it is here.`
            : rich`⏳ Not decided: all that it covers has not reached this room yet. Decide when its card, and the file that belongs to it, are here.`,
        ),
        place,
      );
    case 'not_allowed':
      return answer(context, answerTo(rich`🚫 Not decided. ${result.why}`), place);
  }
}

/** Answers a word that cannot be trusted to be the operator's, or of now, on something that waits. Whether it was one. */
async function refusesUntrusted(
  context: HandlerContext,
  about: Pick<Approval, 'id' | 'sessionId'>,
  word: Pick<Word, 'verdict' | 'means'>,
  replyTo: AtEvent | undefined,
): Promise<boolean> {
  const { unit, event, operator } = context;
  const why = await distrustOf(context, about.sessionId, word.means);
  if (why === undefined) return false;
  const approval = await unit.db.approval.findUnique({ where: { id: about.id } });
  if (approval?.status !== 'pending') return false;
  unit.audit({
    actor: operator.userId,
    action: 'approval.refused',
    sessionId: approval.sessionId,
    subject: approval.id,
    data: { why, means: word.means, event: event.eventId },
  });
  await answer(context, distrustCard(why, { ...approval, verdict: word.verdict }), {
    turnId: approval.turnId === null ? undefined : asId<TurnId>(approval.turnId),
    to: replyTo,
  });
  return true;
}
