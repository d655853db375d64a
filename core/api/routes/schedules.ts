import type Router from '@koa/router';
import { z } from 'zod';
import type { Reader } from '../../db/database.ts';
import { NotFoundError } from '../../errors.ts';
import { asId, isRowId, type AnyId, type SessionId } from '../../ids.ts';
import {
  addSchedule,
  deleteSchedule,
  pauseSchedule,
  type Schedule,
} from '../../tasks/schedules.ts';
import { act, actorOf } from '../actor.ts';
import type { ApiDeps } from '../app.ts';
import { needsScope } from '../auth.ts';
import { readBody, readId } from '../body.ts';
import { plainText, words } from '../fields.ts';
import { ApiError } from '../problem.ts';

const timezone = plainText(60).refine(
  (name) => name === 'UTC' || Intl.supportedValuesOf('timeZone').includes(name),
  'no time zone; use a name such as Europe/Berlin',
);

const newBody = z
  .strictObject({
    text: words(4_000),
    /** Five fields; again and again. */
    cron: words(200).optional(),
    /** With its offset from UTC; once. */
    at: z.iso
      .datetime({
        offset: true,
        error: 'a time with its offset, such as 2026-12-01T07:00:00+01:00',
      })
      .optional(),
    /** In which the cron line counts and times are shown. Default `NOMOS_TIMEZONE`. */
    timezone: timezone.optional(),
    /** Each run is a turn of this task; without it a task of its own. */
    session: z.string().refine(isRowId, 'no id; ids are UUIDs in lower case').optional(),
  })
  .refine(({ cron, at }) => (cron === undefined) !== (at === undefined), {
    error: 'give either cron or at',
    path: ['cron'],
  });

const changeBody = z.strictObject({ paused: z.boolean() });

/** Tasks for later (T14): each is the same as `!schedule` does, for an approver. */
export function scheduleRoutes(router: Router, deps: ApiDeps): void {
  const { database, operators } = deps;

  router.get('/api/v1/schedules', needsScope('read'), async (ctx) => {
    const rows = await database.read.schedule.findMany({
      orderBy: [{ nextAt: 'asc' }, { id: 'asc' }],
    });
    ctx.body = { schedules: rows.map(shown) };
  });

  router.post('/api/v1/schedules', needsScope('operate'), async (ctx) => {
    const { text, cron, at, timezone: zone, session } = await readBody(ctx, newBody);
    const actor = actorOf(ctx, operators, 'approver');
    const sessionId = session === undefined ? undefined : asId<SessionId>(session);
    if (sessionId !== undefined) await openForTurns(database.read, sessionId);
    const row = await act(database, actor, { action: 'schedule.add' }, (unit) =>
      addSchedule(unit, {
        when:
          cron === undefined ? { kind: 'once', at: new Date(at ?? '') } : { kind: 'cron', cron },
        timezone: zone ?? deps.timeZone,
        prompt: text,
        by: actor.operator.userId,
        sessionId,
      }),
    );
    ctx.status = 201;
    ctx.set('Location', `/api/v1/schedules/${row.id}`);
    ctx.body = shown(row);
  });

  router.put('/api/v1/schedules/:id/paused', needsScope('operate'), async (ctx) => {
    const id = readId<AnyId>(ctx.params['id'], 'schedule');
    const { paused } = await readBody(ctx, changeBody);
    const actor = actorOf(ctx, operators, 'approver');
    const row = await act(
      database,
      actor,
      { action: 'schedule.pause', subject: id },
      async (unit) => {
        const schedule = await unit.db.schedule.findUnique({ where: { id } });
        if (schedule === null) throw new NotFoundError('schedule', id);
        return pauseSchedule(unit, schedule, paused, actor.operator.userId);
      },
    );
    ctx.body = shown(row);
  });

  router.delete('/api/v1/schedules/:id', needsScope('operate'), async (ctx) => {
    const id = readId<AnyId>(ctx.params['id'], 'schedule');
    const actor = actorOf(ctx, operators, 'approver');
    await act(database, actor, { action: 'schedule.delete', subject: id }, async (unit) => {
      const schedule = await unit.db.schedule.findUnique({ where: { id } });
      if (schedule === null) throw new NotFoundError('schedule', id);
      await deleteSchedule(unit, schedule, actor.operator.userId);
    });
    ctx.body = { result: 'deleted' };
  });
}

async function openForTurns(db: Reader, id: SessionId): Promise<void> {
  const session = await db.session.findUnique({ where: { id }, select: { archivedAt: true } });
  if (session === null) throw new NotFoundError('task', id);
  if (session.archivedAt !== null) throw new ApiError('task_archived', 'That task is archived.');
}

function shown(row: Schedule) {
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
