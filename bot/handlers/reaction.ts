import {
  reactionMeaning,
  reactionOption,
  type ReactionMeaning,
} from '../../core/approvals/reactions.ts';
import type { MatrixCard } from '../../core/db/rows.ts';
import { requestCancel } from '../../core/executions/cancel.ts';
import {
  asId,
  type ExecutionId,
  type MatrixEventId,
  type SessionId,
  type TurnId,
} from '../../core/ids.ts';
import { resumeTask } from '../../core/tasks/resume.ts';
import { requestStop } from '../../core/tasks/stop.ts';
import { answerTo } from '../cards/replies.ts';
import { rich } from '../cards/rich.ts';
import { readReaction } from './content.ts';
import { answer, refuseViewer, sessionOf, type HandlerContext } from './context.ts';
import { cardAt, turnAt } from './locate.ts';
import { optionsOf, settleQuestion } from './question.ts';
import { resumptionWords } from './resume.ts';
import { onFormerCard, onRetiredCard } from './removed-card.ts';
import { approvalOfCard } from './task-room.ts';
import { decideOffer } from './runbook.ts';
import { onSignalTap, type SignalDeed } from './signal.ts';
import { giveWord } from './verdict.ts';

const FINAL = [
  'completed',
  'failed',
  'denied',
  'revoked',
  'expired',
  'cancelled',
  'unknown',
] as const;

/** What a tap on a signal's card does (S2). */
const SIGNAL_DEEDS: Partial<Record<ReactionMeaning, SignalDeed>> = {
  seen: 'acknowledge',
  mute: 'mute',
  approve: 'resolve',
  task: 'task',
};

/** A tap (A2, A7, C5, C7, C9, S2, T5). Any key that means nothing, and any target that is not the bot's own card, changes nothing. */
export async function onReaction(context: HandlerContext): Promise<void> {
  const { unit, event } = context;
  const reaction = readReaction(event.content);
  const meaning = reaction === undefined ? null : reactionMeaning(reaction.key);
  if (reaction === undefined || meaning === null) return;
  const card = await cardAt(unit.db, event.room, reaction.target);
  if (card === null || card.kind === 'turn') {
    if (meaning === 'stop')
      await stopTurn(context, await turnAt(unit.db, event.room, reaction.target));
    else if (card === null && (meaning === 'approve' || meaning === 'deny'))
      await onFormerCard(context, reaction.target);
    return;
  }
  await onCard(context, card, meaning, reaction.key, reaction.target);
}

async function onCard(
  context: HandlerContext,
  card: MatrixCard,
  meaning: ReactionMeaning,
  key: string,
  target: MatrixEventId,
): Promise<void> {
  if (card.kind === 'signal') {
    const deed = SIGNAL_DEEDS[meaning];
    if (deed !== undefined) await onSignalTap(context, card, deed, target);
    return;
  }
  switch (meaning) {
    case 'approve':
    case 'deny': {
      if (card.kind === 'hint') return;
      if (card.kind === 'error')
        return meaning === 'approve' ? settleError(context, card, target) : undefined;
      if (card.kind === 'former') return onRetiredCard(context, card, target);
      if (card.kind === 'runbook') return onOffer(context, card, meaning, target);
      const approval = await approvalOfCard(context, card);
      if (approval === null) return;
      await giveWord(
        context,
        approval,
        { verdict: meaning, means: 'tap', words: key },
        { event: target },
      );
      return;
    }
    case 'option':
      return tapOption(context, card, key, target);
    case 'stop':
      return stopCard(context, card, target);
    case 'retry':
      if (card.kind === 'error') await goOn(context, card, target);
      return;
    case 'continue':
      if (card.kind === 'task' || card.kind === 'error') await goOn(context, card, target);
      return;
    case 'seen':
    case 'mute':
    case 'task':
      return;
  }
}

/** A tap on the offer of a runbook (K11). */
async function onOffer(
  context: HandlerContext,
  card: MatrixCard,
  verdict: 'approve' | 'deny',
  target: MatrixEventId,
): Promise<void> {
  const words = await decideOffer(context, card.refId, verdict, 'tap');
  if (words !== undefined) await answer(context, words, { to: { event: target } });
}

/** ✅ on an error that no task has: it is dealt with (C7). */
async function settleError(
  context: HandlerContext,
  card: MatrixCard,
  target: MatrixEventId,
): Promise<void> {
  if (card.sessionId !== null || card.closed) return;
  if (await refuseViewer(context, { to: { event: target } })) return;
  const { unit, operator } = context;
  unit.emit({ type: 'error.settled', data: { event: card.refId, by: operator.userId } });
  unit.audit({ actor: operator.userId, action: 'error.settled', subject: card.refId });
}

async function tapOption(
  context: HandlerContext,
  card: MatrixCard,
  key: string,
  target: MatrixEventId,
): Promise<void> {
  const number = reactionOption(key);
  if (card.kind !== 'question' || number === null) return;
  const question = await context.unit.db.question.findUnique({ where: { id: card.refId } });
  if (question === null) return;
  const option = optionsOf(question)[number - 1];
  if (option === undefined) {
    await answer(context, answerTo(rich`There is no option ${number}.`), {
      turnId: asId<TurnId>(question.turnId),
      to: { event: target },
    });
    return;
  }
  await settleQuestion(context, question, option, 'tap', { event: target });
}

/** 🛑: on an execution's card it cancels that; on anything else of a turn it ends the turn's pass; on the task card all passes. */
async function stopCard(
  context: HandlerContext,
  card: MatrixCard,
  target: MatrixEventId,
): Promise<void> {
  const { unit, operator } = context;
  if (card.kind === 'execution' || card.kind === 'batch') {
    const open = await unit.db.execution.findMany({
      where: {
        ...(card.kind === 'batch' ? { batchId: card.refId } : { id: card.refId }),
        status: { notIn: [...FINAL] },
      },
      select: { id: true },
    });
    if (operator.role === 'viewer') {
      await answer(context, answerTo(rich`🚫 You are a viewer; cancelling needs an approver.`), {
        turnId: card.turnId === null ? undefined : asId<TurnId>(card.turnId),
        to: { event: target },
      });
      return;
    }
    for (const { id } of open) {
      await requestCancel(unit, { executionId: asId<ExecutionId>(id), by: operator.userId });
    }
    return;
  }
  const sessionId = sessionOf(context.event);
  if (sessionId === undefined) return;
  if (card.kind === 'task') await requestStop(unit, { sessionId, by: operator.userId });
  else await stopTurn(context, card.turnId === null ? null : asId<TurnId>(card.turnId));
}

async function stopTurn(context: HandlerContext, turnId: TurnId | null): Promise<void> {
  const sessionId = sessionOf(context.event);
  if (sessionId === undefined || turnId === null) return;
  await requestStop(context.unit, { sessionId, turnId, by: context.operator.userId });
}

async function goOn(
  context: HandlerContext,
  card: MatrixCard,
  target: MatrixEventId,
): Promise<void> {
  if (card.sessionId === null) return;
  const turnId = card.turnId === null ? undefined : asId<TurnId>(card.turnId);
  if (await refuseViewer(context, { turnId, to: { event: target } })) return;
  const outcome = await resumeTask(context.unit, {
    sessionId: asId<SessionId>(card.sessionId),
    turnId,
    by: context.operator.userId,
  });
  const words = resumptionWords(outcome);
  if (words !== undefined)
    await answer(context, answerTo(words), { turnId, to: { event: target } });
}
