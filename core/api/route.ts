import type { Context } from 'koa';
import { z } from 'zod';
import type { Role } from '../operators.ts';
import { actorOf, type Actor } from './actor.ts';
import type { ApiDeps } from './app.ts';
import { checkFields, readBody } from './body.ts';
import type { Scope, TokenRecord } from './tokens.ts';

/** The parts of the API, as its description groups them. */
export type Tag =
  | 'tasks'
  | 'approvals'
  | 'executions'
  | 'schedules'
  | 'fleet'
  | 'signals'
  | 'knowledge'
  | 'record'
  | 'system';

/** Takes no fields at all. */
const NOTHING = z.strictObject({});
type Nothing = typeof NOTHING;

/** What every route states. Params, query and body are strict zod objects: a field that they do not have is refused. */
interface Statement<P extends z.ZodType, Q extends z.ZodType> {
  /** As the router takes it: `/api/v1/sessions/:id`. */
  readonly path: string;
  readonly tag: Tag;
  /** A few words. */
  readonly summary: string;
  /** What else a caller must know, in sentences. */
  readonly notes?: string;
  readonly params?: P;
  readonly query?: Q;
  /** Codes of the problems that are this route's own; those that every route can have are added (`problem.ts`). */
  readonly problems?: readonly string[];
}

/** A route that answers with JSON. */
interface JsonStatement<
  P extends z.ZodType,
  Q extends z.ZodType,
  A extends z.ZodType,
> extends Statement<P, Q> {
  /** What comes back. A moment is `z.date()`, a bigint `z.bigint()`: on the wire they are ISO text and a number. */
  readonly answer: A;
}

/** What a handler that only looks gets. */
export interface Look<P extends z.ZodType, Q extends z.ZodType> {
  readonly deps: ApiDeps;
  readonly params: z.output<P>;
  readonly query: z.output<Q>;
}

/** What a handler that changes something gets. */
export interface Change<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType> extends Look<
  P,
  Q
> {
  readonly body: z.output<B>;
  /** In whose name it is done. */
  readonly actor: Actor;
  readonly token: TokenRecord;
}

/** A route as the table has it: enough to serve it and to describe it. */
export interface Route {
  readonly method: Method;
  readonly path: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly notes: string | undefined;
  /** Any one of them is enough; none for a route without a token. */
  readonly scopes: readonly Scope[];
  /** The role that the operator behind the token must have; undefined where nobody's name is needed. */
  readonly role: Role | undefined;
  readonly params: z.ZodType;
  readonly query: z.ZodType;
  readonly body: z.ZodType | undefined;
  /** The JSON of the answer; undefined for one of another kind. */
  readonly answer: z.ZodType | undefined;
  readonly status: number;
  /** The media type of the answer. */
  readonly media: string;
  readonly problems: readonly string[];
  /** Checks the request and answers it. */
  serve(ctx: Context, deps: ApiDeps): Promise<void>;
}

/** The methods that routes have. */
export type Method = 'get' | 'post' | 'put' | 'delete';

const JSON_TYPE = 'application/json';

/** A GET route for tokens that may read. */
export function lookRoute<
  A extends z.ZodType,
  P extends z.ZodType = Nothing,
  Q extends z.ZodType = Nothing,
>(
  route: JsonStatement<P, Q, A> & { handle(call: Look<P, Q>): Promise<z.input<A>> | z.input<A> },
): Route {
  return {
    ...described(route),
    method: 'get',
    scopes: ['read'],
    role: undefined,
    body: undefined,
    answer: route.answer,
    status: 200,
    media: JSON_TYPE,
    async serve(ctx, deps) {
      ctx.body = await route.handle({ deps, ...readHead(ctx, route) });
    },
  };
}

/** A route that changes something, in the name of the operator behind the token. */
export function changeRoute<
  A extends z.ZodType,
  P extends z.ZodType = Nothing,
  Q extends z.ZodType = Nothing,
  B extends z.ZodType = Nothing,
>(
  route: JsonStatement<P, Q, A> & {
    readonly method: 'post' | 'put' | 'delete';
    /** Any one of them is enough. */
    readonly scope: Scope | readonly Scope[];
    /** Default viewer: any operator. */
    readonly role?: Role;
    readonly body?: B;
    /** Default 200. */
    readonly status?: 200 | 201;
    /** Where what was made is to be found. */
    location?(answer: z.input<A>): string;
    handle(call: Change<P, Q, B>): Promise<z.input<A>>;
  },
): Route {
  const role = route.role ?? 'viewer';
  const body: z.ZodType = route.body ?? NOTHING;
  return {
    ...described(route),
    method: route.method,
    scopes: typeof route.scope === 'string' ? [route.scope] : route.scope,
    role,
    body: route.body,
    answer: route.answer,
    status: route.status ?? 200,
    media: JSON_TYPE,
    async serve(ctx, deps) {
      const head = readHead(ctx, route);
      // The schema is the one that `B` stands for: without one there are no fields to read.
      const given = (await readBody(ctx, body)) as z.output<B>;
      const actor = actorOf(ctx, deps.operators, role);
      const token: TokenRecord = ctx.state['token'];
      const answer = await route.handle({ deps, ...head, body: given, actor, token });
      ctx.status = route.status ?? 200;
      if (route.location !== undefined) ctx.set('Location', route.location(answer));
      ctx.body = answer;
    },
  };
}

/** A route that writes its answer itself: a stream, or another media type. */
export function rawRoute<P extends z.ZodType = Nothing, Q extends z.ZodType = Nothing>(
  route: Statement<P, Q> & {
    readonly method: Method;
    readonly scopes: readonly Scope[];
    /** As the OpenAPI document names it. */
    readonly media: string;
    /** The schema of a body that the handler reads itself. */
    readonly body?: z.ZodType;
    /** The JSON of the answer, where it is JSON. */
    readonly answer?: z.ZodType;
    serve(ctx: Context, call: Look<P, Q>): Promise<void>;
  },
): Route {
  return {
    ...described(route),
    method: route.method,
    scopes: route.scopes,
    role: undefined,
    body: route.body,
    answer: route.answer,
    status: 200,
    media: route.media,
    async serve(ctx, deps) {
      await route.serve(ctx, { deps, ...readHead(ctx, route) });
    },
  };
}

function described(route: Statement<z.ZodType, z.ZodType>) {
  return {
    path: route.path,
    tag: route.tag,
    summary: route.summary,
    notes: route.notes,
    params: route.params ?? NOTHING,
    query: route.query ?? NOTHING,
    problems: route.problems ?? [],
  };
}

function readHead<P extends z.ZodType, Q extends z.ZodType>(
  ctx: Context,
  route: Statement<P, Q>,
): { params: z.output<P>; query: z.output<Q> } {
  const params: unknown = { ...(ctx['params'] as object) };
  return {
    params: checkFields(route.params ?? NOTHING, params, 'path') as z.output<P>,
    query: checkFields(route.query ?? NOTHING, { ...ctx.query }, 'query') as z.output<Q>,
  };
}
