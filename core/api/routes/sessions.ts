import type Router from '@koa/router';
import { z } from 'zod';
import type { Reader } from '../../db/database.ts';
import { SessionStatus } from '../../db/rows.ts';
import { NotFoundError } from '../../errors.ts';
import type { SessionId } from '../../ids.ts';
import { taskDigest } from '../../tasks/digest.ts';
import { reviewTask } from '../../tasks/review.ts';
import type { ApiDeps } from '../app.ts';
import { needsScope } from '../auth.ts';
import { readId, readQuery } from '../body.ts';
import { count, words } from '../fields.ts';
import { listSessions } from '../session-list.ts';

const listQuery = z.strictObject({
  status: z.enum(SessionStatus).optional(),
  text: words(200).optional(),
  limit: count({ min: 1, max: 200 }).default(50),
  /** The `next` of the page before. */
  before: z.string().max(200).optional(),
});

const messagesQuery = z.strictObject({
  limit: count({ min: 1, max: 500 }).default(100),
  /** The `seq` of the oldest message of the page before. */
  before: count({ min: 1, max: Number.MAX_SAFE_INTEGER }).optional(),
});

/** Tasks: the list, one with its messages, its digest and its review (H1, K12). */
export function sessionRoutes(router: Router, deps: ApiDeps): void {
  const db = deps.database.read;

  router.get('/api/v1/sessions', needsScope('read'), async (ctx) => {
    ctx.body = await listSessions(db, readQuery(ctx, listQuery));
  });

  router.get('/api/v1/sessions/:id', needsScope('read'), async (ctx) => {
    const id = readId<SessionId>(ctx.params['id'], 'task');
    ctx.body = await oneSession(db, id, readQuery(ctx, messagesQuery));
  });

  router.get('/api/v1/sessions/:id/digest', needsScope('read'), async (ctx) => {
    ctx.body = await taskDigest(db, readId<SessionId>(ctx.params['id'], 'task'));
  });

  router.get('/api/v1/sessions/:id/review', needsScope('read'), async (ctx) => {
    ctx.body = await reviewTask(db, readId<SessionId>(ctx.params['id'], 'task'));
  });
}

async function oneSession(db: Reader, id: SessionId, page: z.output<typeof messagesQuery>) {
  const session = await db.session.findUnique({ where: { id } });
  if (session === null) throw new NotFoundError('task', id);
  const [messages, plan, questions, pendingApprovals] = await Promise.all([
    db.message.findMany({
      where: {
        sessionId: id,
        ...(page.before === undefined ? {} : { seq: { lt: BigInt(page.before) } }),
      },
      orderBy: { seq: 'desc' },
      take: page.limit,
    }),
    db.planStep.findMany({ where: { sessionId: id }, orderBy: { seq: 'asc' } }),
    db.question.findMany({ where: { sessionId: id }, orderBy: { createdAt: 'asc' } }),
    db.approval.count({ where: { sessionId: id, status: 'pending' } }),
  ]);
  return {
    id: session.id,
    shortId: session.shortId,
    goal: session.goal,
    title: session.title,
    status: session.status,
    outcome: session.outcome,
    summary: session.summary,
    createdBy: session.createdBy,
    roomId: session.roomId,
    pausedReason: session.pausedReason,
    createdAt: session.createdAt,
    lastActivityAt: session.lastActivityAt,
    endedAt: session.endedAt,
    pendingApprovals,
    plan: plan.map(({ seq, generation, title, detail, status, note }) => ({
      seq,
      generation,
      title,
      detail,
      status,
      note,
    })),
    questions: questions.map(
      ({ id: questionId, prompt, why, options, status, answer, answeredBy }) => ({
        id: questionId,
        prompt,
        why,
        options,
        status,
        answer,
        answeredBy,
      }),
    ),
    messages: messages.toReversed().map((message) => ({
      seq: message.seq,
      role: message.role,
      sender: message.sender,
      // What its writer took back is not shown on (T13).
      text: message.redactedAt === null ? message.text : '',
      toolCalls: message.toolCalls,
      toolCallId: message.toolCallId,
      redacted: message.redactedAt !== null,
      at: message.createdAt,
    })),
  };
}
