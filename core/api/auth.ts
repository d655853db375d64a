import type { Context, Middleware, Next } from 'koa';
import type { Database } from '../db/database.ts';
import { ApiError } from './problem.ts';
import { findToken, touchToken, type Scope, type TokenRecord } from './tokens.ts';

/** What the routes know of a request once it is let in. */
export interface ApiState {
  token: TokenRecord;
}

const MAX_FAILURES = 10;
const WINDOW_MS = 60_000;
/** So many addresses are remembered at most; past that the oldest go. */
const MAX_ADDRESSES = 10_000;
const TOUCH_EVERY_MS = 60_000;

/**
 * Lets in who shows a bearer token (H3). Failures are written to the audit log, and an address with ten of them in a
 * minute is refused for the rest of it, whatever it shows.
 */
export function authentication(database: Database): Middleware<ApiState> {
  const failures = new Map<string, { count: number; since: number }>();

  const refuse = async (ctx: Context, why: string): Promise<never> => {
    const now = Date.now();
    const address = ctx.ip;
    const entry = failures.get(address);
    const current =
      entry === undefined || now - entry.since > WINDOW_MS ? { count: 0, since: now } : entry;
    current.count++;
    failures.delete(address);
    failures.set(address, current);
    const oldest = failures.keys().next().value;
    if (failures.size > MAX_ADDRESSES && oldest !== undefined) failures.delete(oldest);
    await database.write(async (unit) =>
      unit.audit({
        actor: 'stranger',
        action: 'api.refused',
        subject: address,
        data: { why, path: ctx.path },
      }),
    );
    ctx.set('WWW-Authenticate', 'Bearer');
    throw new ApiError('not_signed_in', why, {
      hint: 'Send "Authorization: Bearer <token>"; `nomos token create` makes one.',
    });
  };

  return async function authenticate(ctx, next: Next) {
    const entry = failures.get(ctx.ip);
    if (
      entry !== undefined &&
      entry.count >= MAX_FAILURES &&
      Date.now() - entry.since <= WINDOW_MS
    ) {
      const seconds = Math.ceil((entry.since + WINDOW_MS - Date.now()) / 1000);
      ctx.set('Retry-After', String(seconds));
      throw new ApiError('too_many_failures', `Too many failed attempts; wait ${seconds} s.`);
    }
    const header = ctx.get('Authorization');
    if (header === '') return refuse(ctx, 'There is no token in the request.');
    const presented = /^Bearer (\S+)$/i.exec(header)?.[1];
    if (presented === undefined)
      return refuse(ctx, 'The Authorization header is not of the form "Bearer <token>".');
    const token = await findToken(database, presented);
    if (token === null) return refuse(ctx, 'The token is not known, or it was revoked.');
    if (token.lastUsedAt === null || Date.now() - token.lastUsedAt.getTime() > TOUCH_EVERY_MS) {
      await touchToken(database, token.id);
    }
    ctx.state.token = token;
    return next();
  };
}

/** Lets a request on only if its token has the scope. */
export function needsScope(scope: Scope): Middleware<ApiState> {
  return async function checkScope(ctx, next: Next) {
    if (!ctx.state.token.scopes.includes(scope)) {
      throw new ApiError('scope_missing', `The token "${ctx.state.token.name}" may not ${scope}.`, {
        hint: `It has: ${ctx.state.token.scopes.join(', ')}. Make one with --scopes ${scope}.`,
      });
    }
    return next();
  };
}
