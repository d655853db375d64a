import { APIConnectionError, APIError } from 'openai';
import { errorText } from '../../errors.ts';
import { ModelError, type ModelErrorCode } from './errors.ts';

/** Where a request went, for the words of an error. The key is never part of it. */
export interface Asked {
  readonly model: string;
  /** Host and port only: a base URL may carry a password. */
  readonly endpoint: string;
}

const CONTEXT_TOO_LONG =
  /context[ _-]?(length|window|size)|maximum context|too many tokens|prompt is too long|input is too long/i;

/**
 * Turns whatever the client library threw into one of our errors. `began`: some of the answer had come already, so a
 * broken connection means a cut stream rather than an endpoint that cannot be reached.
 */
export function toModelError(error: unknown, asked: Asked, began: boolean): ModelError {
  if (error instanceof ModelError) return error;
  const where = `${asked.model} at ${asked.endpoint}`;
  if (error instanceof APIConnectionError) {
    return began
      ? cut(error, asked)
      : new ModelError(
          'model_unreachable',
          `Cannot reach the model endpoint ${asked.endpoint}: ${deepest(error)}.`,
          {
            model: asked.model,
            cause: error,
            hint: 'Check OPENAI_BASE_URL and that the endpoint is up.',
          },
        );
  }
  // A status of undefined is an error event inside a stream that had begun with 200.
  if (error instanceof APIError) {
    return error.status === undefined
      ? new ModelError(
          'model_unavailable',
          `The model ${where} broke off with an error: ${brief(error.message)}`,
          {
            model: asked.model,
            cause: error,
          },
        )
      : fromStatus(error, error.status, asked, where);
  }
  if (error instanceof SyntaxError) {
    return new ModelError(
      'model_bad_answer',
      `The model ${where} answered something that is not JSON.`,
      {
        model: asked.model,
        cause: error,
        hint: 'Check that OPENAI_BASE_URL is an OpenAI-compatible API; it usually ends in /v1.',
      },
    );
  }
  return cut(error, asked);
}

function fromStatus(
  error: { message: string; code?: string | null | undefined; headers: unknown },
  status: number,
  asked: Asked,
  where: string,
): ModelError {
  const make = (
    code: ModelErrorCode,
    message: string,
    hint?: string,
    retryAfterMs?: number,
  ): ModelError =>
    new ModelError(code, message, {
      model: asked.model,
      status,
      cause: error,
      ...(hint === undefined ? {} : { hint }),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    });
  const said = brief(error.message);
  if (status === 401 || status === 403) {
    return make(
      'model_unauthorized',
      `The model endpoint ${asked.endpoint} refused the key (${status}).`,
      'Set OPENAI_API_KEY to a valid key for the endpoint in OPENAI_BASE_URL, then start Nomos again.',
    );
  }
  if (status === 404) {
    return make(
      'model_not_found',
      `The endpoint ${asked.endpoint} has no model "${asked.model}" (404).`,
      'Set NOMOS_MODEL to one that it offers; check too that OPENAI_BASE_URL is right (it usually ends in /v1).',
    );
  }
  if (
    error.code === 'context_length_exceeded' ||
    ((status === 400 || status === 413 || status === 422) && CONTEXT_TOO_LONG.test(error.message))
  ) {
    return make('model_context_too_long', `The conversation is too long for ${where}.`);
  }
  if (status === 429) {
    return make(
      'model_rate_limited',
      `The model ${where} is rate-limited or its quota is used up (429): ${said}`,
      'Wait, or raise the limit or quota at the provider.',
      retryAfterMs(error.headers),
    );
  }
  if (status >= 500 || status === 408 || status === 409) {
    return make(
      'model_unavailable',
      `The model ${where} failed (${status}): ${said}`,
      undefined,
      retryAfterMs(error.headers),
    );
  }
  return make(
    'model_request_refused',
    `The model ${where} refused the request (${status}): ${said}`,
    'Check that the model supports chat completions with tools.',
  );
}

/** The wait that an endpoint asks for: `retry-after-ms`, or `retry-after` in seconds or as a date. */
export function retryAfterMs(headers: unknown, nowMs: number = Date.now()): number | undefined {
  if (!(headers instanceof Headers)) return undefined;
  const exact = Number(headers.get('retry-after-ms') ?? Number.NaN);
  if (Number.isFinite(exact) && exact >= 0) return exact;
  const given = headers.get('retry-after');
  if (given === null) return undefined;
  const seconds = Number(given);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const date = Date.parse(given);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}

function cut(error: unknown, asked: Asked): ModelError {
  return new ModelError(
    'model_stream_cut',
    `The answer of ${asked.model} at ${asked.endpoint} broke off: ${deepest(error)}.`,
    {
      model: asked.model,
      cause: error,
    },
  );
}

function deepest(error: unknown): string {
  let at: unknown = error;
  while (at instanceof Error && at.cause instanceof Error) at = at.cause;
  return brief(errorText(at)).replace(/\.$/, '');
}

function brief(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > 300 ? `${line.slice(0, 299)}…` : line;
}
