import type { z } from 'zod';
import type { JsonSchema } from '../agent/model/types.ts';

const MAX_TOLD = 5;

/** Says what is wrong with arguments, field by field: what was given and what is allowed. */
export function explainIssues(error: z.ZodError, given: unknown, schema: JsonSchema): string {
  const told = error.issues.slice(0, MAX_TOLD).map((issue) => explain(issue, given, schema));
  const more = error.issues.length - told.length;
  return told.join(' ') + (more > 0 ? ` And ${more} more.` : '');
}

function explain(issue: z.core.$ZodIssue, given: unknown, schema: JsonSchema): string {
  const field = issue.path.length === 0 ? 'The arguments' : `Field "${issue.path.join('.')}"`;
  if (issue.code === 'unrecognized_keys') {
    const known = Object.keys((schema['properties'] as Record<string, unknown> | undefined) ?? {});
    const where = issue.path.length === 0 ? ` This tool takes: ${known.join(', ')}.` : '';
    return `${field}: nothing is called ${issue.keys.map((key) => `"${key}"`).join(', ')} there.${where}`;
  }
  const value = at(given, issue.path);
  const was = value === undefined ? 'is missing' : `cannot be ${brief(value)}`;
  return `${field} ${was}: ${allowed(issue)}.`;
}

function allowed(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_value':
      return `allowed are ${issue.values.map((value) => JSON.stringify(value)).join(', ')}`;
    case 'invalid_type':
      return `it must be ${issue.expected === 'array' ? 'a list' : `of type ${issue.expected}`}`;
    case 'too_small':
      return `it must ${size(issue.origin, 'at least', issue.minimum)}`;
    case 'too_big':
      return `it must ${size(issue.origin, 'at most', issue.maximum)}`;
    default:
      return issue.message.charAt(0).toLowerCase() + issue.message.slice(1);
  }
}

function size(origin: string, bound: string, limit: number | bigint): string {
  if (origin === 'string') return `have ${bound} ${limit} characters`;
  return origin === 'array' ? `have ${bound} ${limit} items` : `be ${bound} ${limit}`;
}

function at(value: unknown, path: readonly PropertyKey[]): unknown {
  let found = value;
  for (const key of path) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = (found as Record<PropertyKey, unknown>)[key];
  }
  return found;
}

function brief(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}
