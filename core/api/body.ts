import type { Context } from 'koa';
import type { z } from 'zod';
import { isRowId, type AnyId } from '../ids.ts';
import { ApiError } from './problem.ts';

/** The largest body that is taken (Z7). */
export const MAX_BODY_BYTES = 1024 * 1024;

/**
 * Reads a JSON body and checks it. Throws `media_type`, `body_too_large`, or `request_invalid` that names each field that is
 * wrong; fields that the schema does not have are refused.
 */
export async function readBody<T extends z.ZodType>(ctx: Context, schema: T): Promise<z.output<T>> {
  if (ctx.is('application/json') === false) {
    throw new ApiError('media_type', 'The body must be JSON (Content-Type: application/json).');
  }
  const text = await readText(ctx);
  let value: unknown;
  try {
    value = text === '' ? {} : JSON.parse(text);
  } catch {
    throw new ApiError('request_invalid', 'The body is not valid JSON.');
  }
  return check(schema, value, 'body');
}

/** Checks the query string, likewise. */
export function readQuery<T extends z.ZodType>(ctx: Context, schema: T): z.output<T> {
  return check(schema, { ...ctx.query }, 'query');
}

/** A row id out of the path. Throws `request_invalid` for what has not its form. */
export function readId<T extends AnyId>(value: string | undefined, what: string): T {
  if (value === undefined || !isRowId(value)) {
    throw new ApiError(
      'request_invalid',
      `"${String(value).slice(0, 80)}" is no id of a ${what}; ids are UUIDs in lower case.`,
    );
  }
  return value as T;
}

function check<T extends z.ZodType>(schema: T, value: unknown, where: string): z.output<T> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const problems = result.error.issues.map((issue) => ({
    field: issue.path.map(String).join('.') || where,
    problem: issue.message,
  }));
  throw new ApiError(
    'request_invalid',
    `The ${where} is not as it should be: ${problems.map((p) => `${p.field}: ${p.problem}`).join('; ')}`,
    { fields: { problems } },
  );
}

async function readText(ctx: Context): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of ctx.req as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) {
      ctx.set('Connection', 'close');
      throw new ApiError('body_too_large', `The body is larger than ${MAX_BODY_BYTES} bytes.`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
