import { z } from 'zod';
import { NomosError } from '../errors.ts';
import { quote } from '../yaml-source.ts';
import type { ParameterValue, ParameterValues } from './runbook-template.ts';

const scalar = z.union([z.string(), z.number(), z.boolean()]);
const common = {
  description: z.string().trim().min(1, 'a description must say something').max(300),
  default: scalar.optional(),
  example: scalar.optional(),
};
const regular = z
  .string()
  .max(200)
  .refine((given) => compiled(given) !== undefined, 'no regular expression')
  .refine(
    endsSoon,
    'at most three of * + {…}, and none of them behind a group: others can take for ever',
  )
  .optional();

/** What a runbook may ask for. Only `text` may hold what means something to a shell. */
export const parameterShape = z.discriminatedUnion(
  'type',
  [
    /** An entity of the fleet by its slug; `entity_types`: which kinds. */
    z.strictObject({
      type: z.literal('entity'),
      ...common,
      entity_types: z.array(z.string()).min(1).optional(),
    }),
    /** A name, a version, an address: letters, digits and `._:@%+,=/-`. `pattern`: what the whole of it must be. */
    z.strictObject({ type: z.literal('word'), ...common, pattern: regular }),
    /** One line of anything that can be seen. */
    z.strictObject({
      type: z.literal('text'),
      ...common,
      pattern: regular,
      max_length: z.int().min(1).max(300).default(200),
    }),
    /** An absolute path. */
    z.strictObject({ type: z.literal('path'), ...common }),
    z.strictObject({
      type: z.literal('integer'),
      ...common,
      min: z.int().optional(),
      max: z.int().optional(),
    }),
    z.strictObject({ type: z.literal('boolean'), ...common }),
    z.strictObject({
      type: z.literal('choice'),
      ...common,
      allowed: z.array(z.string().min(1)).min(1),
    }),
  ],
  'allowed types: entity, word, text, path, integer, boolean, choice',
);

/** One parameter, as read. */
export type Parameter = z.output<typeof parameterShape>;

const WORD = /^[A-Za-z0-9_./:@%+,=-]{1,200}$/;
const SLUG = /^[a-z][a-z0-9_]*:[A-Za-z0-9_./:@%+,=-]{1,180}$/;

