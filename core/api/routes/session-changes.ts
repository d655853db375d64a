import type Router from '@koa/router';
import { z } from 'zod';
import type { SessionId } from '../../ids.ts';
import { deleteTask } from '../../tasks/delete.ts';
import { lockSession } from '../../tasks/lock.ts';
import { receiveMessage } from '../../tasks/messages.ts';
import { openTask } from '../../tasks/open.ts';
import { requestStop } from '../../tasks/stop.ts';
import { openTurn } from '../../tasks/turns.ts';
import { act, actorOf } from '../actor.ts';
import type { ApiDeps } from '../app.ts';
import { needsScope } from '../auth.ts';
import { readBody, readId } from '../body.ts';
import { words } from '../fields.ts';

/** As much as one Matrix message could carry. */
const MAX_TEXT = 32_000;

const textBody = z.strictObject({ text: words(MAX_TEXT) });
const emptyBody = z.strictObject({});

/** What changes a task: start one, write to it, stop its work, delete it (H1). Each is the same verb as a message or tap in a room. */
export function sessionChangeRoutes(router: Router, deps: ApiDeps): void {
  const { database, operators } = deps;

  router.post('/api/v1/sessions', needsScope('operate'), async (ctx) => {
    const { text } = await readBody(ctx, textBody);
    const actor = actorOf(ctx, operators);
    const opened = await act(database, actor, { action: 'session.start' }, async (unit) => {
      const task = await openTask(unit, {
        by: actor.operator.userId,
        text,
        origin: { kind: 'api' },
      });
      const row = await unit.db.session.findUniqueOrThrow({
        where: { id: task.sessionId },
        select: { shortId: true },
      });
      return { id: task.sessionId, shortId: row.shortId, turnId: task.turnId };
    });
    ctx.status = 201;
    ctx.set('Location', `/api/v1/sessions/${opened.id}`);
    ctx.body = opened;
  });

  // A turn of its own, as a message on the main timeline of the task's room would open (T3).
  router.post('/api/v1/sessions/:id/message', needsScope('operate'), async (ctx) => {
    const sessionId = readId<SessionId>(ctx.params['id'], 'task');
    const { text } = await readBody(ctx, textBody);
    const actor = actorOf(ctx, operators);
    ctx.body = await act(
      database,
      actor,
      { action: 'session.message', subject: sessionId },
      async (unit) => {
        await lockSession(unit, sessionId);
        const turnId = await openTurn(unit, { sessionId, cause: 'api' });
        const { messageId } = await receiveMessage(unit, {
          sessionId,
          turnId,
          text,
          sender: actor.operator.userId,
        });
        return { turnId, messageId };
      },
    );
    ctx.status = 201;
  });

  router.post('/api/v1/sessions/:id/stop', needsScope('operate'), async (ctx) => {
    const sessionId = readId<SessionId>(ctx.params['id'], 'task');
    await readBody(ctx, emptyBody);
    const actor = actorOf(ctx, operators);
    ctx.body = await act(
      database,
      actor,
      { action: 'session.stop', subject: sessionId },
      async (unit) => requestStop(unit, { sessionId, by: actor.operator.userId }),
    );
  });

  // What cannot be brought back takes an admin.
  router.delete('/api/v1/sessions/:id', needsScope('operate'), async (ctx) => {
    const sessionId = readId<SessionId>(ctx.params['id'], 'task');
    const actor = actorOf(ctx, operators, 'admin');
    await act(database, actor, { action: 'session.delete', subject: sessionId }, async (unit) =>
      deleteTask(unit, { sessionId, by: actor.operator.userId }),
    );
    ctx.body = { result: 'deleted' };
  });
}
