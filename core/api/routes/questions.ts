import type Router from '@koa/router';
import { z } from 'zod';
import { NotFoundError } from '../../errors.ts';
import type { QuestionId } from '../../ids.ts';
import { answerQuestion } from '../../tasks/questions.ts';
import { act, actorOf } from '../actor.ts';
import type { ApiDeps } from '../app.ts';
import { needsScope } from '../auth.ts';
import { readBody, readId } from '../body.ts';
import { words } from '../fields.ts';
import { ApiError } from '../problem.ts';

const answerBody = z.strictObject({ answer: words(4_000) });

/** The answer to a question of the agent (K5): the first one counts, whoever gives it. */
export function questionRoutes(router: Router, deps: ApiDeps): void {
  router.post('/api/v1/questions/:id/answer', needsScope('operate'), async (ctx) => {
    const questionId = readId<QuestionId>(ctx.params['id'], 'question');
    const { answer } = await readBody(ctx, answerBody);
    const actor = actorOf(ctx, deps.operators);
    const question = await deps.database.read.question.findUnique({ where: { id: questionId } });
    if (question === null) throw new NotFoundError('question', questionId);
    const result = await act(
      deps.database,
      actor,
      { action: 'question.answer', subject: questionId },
      (unit) => answerQuestion(unit, { questionId, answer, by: actor.operator.userId, via: 'api' }),
    );
    if (result === 'already') {
      throw new ApiError('already_answered', 'It was answered already, or waits no more.');
    }
    ctx.body = { result };
  });
}
