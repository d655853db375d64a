import { z } from 'zod';
import type { SessionId } from '../../ids.ts';
import { readEvents } from '../../events/subscribe.ts';
import { recentActivity } from '../activity-list.ts';
import { count, idOut, pageSize, plainText, rowId } from '../fields.ts';
import { lookRoute, type Route } from '../route.ts';

/** An event as the list and the stream show it. */
export const eventShape = z.object({
  id: z.bigint(),
  at: z.date(),
  type: z.string(),
  sessionId: idOut.nullable(),
  refId: z.string().nullable().describe('The row that it happened to.'),
  data: z.record(z.string(), z.unknown()),
});

/** What happened: the event log, and what the agent did (H1). */
export const recordRoutes: readonly Route[] = [
  lookRoute({
    path: '/api/v1/events',
    tag: 'record',
    summary: 'The event log, the oldest first',
    notes:
      'Ids grow in the order of commits: who has read up to one has seen everything before it. An event is a reason to look: the state is in the other routes.',
    query: z.strictObject({
      session: rowId<SessionId>('task').optional(),
      after: count({ min: 0, max: Number.MAX_SAFE_INTEGER })
        .default(0)
        .describe('The id of the last event that is known; 0 for all.'),
      limit: pageSize({ max: 500, otherwise: 100 }),
    }),
    answer: z.object({
      events: z.array(eventShape),
      last: z.int().describe('The `after` of the following page.'),
    }),
    async handle({ deps, query: { session, after, limit } }) {
      const events = await readEvents(deps.database, BigInt(after), limit, session);
      return { events, last: Number(events.at(-1)?.id ?? after) };
    },
  }),
  lookRoute({
    path: '/api/v1/activity',
    tag: 'record',
    summary: 'What the agent did lately: its tool calls, the newest first',
    query: z.strictObject({
      session: rowId<SessionId>('task').optional(),
      entity: plainText(200).optional().describe('The slug of the entity that a call was about.'),
      limit: pageSize({ max: 200, otherwise: 50 }),
      before: count({ min: 1, max: Number.MAX_SAFE_INTEGER })
        .optional()
        .describe('The `next` of the page before.'),
    }),
    answer: z.object({
      activity: z.array(
        z.object({
          id: idOut,
          seq: z.bigint(),
          sessionId: idOut,
          task: z.string().describe('Its short id.'),
          title: z.string().nullable(),
          tool: z.string(),
          entity: z.string().nullable(),
          state: z.enum(['requested', 'running', 'done', 'failed', 'unknown']),
          executionId: idOut.nullable(),
          durationMs: z.int().nullable(),
          at: z.date(),
        }),
      ),
      next: z.bigint().nullable().describe('The `before` of the following page; null at the end.'),
    }),
    handle: ({ deps, query }) => recentActivity(deps.database.read, query),
  }),
];
