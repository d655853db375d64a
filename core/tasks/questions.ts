import type { Unit } from '../db/database.ts';
import {
  newId,
  type MatrixEventId,
  type PassId,
  type QuestionId,
  type SessionId,
  type TurnId,
} from '../ids.ts';
import { lockSession } from './lock.ts';
import { addNote } from './messages.ts';
import { refreshStatus } from './status.ts';
import { quoted } from '../text/label.ts';

/** Puts a question to the operator (K5). The task then waits for the answer; the pass that asked ends. */
export async function askQuestion(
  unit: Unit,
  args: {
    sessionId: SessionId;
    turnId: TurnId;
    passId: PassId;
    prompt: string;
    why?: string | undefined;
    options: readonly string[];
    entities: readonly string[];
  },
): Promise<QuestionId> {
  await lockSession(unit, args.sessionId);
  const id = newId<QuestionId>();
  await unit.db.question.create({
    data: {
      id,
      sessionId: args.sessionId,
      turnId: args.turnId,
      passId: args.passId,
      prompt: args.prompt,
      why: args.why ?? null,
      options: [...args.options],
      entities: [...args.entities],
    },
  });
  unit.emit({ type: 'question.asked', sessionId: args.sessionId, refId: id });
  await refreshStatus(unit, args.sessionId);
  return id;
}

/** Answers a question once, by whatever means; the first answer counts. It wakes the agent with the words. */
export async function answerQuestion(
  unit: Unit,
  args: {
    questionId: QuestionId;
    answer: string;
    by: string;
    via: 'tap' | 'words' | 'api';
    eventId?: MatrixEventId | undefined;
  },
): Promise<'answered' | 'already'> {
  const question = await unit.db.question.findUniqueOrThrow({ where: { id: args.questionId } });
  const sessionId = question.sessionId as SessionId;
  await lockSession(unit, sessionId);
  const { count } = await unit.db.question.updateMany({
    where: { id: args.questionId, status: 'open' },
    data: {
      status: 'answered',
      answer: args.answer,
      answeredBy: args.by,
      answeredVia: args.via,
      answerEvent: args.eventId ?? null,
      answeredAt: new Date(),
    },
  });
  if (count === 0) return 'already';
  unit.emit({ type: 'question.answered', sessionId, refId: args.questionId });
  unit.audit({
    actor: args.by,
    action: 'question.answered',
    sessionId,
    subject: args.questionId,
    data: { via: args.via, event: args.eventId ?? null },
  });
  await unit.db.session.update({
    where: { id: sessionId },
    data: { lastActivityAt: new Date(), pausedReason: null, failedResumes: 0, nudgedAt: null },
  });
  await addNote(unit, {
    sessionId,
    turnId: question.turnId as TurnId,
    text: `The operator answered your question ${quoted(question.prompt, 500)}: ${args.answer}`,
    wake: 'answer',
  });
  await refreshStatus(unit, sessionId);
  return 'answered';
}
