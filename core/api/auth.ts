import type { Context, Middleware, Next } from 'koa';
import type { Database } from '../db/database.ts';
import type { Operators } from '../operators.ts';
import { operatorOf } from './actor.ts';
import { FailureLimit } from './failures.ts';
import { ApiError } from './problem.ts';
import { findToken, touchToken, type Scope, type TokenRecord } from './tokens.ts';

/** What the routes know of a request once it is let in. */
export interface ApiState {
  token: TokenRecord;
}

const TOUCH_EVERY_MS = 60_000;

/**
 * Lets in who shows a bearer token (H3). Failures are written to the audit log, and an address that showed ten wrong tokens in
 * a minute is refused for the rest of it, whatever it shows. Requests that show nothing guess nothing: a browser on the same
 * machine sends them by itself. They have a limit of their own, past which only they are refused. At most twenty entries a minute
 * from one address.
 *
 * A token in the name of someone who is no operator (any more) is good for nothing (Z1).
 */
export function authentication(database: Database, operators: Operators): Middleware<ApiState> {
  const guesses = new FailureLimit();
  const tokenless = new FailureLimit();

  const refuse = async (ctx: Context, why: string, failures = guesses): Promise<never> => {
    const { count, limited } = failures.add(ctx.ip);
    // It came in beside the others that used up the limit.
    if (limited) return refuseForNow(ctx, failures.waitMs(ctx.ip));
    await database.write(async (unit) =>
      unit.audit({
        actor: 'stranger',
        action: 'api.refused',
        subject: ctx.ip,
        data: { why, method: ctx.method, path: ctx.path.slice(0, 200), failures: count },
      }),
    );
    ctx.set('WWW-Authenticate', 'Bearer');
    throw new ApiError('not_signed_in', why, {
      hint: 'Send "Authorization: Bearer <token>"; `nomos token create` makes one.',
    });
  };

  return async function authenticate(ctx, next: Next) {
    const waitMs = guesses.waitMs(ctx.ip);
    if (waitMs > 0) return refuseForNow(ctx, waitMs);
    const header = ctx.get('Authorization');
    if (header === '') return refuse(ctx, 'There is no token in the request.', tokenless);
    const presented = /^Bearer +(\S+)$/i.exec(header)?.[1];
    if (presented === undefined)
      return refuse(ctx, 'The Authorization header is not of the form "Bearer <token>".');
    const token = await findToken(database, presented);
    if (token === null) return refuse(ctx, 'The token is not known, or it was revoked.');
    if (token.lastUsedAt === null || Date.now() - token.lastUsedAt.getTime() > TOUCH_EVERY_MS) {
      await touchToken(database, token.id);
    }
    if (token.operator !== null) operatorOf(token, operators);
    ctx.state.token = token;
    return next();
  };
}

function refuseForNow(ctx: Context, waitMs: number): never {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000));
  ctx.set('Retry-After', String(seconds));
  throw new ApiError(
    'too_many_failures',
    `Too many failed attempts from this address; wait ${seconds} s.`,
    { fields: { retryAfterS: seconds } },
  );
}

/** Lets a request on only if its token has one of the scopes. */
export function needsScope(scopes: readonly Scope[]): Middleware<ApiState> {
  return async function checkScope(ctx, next: Next) {
    const { name, scopes: has } = ctx.state.token;
    if (!scopes.some((scope) => has.includes(scope))) {
      throw new ApiError('scope_missing', `The token "${name}" may not ${scopes.join(' or ')}.`, {
        hint: `It has: ${has.join(', ')}. Make one with --scopes ${scopes.join(',')}.`,
      });
    }
    return next();
  };
}
