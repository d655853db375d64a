import { z } from 'zod';
import type { Reader } from '../../db/database.ts';
import { NotFoundError } from '../../errors.ts';
import type { AnyId, SessionId } from '../../ids.ts';
import {
  addSchedule,
  deleteSchedule,
  pauseSchedule,
  type Schedule,
} from '../../tasks/schedules.ts';
import { act } from '../actor.ts';
import { idOut, plainText, rowId, words } from '../fields.ts';
import { ApiError } from '../problem.ts';
import { changeRoute, lookRoute, type Route } from '../route.ts';

const timezone = plainText(60)
  .refine(
    (name) => name === 'UTC' || Intl.supportedValuesOf('timeZone').includes(name),
    'no time zone; use a name such as Europe/Berlin',
  )
  .meta({ examples: ['Europe/Berlin'] });

const newBody = z
  .strictObject({
    text: words(4_000),
    cron: words(200).optional().describe('Five fields, at least 5 minutes apart: again and again.'),
    at: z.iso
      .datetime({
        offset: true,
        error: 'a time with its offset, such as 2026-12-01T07:00:00+01:00',
      })
      .optional()
      .describe('With its offset from UTC: once.'),
    timezone: timezone
      .optional()
      .describe('In which the cron line counts and times are shown. Default `NOMOS_TIMEZONE`.'),
    session: rowId<SessionId>('task')
      .optional()
      .describe('Each run is a turn of this task; without it a task of its own.'),
  })
  .refine(({ cron, at }) => (cron === undefined) !== (at === undefined), {
    error: 'give either cron or at',
    path: ['cron'],
  });

const byId = z.strictObject({ id: rowId<AnyId>('schedule') });
const schedule = z.object({
  id: idOut,
  text: z.string(),
  cron: z.string().nullable().describe('Null for one that runs once.'),
  timezone: z.string(),
  sessionId: idOut.nullable(),
  paused: z.boolean(),
  nextAt: z.date(),
  lastAt: z.date().nullable(),
  createdBy: z.string(),
  createdAt: z.date(),
});

/** Tasks for later (T14): each is the same as `!schedule` does, for an approver. */
export const scheduleRoutes: readonly Route[] = [
  lookRoute({
    path: '/api/v1/schedules',
    tag: 'schedules',
    summary: 'All schedules, the next one first',
    answer: z.object({ schedules: z.array(schedule) }),
    async handle({ deps }) {
      const rows = await deps.database.read.schedule.findMany({
        orderBy: [{ nextAt: 'asc' }, { id: 'asc' }],
      });
      return { schedules: rows.map(shown) };
    },
  }),
  changeRoute({
    method: 'post',
    path: '/api/v1/schedules',
    tag: 'schedules',
    summary: 'Set a task for later, or to be repeated',
    notes: 'Give either `cron` or `at`.',
    scope: 'operate',
    role: 'approver',
    body: newBody,
    answer: schedule,
    status: 201,
    location: ({ id }) => `/api/v1/schedules/${id}`,
    problems: ['schedule_invalid', 'not_found', 'task_archived'],
    async handle({ deps, body, actor }) {
      const { text, cron, at, timezone: zone, session } = body;
      if (session !== undefined) await openForTurns(deps.database.read, session);
      const row = await act(deps.database, actor, { action: 'schedule.add' }, (unit) =>
        addSchedule(unit, {
          when:
            cron === undefined ? { kind: 'once', at: new Date(at ?? '') } : { kind: 'cron', cron },
          timezone: zone ?? deps.timeZone,
          prompt: text,
          by: actor.operator.userId,
          sessionId: session,
        }),
      );
      return shown(row);
    },
  }),
  changeRoute({
    method: 'put',
    path: '/api/v1/schedules/:id/paused',
    tag: 'schedules',
    summary: 'Pause a schedule, or let it go on',
    notes: 'What fell into a pause is not made up for.',
    scope: 'operate',
    role: 'approver',
    params: byId,
    body: z.strictObject({ paused: z.boolean() }),
    answer: schedule,
    problems: ['schedule_invalid'],
    async handle({ deps, params: { id }, body: { paused }, actor }) {
      const row = await act(
        deps.database,
        actor,
        { action: 'schedule.pause', subject: id },
        async (unit) => {
          const found = await unit.db.schedule.findUnique({ where: { id } });
          if (found === null) throw new NotFoundError('schedule', id);
          return pauseSchedule(unit, found, paused, actor.operator.userId);
        },
      );
      return shown(row);
    },
  }),
  changeRoute({
    method: 'delete',
    path: '/api/v1/schedules/:id',
    tag: 'schedules',
    summary: 'Delete a schedule',
    scope: 'operate',
    role: 'approver',
    params: byId,
    answer: z.object({ result: z.literal('deleted') }),
    async handle({ deps, params: { id }, actor }) {
      await act(deps.database, actor, { action: 'schedule.delete', subject: id }, async (unit) => {
        const found = await unit.db.schedule.findUnique({ where: { id } });
        if (found === null) throw new NotFoundError('schedule', id);
        await deleteSchedule(unit, found, actor.operator.userId);
      });
      return { result: 'deleted' as const };
    },
  }),
];

async function openForTurns(db: Reader, id: SessionId): Promise<void> {
  const session = await db.session.findUnique({ where: { id }, select: { archivedAt: true } });
  if (session === null) throw new NotFoundError('task', id);
  if (session.archivedAt !== null) throw new ApiError('task_archived', 'That task is archived.');
}

function shown(row: Schedule): z.input<typeof schedule> {
  return {
    id: row.id,
    text: row.prompt,
    cron: row.cron,
    timezone: row.timezone,
    sessionId: row.sessionId,
    paused: row.paused,
    nextAt: row.nextAt,
    lastAt: row.lastAt,
    createdBy: row.createdBy,
    createdAt: row.createdAt,
  };
}
