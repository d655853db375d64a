import { randomBytes } from 'node:crypto';
import Router from '@koa/router';
import Koa from 'koa';
import type { Language } from '../approvals/words/intent.ts';
import type { Database } from '../db/database.ts';
import { NomosError } from '../errors.ts';
import type { Mask } from '../executions/finish.ts';
import { log } from '../log.ts';
import type { Operators } from '../operators.ts';
import { authentication } from './auth.ts';
import { ApiError, toProblem } from './problem.ts';
import { approvalRoutes } from './routes/approvals.ts';
import { healthRoutes } from './routes/health.ts';
import { sessionRoutes } from './routes/sessions.ts';

/** What the API shows and does its work with. */
export interface ApiDeps {
  database: Database;
  operators: Operators;
  languages: readonly Language[];
  mask: Mask;
  version: string;
  /** Whether Redis answers; undefined in a process that does not use it. */
  redisReady(): boolean | undefined;
}

/** The Koa application: health without a token, everything else behind one. */
export function createApi(deps: ApiDeps): Koa {
  const app = new Koa();
  app.use(problems);
  const open = new Router();
  healthRoutes(open, deps);
  app.use(open.routes());
  app.use(authentication(deps.database));
  const router = new Router();
  sessionRoutes(router, deps);
  approvalRoutes(router, deps);
  app.use(router.routes());
  app.use(async function noRoute(ctx) {
    const known = router.match(ctx.path, ctx.method).path.length > 0;
    throw known
      ? new ApiError('method_not_allowed', `${ctx.method} is not possible on ${ctx.path}.`)
      : new ApiError('not_found', `There is nothing at ${ctx.path}.`);
  });
  return app;
}

async function problems(ctx: Koa.Context, next: Koa.Next): Promise<void> {
  try {
    await next();
  } catch (error) {
    const incident = randomBytes(6).toString('hex');
    const problem = toProblem(error, incident);
    if (!(error instanceof NomosError))
      log.error({ incident, path: ctx.path, error }, 'request failed');
    ctx.status = problem.status;
    ctx.type = 'application/problem+json';
    ctx.body = JSON.stringify(problem);
  }
}
