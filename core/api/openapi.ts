import { answerSchema, requestSchema, type JsonSchema } from './json-schema.ts';
import { statusOf } from './problem.ts';
import type { Route } from './route.ts';

const PROBLEM = 'application/problem+json';
const TAGS: ReadonlyArray<{ name: Route['tag']; description: string }> = [
  {
    name: 'tasks',
    description: 'Tasks, called sessions here: each has a room, a plan and an end.',
  },
  { name: 'approvals', description: 'What waits for a decision, and the decision.' },
  { name: 'executions', description: 'Commands on targets.' },
  { name: 'schedules', description: 'Tasks for later.' },
  { name: 'fleet', description: 'Entities, their relations, and what depends on what.' },
  { name: 'signals', description: 'Checks and what they found.' },
  { name: 'knowledge', description: 'What was written down and learned; runbooks.' },
  { name: 'record', description: 'Events, activity and the audit log.' },
  { name: 'system', description: 'Health, metrics, version and the kill switch.' },
];

/**
 * The OpenAPI 3.1 document of these routes (H4), made from the schemas that check their requests and describe their answers.
 */
export function openApi(routes: readonly Route[], version: string): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const path = templatePath(route.path);
    paths[path] = { ...paths[path], [route.method]: operation(route) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Nomos',
      version,
      description:
        'Shows and directs a Nomos installation. Moments are ISO 8601 in UTC, ids UUIDs in lower case; a secret that is recognised shows as "[masked]". Fields that are not known are refused in requests; new ones may be added to answers.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: TAGS.filter(({ name }) => routes.some((route) => route.tag === name)),
    paths,
    components: {
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description: 'A token of `nomos token create`. Its scopes are read, operate and approve.',
        },
      },
      schemas: { Problem: PROBLEM_SCHEMA },
    },
  };
}

/** `/a/:id` as OpenAPI writes it: `/a/{id}`. */
function templatePath(path: string): string {
  return path.replaceAll(/:(\w+)/g, '{$1}');
}

/** The problems that a route can answer with: its own, and those that follow from what it takes. */
export function problemsOf(route: Route): string[] {
  const open = route.scopes.length === 0;
  const fields = Object.keys(propertiesOf(requestSchema(route.params)));
  return [
    'request_invalid',
    ...(open
      ? []
      : ['not_signed_in', 'scope_missing', 'role_missing', 'too_many_failures', 'database_away']),
    ...(fields.length === 0 ? [] : ['not_found']),
    ...(route.method === 'get' ? [] : ['media_type', 'body_too_large', 'request_too_slow']),
    'internal_error',
    ...route.problems,
  ];
}

function operation(route: Route): Record<string, unknown> {
  return {
    operationId: operationId(route),
    tags: [route.tag],
    summary: route.summary,
    ...(route.notes === undefined ? {} : { description: route.notes }),
    parameters: [...parameters(route.params, 'path'), ...parameters(route.query, 'query')],
    ...(route.body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: requestSchema(route.body) } },
          },
        }),
    responses: responses(route),
    security: route.scopes.length === 0 ? [] : route.scopes.map((scope) => ({ token: [scope] })),
    ...(route.role === undefined ? {} : { 'x-nomos-role': route.role }),
  };
}

/** A name for the operation that clients can be made from: `get_sessions_id_plan`. */
function operationId({ method, path }: Route): string {
  const words = path.replace(/^\/api\/v1/, '').match(/\w+/g) ?? ['root'];
  return [method, ...words].join('_');
}

function parameters(schema: Route['params'], where: 'path' | 'query'): unknown[] {
  const made = requestSchema(schema);
  const required = new Set(Array.isArray(made['required']) ? made['required'] : []);
  return Object.entries(propertiesOf(made)).map(([name, { description, ...rest }]) => ({
    name,
    in: where,
    required: where === 'path' || required.has(name),
    ...(description === undefined ? {} : { description }),
    // A number of the query is text that is read: its pattern says no more than the type.
    schema:
      rest['type'] === 'integer'
        ? Object.fromEntries(Object.entries(rest).filter(([key]) => key !== 'pattern'))
        : rest,
  }));
}

function propertiesOf(schema: JsonSchema): Record<string, JsonSchema> {
  return (schema['properties'] ?? {}) as Record<string, JsonSchema>;
}

function responses(route: Route): Record<string, unknown> {
  const good = {
    description: route.summary,
    ...(route.status === 201
      ? { headers: { Location: { schema: { type: 'string' }, description: 'What was made.' } } }
      : {}),
    content: {
      [route.media]: {
        schema: route.answer === undefined ? bareSchema(route) : answerSchema(route.answer),
      },
    },
  };
  const byStatus = new Map<number, string[]>();
  for (const code of problemsOf(route)) {
    const status = code === 'internal_error' ? 500 : statusOf(code);
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return {
    [route.status]: good,
    // Readiness says in the same form that it is not there.
    ...(route.path === '/readyz' ? { 503: { ...good, description: 'Not ready' } } : {}),
    ...Object.fromEntries(
      [...byStatus].map(([status, codes]) => [
        status,
        {
          description: codes.join(', '),
          content: { [PROBLEM]: { schema: { $ref: '#/components/schemas/Problem' } } },
        },
      ]),
    ),
  };
}

/** Of an answer that is not described: any JSON, or text. */
function bareSchema({ media }: Route): JsonSchema {
  return media === 'application/json' ? {} : { type: 'string' };
}

const PROBLEM_SCHEMA = {
  type: 'object',
  description: 'A failure (RFC 9457).',
  required: ['type', 'title', 'status', 'code', 'detail'],
  properties: {
    type: { const: 'about:blank' },
    title: { type: 'string' },
    status: { type: 'integer' },
    code: { type: 'string', description: 'Stable: for programs.' },
    detail: { type: 'string', description: 'For people.' },
    hint: { type: 'string', description: 'The way out.' },
    fields: { type: 'object', description: 'What matters, by name.' },
    incident: { type: 'string', description: 'What nobody expected: the log has it under this.' },
  },
};
