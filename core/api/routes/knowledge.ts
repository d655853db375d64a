import { z } from 'zod';
import { SessionOutcome } from '../../db/rows.ts';
import { NotFoundError } from '../../errors.ts';
import { executionTrend, TREND_DAYS } from '../../executions/trend.ts';
import type { AnyId } from '../../ids.ts';
import { learningTimeline, listPatterns } from '../../knowledge/patterns.ts';
import {
  countNotes,
  KNOWLEDGE_KINDS,
  newestNotes,
  noteById,
  type Note,
} from '../../knowledge/queries.ts';
import { searchKnowledge } from '../../knowledge/search.ts';
import { count, idOut, rowId, words } from '../fields.ts';
import { lookRoute, type Route } from '../route.ts';

const note = z.object({
  id: idOut,
  title: z.string(),
  kind: z.enum(KNOWLEDGE_KINDS),
  tags: z.array(z.string()),
  about: z.array(z.string()).describe('Slugs of entities.'),
  sessionId: idOut.nullable().describe('The task that wrote it last; it may be deleted since.'),
  task: z.string().nullable().describe('The short id of that task.'),
  outcome: z.enum(SessionOutcome).nullable().describe('What became of it; null while it goes on.'),
  createdAt: z.date(),
  updatedAt: z.date(),
});
const found = note.extend({
  snippet: z.string(),
  whole: z.boolean().describe('Whether it has all of the words, or only some.'),
});
const limit = count({ min: 1, max: 100 }).default(20);

/** What earlier tasks wrote down (K6, K7). */
const notes: readonly Route[] = [
  lookRoute({
    path: '/api/v1/knowledge',
    tag: 'knowledge',
    summary: 'Search the knowledge by words, best first',
    notes:
      'English and German words are stemmed; "words in quotes" belong together, and -word must not be there. Without their texts: one note has it.',
    query: z.strictObject({
      text: words(400),
      kind: z.enum(KNOWLEDGE_KINDS).optional(),
      limit,
    }),
    answer: z.object({ notes: z.array(found) }),
    async handle({ deps, query }) {
      const rows = await searchKnowledge(deps.database.read, query);
      return {
        notes: rows.map((row) => ({ ...listed(row), snippet: row.snippet, whole: row.whole })),
      };
    },
  }),
  lookRoute({
    path: '/api/v1/knowledge/recent',
    tag: 'knowledge',
    summary: 'The newest knowledge, and how much there is',
    query: z.strictObject({ limit }),
    answer: z.object({
      counts: z.object({ document: z.int(), investigation: z.int(), runbook: z.int() }),
      notes: z.array(note),
    }),
    async handle({ deps, query }) {
      const [counts, rows] = await Promise.all([
        countNotes(deps.database.read),
        newestNotes(deps.database.read, query),
      ]);
      return { counts, notes: rows.map(listed) };
    },
  }),
  lookRoute({
    path: '/api/v1/knowledge/:id',
    tag: 'knowledge',
    summary: 'One note with its text',
    params: z.strictObject({ id: rowId<AnyId>('note') }),
    answer: note.extend({ content: z.string().describe('Markdown.') }),
    problems: ['not_found'],
    async handle({ deps, params: { id } }) {
      const row = await noteById(deps.database.read, id);
      if (row === undefined) throw new NotFoundError('note', id);
      return { ...listed(row), content: row.content };
    },
  }),
];

function listed(row: Note): z.input<typeof note> {
  return {
    id: row.id,
    title: row.title,
    kind: row.kind,
    tags: row.tags,
    about: row.about,
    sessionId: row.sessionId,
    task: row.task,
    outcome: row.outcome,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  };
}

const record = {
  successes: z.int(),
  successRate: z.number().describe('Between 0 and 1.'),
};

/** What the agent learned to do, and how reliably (K11). */
const learning: readonly Route[] = [
  lookRoute({
    path: '/api/v1/learning/timeline',
    tag: 'knowledge',
    summary: 'What was learned to be done: verbs by their first success',
    notes: 'Those that never succeeded come last.',
    query: z.strictObject({ limit: count({ min: 1, max: 500 }).default(100) }),
    answer: z.object({
      verbs: z.array(
        z.object({
          verb: z.string(),
          firstSuccess: z.date().nullable(),
          total: z.int(),
          ...record,
        }),
      ),
    }),
    async handle({ deps, query }) {
      return { verbs: await learningTimeline(deps.database.read, query.limit) };
    },
  }),
  lookRoute({
    path: '/api/v1/learning/trend',
    tag: 'knowledge',
    summary: 'How commands ended on each of the last 30 days',
    notes:
      'Days are those of `NOMOS_TIMEZONE`. A command whose outcome is unknown counts as failed.',
    answer: z.object({
      timezone: z.string(),
      days: z.array(z.object({ day: z.string(), succeeded: z.int(), failed: z.int() })),
    }),
    async handle({ deps }) {
      const { timeZone } = deps;
      const days = await executionTrend(deps.database.read, { timeZone, days: TREND_DAYS });
      return { timezone: timeZone, days };
    },
  }),
  lookRoute({
    path: '/api/v1/learning/patterns',
    tag: 'knowledge',
    summary: 'How each action goes on each type of entity, the most certain first',
    query: z.strictObject({
      type: words(40).optional().describe('A type of entity, such as host.'),
      limit: count({ min: 1, max: 500 }).default(100),
    }),
    answer: z.object({
      patterns: z.array(
        z.object({
          action: z.string(),
          entityType: z.string(),
          failures: z.int(),
          ...record,
          confidence: z
            .number()
            .describe(
              'How often it succeeds at least: the lower bound of Wilson’s interval at 95 %.',
            ),
          firstAt: z.date(),
          lastAt: z.date(),
        }),
      ),
    }),
    async handle({ deps, query: { type, limit: most } }) {
      return {
        patterns: await listPatterns(deps.database.read, { entityType: type, limit: most }),
      };
    },
  }),
];

/** Knowledge and learning (H1). */
export const knowledgeRoutes: readonly Route[] = [...notes, ...learning];
