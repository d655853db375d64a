import { answerSchema, requestSchema, type JsonSchema } from '../core/api/json-schema.ts';
import type { Route } from '../core/api/route.ts';
import { openRoutes, ROUTES } from '../core/api/routes/index.ts';

const INDENT = '  ';

/** `docs/api-routes.md`: every route of the API, from the table that serves them. */
export function apiRoutes(): string {
  const all = [...ROUTES, ...openRoutes];
  const tags = [...new Set(all.map(({ tag }) => tag))];
  const sections = tags.map(
    (tag) =>
      `## ${tag[0]?.toUpperCase()}${tag.slice(1)}\n\n${all
        .filter((route) => route.tag === tag)
        .map(section)
        .join('\n\n')}`,
  );
  return `# The routes of the API

What each route takes and gives. [api.md](api.md) says how to sign in, what all have in common, and has examples; the same as an OpenAPI 3.1
document is at \`GET /api/v1/openapi.json\`. \`?\` marks what can be left out. Moments are ISO 8601 text, ids UUIDs in lower case.

${sections.join('\n\n')}

This file is made from \`core/api/routes/\` by \`npm run docs\`.
`;
}

function section(route: Route): string {
  return [
    `### \`${route.method.toUpperCase()} ${route.path}\``,
    `${route.summary}. ${needs(route)}.${route.notes === undefined ? '' : ` ${route.notes}`}`,
    ...block('query', requestSchema(route.query)),
    ...(route.body === undefined ? [] : block('body', requestSchema(route.body))),
    ...(route.answer === undefined
      ? [`Answers ${route.status} with \`${route.media}\`.`]
      : block(`answer, ${route.status}`, answerSchema(route.answer))),
    ...(route.problems.length === 0
      ? []
      : [`Problems: ${route.problems.map((code) => `\`${code}\``).join(', ')}.`]),
  ].join('\n\n');
}

function needs({ scopes, role }: Route): string {
  if (scopes.length === 0) return 'Takes no token';
  const who =
    role === undefined || role === 'viewer' ? '' : `, in the name of an ${role} or higher`;
  return `Scope ${scopes.join(' or ')}${role === 'admin' ? ', in the name of an admin' : who}`;
}

function block(what: string, schema: JsonSchema): string[] {
  if (schema['type'] === 'object' && Object.keys(properties(schema)).length === 0) return [];
  return [`\`\`\`ts\n// ${what}\n${typeText(schema, '')}\n\`\`\``];
}

function properties(schema: JsonSchema): Record<string, JsonSchema> {
  return (schema['properties'] ?? {}) as Record<string, JsonSchema>;
}

/** A JSON Schema in the notation of TypeScript, with what its fields mean behind them. */
function typeText(schema: JsonSchema, indent: string): string {
  const choices = schema['anyOf'] ?? schema['oneOf'];
  if (Array.isArray(choices)) {
    return choices.map((one: JsonSchema) => typeText(one, indent)).join(' | ');
  }
  if ('const' in schema) return JSON.stringify(schema['const']);
  if (Array.isArray(schema['enum'])) {
    return schema['enum'].map((value) => JSON.stringify(value)).join(' | ');
  }
  const { type } = schema;
  if (Array.isArray(type)) {
    return type.map((one: unknown) => typeText({ ...schema, type: one }, indent)).join(' | ');
  }
  if (type === 'array') {
    const items = typeText((schema['items'] ?? {}) as JsonSchema, indent);
    return items.includes(' | ') && !items.startsWith('{') ? `(${items})[]` : `${items}[]`;
  }
  if (type === 'object') return objectText(schema, indent);
  if (type === 'integer' || type === 'number') return `number${bounds(schema)}`;
  return typeof type === 'string' ? type : 'unknown';
}

function objectText(schema: JsonSchema, indent: string): string {
  const fields = Object.entries(properties(schema));
  if (fields.length === 0) return 'Record<string, unknown>';
  const required = new Set(Array.isArray(schema['required']) ? schema['required'] : []);
  const inner = indent + INDENT;
  const lines = fields.map(([name, field]) => {
    const { description, default: otherwise } = field;
    const remarks = [
      ...(otherwise === undefined ? [] : [`default ${JSON.stringify(otherwise)}`]),
      ...(typeof description === 'string' ? [description] : []),
    ];
    const remark = remarks.length === 0 ? '' : ` // ${remarks.join('; ')}`;
    return `${inner}${name}${required.has(name) ? '' : '?'}: ${typeText(field, inner)};${remark}`;
  });
  return `{\n${lines.join('\n')}\n${indent}}`;
}

function bounds({ minimum, maximum }: JsonSchema): string {
  const far = Number.MAX_SAFE_INTEGER;
  const low = typeof minimum === 'number' && minimum > -far ? minimum : undefined;
  const high = typeof maximum === 'number' && maximum < far ? maximum : undefined;
  if (low === undefined && high === undefined) return '';
  return ` /* ${low ?? ''} to ${high ?? ''} */`
    .replace(' to  ', ' or more ')
    .replace('/*  to', '/* up to');
}
