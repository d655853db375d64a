import { z } from 'zod';
import type { Intent } from '../../core/approvals/words/intent.ts';
import type { Question, Session } from '../../core/db/rows.ts';
import { asId, type QuestionId, type TurnId } from '../../core/ids.ts';
import { answerQuestion } from '../../core/tasks/questions.ts';
import { answerTo, whichOne } from '../cards/replies.ts';
import { rich } from '../cards/rich.ts';
import { clock } from '../cards/view.ts';
import { label, nameOf } from '../cards/words.ts';
import type { AtEvent } from '../outbox/enqueue.ts';
import { waitingQuestion } from '../projector/waiting-name.ts';
import { answer, type HandlerContext } from './context.ts';
import type { WordsOutcome } from './words.ts';

const optionsShape = z.array(z.string());

/** The options of a question, in order. */
export function optionsOf(question: Pick<Question, 'options'>): string[] {
  return optionsShape.parse(question.options);
}

/** The option that a message is nothing but: by its number (`2`, `2.`, `option 2`) or by its own words. */
export function optionIn(question: Pick<Question, 'options'>, text: string): string | undefined {
  const options = optionsOf(question);
  const said = fold(text);
  const number = /^(?:option |no |nr )?(\d{1,2})$/.exec(said)?.[1];
  if (number !== undefined) return options[Number(number) - 1];
  return options.find((option) => fold(option) === said);
}

/**
 * An answer in words to the questions that are open in a turn (C5): any text that asks nothing back answers the one that is
 * open; of several, the one that has it as an option.
 */
export async function answerByWords(
  context: HandlerContext,
  session: Session,
  questions: readonly Question[],
  text: string,
  intent: Intent,
  /** The message is a reply to the card of the one question. */
  replied = false,
): Promise<WordsOutcome> {
  const [only, ...others] = questions;
  if (only === undefined || intent.question) return 'for_agent';
  // Written long before it could be read, so hardly about what is asked now.
  if (context.event.sealed?.late === true && !replied) return 'for_agent';
  const fitting = questions.filter((question) => optionIn(question, text) !== undefined);
  const [fit, ...more] = fitting;
  const meant = others.length === 0 ? only : more.length === 0 ? fit : undefined;
  if (meant === undefined) {
    const things = await Promise.all(
      questions.map(({ id }) => waitingQuestion(context.unit.db, session, id)),
    );
    const names = things.filter((thing) => thing !== undefined).map((thing) => thing.name);
    await answer(context, whichOne(names, false), { turnId: asId<TurnId>(only.turnId) });
    return 'dealt_with';
  }
  await settleQuestion(context, meant, optionIn(meant, text) ?? text, 'words');
  return 'dealt_with';
}

/** Answers a question once; whoever comes later is told who answered (K5). */
export async function settleQuestion(
  context: HandlerContext,
  question: Pick<Question, 'id' | 'turnId'>,
  words: string,
  via: 'tap' | 'words',
  replyTo?: AtEvent,
): Promise<void> {
  const { unit, event, operator, view } = context;
  const outcome = await answerQuestion(unit, {
    questionId: asId<QuestionId>(question.id),
    answer: words,
    by: operator.userId,
    via,
    eventId: event.eventId,
  });
  if (outcome === 'answered') return;
  const now = await unit.db.question.findUniqueOrThrow({ where: { id: question.id } });
  if (now.answeredBy === operator.userId && now.answer === words) return;
  const when = now.answeredAt === null ? '' : ` at ${clock(now.answeredAt, view)}`;
  const told =
    now.status === 'answered'
      ? rich`Already answered by ${nameOf(now.answeredBy)}${when}: ${label(now.answer ?? '', 200)}.`
      : rich`It is no longer asked.`;
  await answer(context, answerTo(told), { turnId: asId<TurnId>(now.turnId), to: replyTo });
}

function fold(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[.!,;:"'’“”()]+/gu, ' ')
    .replace(/\s+/gu, ' ')
    .trim();
}