/** Reads a value for a parameter. What models get slightly wrong is mended ("3" for 3, "yes" for true); the fault says what is allowed. */
export function readValue(
  parameter: Parameter,
  given: unknown,
): { value: ParameterValue } | { fault: string } {
  const fault = (allowed: string): { fault: string } => ({
    fault: `${quote(given)} is not ${allowed}`,
  });
  if (parameter.type === 'boolean') {
    const said = String(given).trim().toLowerCase();
    if (/^(?:true|yes|on|1)$/.test(said)) return { value: true };
    return /^(?:false|no|off|0)$/.test(said) ? { value: false } : fault('true or false');
  }
  if (parameter.type === 'integer') {
    const text = String(given).trim();
    const { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = parameter;
    const number = /^-?\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    return number >= min && number <= max
      ? { value: number }
      : fault(`a whole number${bounds(parameter)}`);
  }
  if (typeof given !== 'string' && typeof given !== 'number') return fault('text');
  const text = String(given).trim();
  // A program would take it for an option.
  if (text.startsWith('-')) return fault('allowed: it begins with a dash');
  switch (parameter.type) {
    case 'choice': {
      const fitting = parameter.allowed.find((one) => one === text);
      return fitting === undefined
        ? fault(`one of ${parameter.allowed.join(', ')}`)
        : { value: text };
    }
    case 'entity':
      return SLUG.test(text) || (WORD.test(text) && !text.includes(':'))
        ? { value: text }
        : fault('the slug of an entity, such as host:web-1');
    case 'path':
      return WORD.test(text) && text.startsWith('/') && !/(?:^|\/)\.\.(?:\/|$)/.test(text)
        ? { value: text }
        : fault('an absolute path of letters, digits and ._:@%+,=/- without ..');
    case 'word':
      return WORD.test(text) && fits(parameter.pattern, text)
        ? { value: text }
        : fault(
            parameter.pattern === undefined
              ? 'one word of letters, digits and ._:@%+,=/-'
              : `as ${parameter.pattern} has it`,
          );
    case 'text':
      if (text === '' || text.length > parameter.max_length || /[\p{C}\p{Zl}\p{Zp}]/u.test(text)) {
        return fault(`one line of 1 to ${parameter.max_length} characters that can be seen`);
      }
      return fits(parameter.pattern, text)
        ? { value: text }
        : fault(`as ${parameter.pattern} has it`);
  }
}

/** What a parameter takes, in words: for a list, a card and an error. */
export function allowedWords(parameter: Parameter): string {
  switch (parameter.type) {
    case 'entity':
      return parameter.entity_types === undefined
        ? 'entity'
        : `entity of type ${parameter.entity_types.join(' or ')}`;
    case 'choice':
      return `one of ${parameter.allowed.join(', ')}`;
    case 'integer':
      return `whole number${bounds(parameter)}`;
    case 'boolean':
      return 'true or false';
    case 'path':
      return 'absolute path';
    case 'word':
    case 'text':
      return parameter.pattern === undefined
        ? parameter.type
        : `${parameter.type} like ${parameter.pattern}`;
  }
}

/**
 * Reads the values that a runbook is to be used with: defaults where none is given. Throws `runbook_parameters` that names each
 * that is missing, unknown or wrong, with what is allowed. Entities are only looked at as words here.
 */
export function readParameters(
  runbook: { slug: string; parameters: Readonly<Record<string, Parameter>> },
  given: Readonly<Record<string, unknown>>,
): ParameterValues {
  const { slug, parameters } = runbook;
  const faults: string[] = [];
  const values: Record<string, ParameterValue> = {};
  for (const [name, parameter] of Object.entries(parameters)) {
    const value = (Object.hasOwn(given, name) ? given[name] : undefined) ?? parameter.default;
    if (value === undefined) {
      faults.push(`${name} is missing: ${parameter.description} (${allowedWords(parameter)})`);
      continue;
    }
    const read = readValue(parameter, value);
    if ('fault' in read) faults.push(`${name}: ${read.fault}`);
    else values[name] = read.value;
  }
  const known = Object.keys(parameters);
  for (const name of Object.keys(given).filter((one) => !Object.hasOwn(parameters, one))) {
    faults.push(
      `nothing is called ${quote(name)}; ${known.length === 0 ? 'it takes no parameters' : `there are: ${known.join(', ')}`}`,
    );
  }
  if (faults.length > 0) {
    throw new NomosError(
      'runbook_parameters',
      'model',
      `Runbook ${slug} cannot be used like that: ${faults.join('; ')}.`,
      { hint: 'get_runbook shows what it takes.' },
    );
  }
  return values;
}

function bounds({ min, max }: { min?: number | undefined; max?: number | undefined }): string {
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`;
  if (min !== undefined) return ` of at least ${min}`;
  return max === undefined ? '' : ` of at most ${max}`;
}

function fits(pattern: string | undefined, text: string): boolean {
  return pattern === undefined || compiled(pattern)?.test(text) === true;
}

/** A pattern, for the whole of a text; undefined for one that is none. */
function compiled(pattern: string): RegExp | undefined {
  try {
    return new RegExp(`^(?:${pattern})$`, 'u');
  } catch {
    // The schema that reads it says so.
    return undefined;
  }
}

/** Whether a pattern is tried in a time that a text of 300 characters cannot make long. */
function endsSoon(pattern: string): boolean {
  // What stands in a class or behind a backslash repeats nothing.
  const bare = pattern.replace(/\\[^]|\[(?:\\[^]|[^\]\\])*\]/g, 'x');
  return (bare.match(/[*+{]/g) ?? []).length <= 3 && !/\)[*+{]/.test(bare);
}
