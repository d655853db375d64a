import Router from '@koa/router';
import Koa, { type Context } from 'koa';
import type { Language } from '../approvals/words/intent.ts';
import type { Database } from '../db/database.ts';
import type { EventFeed } from '../events/subscribe.ts';
import type { Mask } from '../executions/finish.ts';
import type { Operators } from '../operators.ts';
import { answers } from './answers.ts';
import { authentication, needsScope } from './auth.ts';
import type { EventStreams } from './event-streams.ts';
import type { ApiMetrics } from './metrics/metrics.ts';
import { ApiError } from './problem.ts';
import type { Route } from './route.ts';
import { openRoutes, ROUTES } from './routes/index.ts';

/** What the program gives the API. */
export interface ApiParts {
  database: Database;
  feed: EventFeed;
  operators: Operators;
  languages: readonly Language[];
  mask: Mask;
  version: string;
  /** IANA name of the zone in which schedules count unless they name another. */
  timeZone: string;
  /** Whether Redis answers; undefined in a process that does not use it. */
  redisReady(): boolean | undefined;
}

/** What the routes show and do their work with. */
export interface ApiDeps extends ApiParts {
  streams: EventStreams;
  metrics: ApiMetrics;
}

/**
 * The Koa application: health without a token, everything else behind one. The address of a client is the one that connects
 * (`X-Forwarded-For` counts for nothing, since anyone can write it).
 */
export function createApi(deps: ApiDeps): Koa {
  const app = new Koa({ proxy: false });
  app.use(deps.metrics.middleware());
  app.use(answers(deps.mask));
  const open = new Router();
  for (const route of openRoutes) open[route.method](route.path, serving(route, deps));
  app.use(open.routes());
  app.use(authentication(deps.database, deps.operators));
  const router = new Router();
  for (const route of ROUTES) {
    router[route.method](route.path, needsScope(route.scopes), serving(route, deps));
  }
  app.use(router.routes());
  app.use(async function noRoute(ctx) {
    const path = ctx.path.slice(0, 200);
    const methods = [open, router]
      .flatMap((one) => one.match(ctx.path, ctx.method).path)
      .flatMap((layer) => layer.methods);
    if (methods.length === 0) throw new ApiError('not_found', `There is nothing at ${path}.`);
    const allowed = [...new Set(methods)].join(', ');
    ctx.set('Allow', allowed);
    throw new ApiError('method_not_allowed', `${ctx.method} is not possible on ${path}.`, {
      hint: `Possible: ${allowed}.`,
    });
  });
  return app;
}

function serving(route: Route, deps: ApiDeps): (ctx: Context) => Promise<void> {
  return async function serve(ctx) {
    ctx.state['route'] = route.path;
    await route.serve(ctx, deps);
  };
}
