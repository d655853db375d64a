import { randomBytes } from 'node:crypto';
import type { Context, Middleware, Next } from 'koa';
import { NomosError } from '../errors.ts';
import type { Mask } from '../executions/finish.ts';
import { log } from '../log.ts';
import { maskDeep } from './mask-deep.ts';
import { isDatabaseAway, PROBLEM_TYPE, toProblem } from './problem.ts';

const RETRY_AFTER_S = 5;

/**
 * The one place where answers are written: what the routes give becomes JSON here, with every secret in it masked (X9), and
 * what they throw becomes a problem (Z7), also when the JSON itself cannot be made. A text is a whole answer already, and what
 * is written to the connection by the route itself (a stream) is left to it.
 */
export function answers(mask: Mask): Middleware {
  return async function answer(ctx, next: Next) {
    ctx.set('X-Content-Type-Options', 'nosniff');
    ctx.set('Cache-Control', 'no-store');
    try {
      await next();
      if (ctx.respond === false || typeof ctx.body === 'string') return;
      const text = JSON.stringify(maskDeep(ctx.body, mask));
      ctx.type = 'application/json; charset=utf-8';
      ctx.body = text;
    } catch (error) {
      tell(ctx, error, mask);
    }
  };
}

function tell(ctx: Context, error: unknown, mask: Mask): void {
  const incident = randomBytes(6).toString('hex');
  const problem = toProblem(error, incident);
  if (problem.status >= 500) {
    // The words of a failure may carry what it failed on: they are masked like all else.
    const { message, stack } = error instanceof Error ? error : new Error(String(error));
    const level = isDatabaseAway(error) ? 'warn' : 'error';
    log[level](
      {
        incident,
        method: ctx.method,
        path: ctx.path,
        code: error instanceof NomosError ? error.code : undefined,
        error: mask(message),
        stack: stack === undefined ? undefined : mask(stack),
      },
      'request failed',
    );
  }
  if (problem.status === 503) ctx.set('Retry-After', String(RETRY_AFTER_S));
  ctx.status = problem.status;
  ctx.body = JSON.stringify(maskDeep(problem, mask));
  ctx.set('Content-Type', PROBLEM_TYPE);
}
