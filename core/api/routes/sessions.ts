import { z } from 'zod';
import type { Reader } from '../../db/database.ts';
import { SessionStatus, type PlanStep, type Question } from '../../db/rows.ts';
import { NotFoundError } from '../../errors.ts';
import type { SessionId } from '../../ids.ts';
import { taskDigest } from '../../tasks/digest.ts';
import { reviewTask } from '../../tasks/review.ts';
import { count, pageSize, rowId, words } from '../fields.ts';
import { lookRoute, type Route } from '../route.ts';
import { listSessions } from '../session-list.ts';
import { digest, listing, planStep, question, review, whole } from './session-shapes.ts';

const listQuery = z.strictObject({
  status: z.enum(SessionStatus).optional(),
  text: words(200).optional().describe('Looked for in goal, title, summary and short id.'),
  limit: pageSize({ max: 200, otherwise: 50 }),
  before: z
    .string()
    .max(200)
    .regex(/^\d{1,16}_[0-9a-f-]{36}$/, 'is not the "next" of an earlier page')
    .optional()
    .describe('The `next` of the page before.'),
});

const messagesQuery = z.strictObject({
  limit: pageSize({ max: 500, otherwise: 100 }).describe('How many messages: the newest.'),
  before: count({ min: 1, max: Number.MAX_SAFE_INTEGER })
    .optional()
    .describe('The `seq` of the oldest message of the page before.'),
});

const byId = z.strictObject({ id: rowId<SessionId>('task') });
/** Tasks: the list, one with its messages, its plan, questions, digest and review (H1, K12). */
export const sessionRoutes: readonly Route[] = [
  lookRoute({
    path: '/api/v1/sessions',
    tag: 'tasks',
    summary: 'Tasks, the most recently active first',
    notes:
      'Each with its count of waiting approvals. A task that becomes active while you page moves to the front: start again to see it.',
    query: listQuery,
    answer: z.object({
      sessions: z.array(listing),
      next: z.string().nullable().describe('The `before` of the following page; null at the end.'),
    }),
    handle: ({ deps, query }) => listSessions(deps.database.read, query),
  }),
  lookRoute({
    path: '/api/v1/sessions/:id',
    tag: 'tasks',
    summary: 'One task with its plan, questions and messages, the oldest first',
    params: byId,
    query: messagesQuery,
    answer: whole,
    handle: ({ deps, params: { id }, query }) => oneSession(deps.database.read, id, query),
  }),
  lookRoute({
    path: '/api/v1/sessions/:id/plan',
    tag: 'tasks',
    summary: 'The plan of a task',
    notes: 'A step that a later plan took the place of has the status replaced.',
    params: byId,
    answer: z.object({ plan: z.array(planStep) }),
    async handle({ deps, params: { id } }) {
      const db = deps.database.read;
      await existing(db, id);
      return { plan: await planOf(db, id) };
    },
  }),
  lookRoute({
    path: '/api/v1/sessions/:id/questions',
    tag: 'tasks',
    summary: 'The questions of a task, the oldest first',
    params: byId,
    answer: z.object({ questions: z.array(question) }),
    async handle({ deps, params: { id } }) {
      const db = deps.database.read;
      await existing(db, id);
      return { questions: await questionsOf(db, id) };
    },
  }),
  lookRoute({
    path: '/api/v1/sessions/:id/digest',
    tag: 'tasks',
    summary: 'What a task came to',
    params: byId,
    answer: digest,
    handle: ({ deps, params: { id } }) => taskDigest(deps.database.read, id),
  }),
  lookRoute({
    path: '/api/v1/sessions/:id/review',
    tag: 'tasks',
    summary: 'How a task went, and what to do better',
    params: byId,
    answer: review,
    handle: ({ deps, params: { id } }) => reviewTask(deps.database.read, id),
  }),
];

async function existing(db: Reader, id: SessionId): Promise<void> {
  if ((await db.session.count({ where: { id } })) === 0) throw new NotFoundError('task', id);
}

async function planOf(db: Reader, sessionId: SessionId): Promise<z.input<typeof planStep>[]> {
  const steps = await db.planStep.findMany({ where: { sessionId }, orderBy: { seq: 'asc' } });
  return steps.map(({ seq, generation, title, detail, status, note }: PlanStep) => ({
    seq,
    generation,
    title,
    detail,
    status,
    note,
  }));
}

async function questionsOf(db: Reader, sessionId: SessionId): Promise<z.input<typeof question>[]> {
  const rows = await db.question.findMany({ where: { sessionId }, orderBy: { createdAt: 'asc' } });
  return rows.map(({ id, prompt, why, options, status, answer, answeredBy }: Question) => ({
    id,
    prompt,
    why,
    options,
    status,
    answer,
    answeredBy,
  }));
}

async function oneSession(
  db: Reader,
  id: SessionId,
  page: z.output<typeof messagesQuery>,
): Promise<z.input<typeof whole>> {
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
    planOf(db, id),
    questionsOf(db, id),
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
    plan,
    questions,
    messages: messages.toReversed().map((row) => ({
      seq: row.seq,
      role: row.role,
      sender: row.sender,
      // What its writer took back is not shown on (T13).
      text: row.redactedAt === null ? row.text : '',
      toolCalls: row.toolCalls,
      toolCallId: row.toolCallId,
      redacted: row.redactedAt !== null,
      at: row.createdAt,
    })),
  };
}
