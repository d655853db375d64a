import type Router from '@koa/router';
import { z } from 'zod';
import { isPaused, setPaused } from '../../policy/pause.ts';
import { act, actorOf } from '../actor.ts';
import type { ApiDeps } from '../app.ts';
import { needsScope } from '../auth.ts';
import { readBody } from '../body.ts';
import { ApiError } from '../problem.ts';

const pauseBody = z.strictObject({ paused: z.boolean() });

/**
 * The kill switch (P7), for an approver, as `!pause` is. Throwing it takes a token that may operate; ending it lets more run
 * again, so it takes one that may approve.
 */
export function settingsRoutes(router: Router, deps: ApiDeps): void {
  router.get('/api/v1/version', needsScope('read'), (ctx) => {
    ctx.body = { version: deps.version };
  });

  router.get('/api/v1/settings/pause', needsScope('read'), async (ctx) => {
    ctx.body = { paused: await isPaused(deps.database.read) };
  });

  router.put('/api/v1/settings/pause', async (ctx) => {
    const { scopes, name } = ctx.state['token'];
    if (!scopes.includes('operate') && !scopes.includes('approve')) {
      throw new ApiError('scope_missing', `The token "${name}" may neither operate nor approve.`);
    }
    const { paused } = await readBody(ctx, pauseBody);
    if (!paused && !scopes.includes('approve')) {
      throw new ApiError(
        'scope_missing',
        `The token "${name}" may pause, but not end the pause: that takes the scope approve.`,
      );
    }
    const actor = actorOf(ctx, deps.operators, 'approver');
    const changed = await act(deps.database, actor, { action: 'settings.pause' }, (unit) =>
      setPaused(unit, paused, actor.operator.userId),
    );
    ctx.body = { paused, changed };
  });
}
