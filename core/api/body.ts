import type { Context } from 'koa';
import type { z } from 'zod';
import { ApiError } from './problem.ts';

/** The largest body that is taken (Z7). */
export const MAX_BODY_BYTES = 1024 * 1024;
/**
 * A body that is too large is read on and thrown away up to here, so that its sender gets to read why it was refused; past
 * that the connection is cut.
 */
const MAX_THROWN_AWAY_BYTES = 16 * MAX_BODY_BYTES;

/**
 * Reads a JSON body and checks it. Throws `media_type`, `body_too_large`, or `request_invalid` that names each field that is
 * wrong; fields that the schema does not have are refused.
 */
export async function readBody<T extends z.ZodType>(ctx: Context, schema: T): Promise<z.output<T>> {
  // Clients say "Content-Length: 0" for no body, and then mostly no type.
  if (ctx.get('Content-Length') === '0') return checkFields(schema, {}, 'body');
  const encoding = ctx.get('Content-Encoding');
  if (ctx.is('application/json') === false || !/^(identity)?$/i.test(encoding)) {
    throw new ApiError(
      'media_type',
      'The body must be JSON, not compressed (Content-Type: application/json).',
    );
  }
  const text = await readText(ctx);
  let value: unknown;
  try {
    value = text === '' ? {} : JSON.parse(text);
  } catch {
    throw new ApiError('request_invalid', 'The body is not valid JSON.');
  }
  return checkFields(schema, value, 'body');
}

/** Checks what stands in a part of the request. Throws `request_invalid` that names each field that is wrong. */
export function checkFields<T extends z.ZodType>(
  schema: T,
  value: unknown,
  where: string,
): z.output<T> {
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
  try {
    // Leaving the loop must not end the connection: the answer is still to be sent over it.
    const body: AsyncIterable<Buffer> = ctx.req.iterator({ destroyOnReturn: false });
    for await (const chunk of body) {
      bytes += chunk.length;
      if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
      else if (bytes > MAX_THROWN_AWAY_BYTES) break;
    }
  } catch {
    // The sender went away or ran into the time limit, and was told so where there still was somebody to tell.
    throw new ApiError('request_too_slow', 'The request broke off before its body was whole.');
  }
  if (bytes > MAX_BODY_BYTES) {
    ctx.set('Connection', 'close');
    throw new ApiError('body_too_large', `The body is larger than ${MAX_BODY_BYTES} bytes.`);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw new ApiError('request_invalid', 'The body is not valid UTF-8.');
  }
}
