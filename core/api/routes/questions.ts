import { z } from 'zod';
import { NotFoundError } from '../../errors.ts';
import type { QuestionId } from '../../ids.ts';
import { answerQuestion } from '../../tasks/questions.ts';
import { act } from '../actor.ts';
import { rowId, words } from '../fields.ts';
import { ApiError } from '../problem.ts';
import { changeRoute, type Route } from '../route.ts';

/** The answer to a question of the agent (K5): the first one counts, whoever gives it. */
export const questionRoutes: readonly Route[] = [
  changeRoute({
    method: 'post',
    path: '/api/v1/questions/:id/answer',
    tag: 'tasks',
    summary: 'Answer a question of the agent',
    notes: 'The first answer counts, whoever gives it and by whatever means.',
    scope: 'operate',
    params: z.strictObject({ id: rowId<QuestionId>('question') }),
    body: z.strictObject({ answer: words(4_000) }),
    answer: z.object({ result: z.literal('answered') }),
    problems: ['already_answered'],
    async handle({ deps, params: { id: questionId }, body: { answer }, actor }) {
      const question = await deps.database.read.question.findUnique({ where: { id: questionId } });
      if (question === null) throw new NotFoundError('question', questionId);
      const result = await act(
        deps.database,
        actor,
        { action: 'question.answer', subject: questionId },
        (unit) =>
          answerQuestion(unit, { questionId, answer, by: actor.operator.userId, via: 'api' }),
      );
      if (result === 'already') {
        throw new ApiError('already_answered', 'It was answered already, or waits no more.');
      }
      return { result };
    },
  }),
];
