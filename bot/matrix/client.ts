import { LogLevel, LogService, MatrixClient, MatrixError } from 'matrix-bot-sdk';
import { z } from 'zod';
import { log } from '../../core/log.ts';
import {
  AuthenticationNeededError,
  HomeserverError,
  HomeserverUnreachableError,
} from './errors.ts';

/** Longest wait for any answer but that of a long poll. */
const REQUEST_TIMEOUT_MS = 60_000;
/** More of the answer to a failed download is not read. */
const MAX_ERROR_BYTES = 64 * 1024;
const errorShape = z.looseObject({
  errcode: z.string(),
  error: z.string().default(''),
  retry_after_ms: z.number().optional(),
});

const challengeShape = z.looseObject({
  flows: z.array(z.unknown()),
  session: z.string().optional(),
});

routeSdkLog();

/**
 * matrix-bot-sdk's client with a transport of its own: every request ends at once when `signal` fires, since a bot that
 * lost its lock must not go on (Z9), and the SDK's HTTP library cannot be stopped. Its sync loop, its handlers and its
 * crypto are not used: `sync.ts` and the outbox take their place.
 */
export class NomosClient extends MatrixClient {
  readonly #signal: AbortSignal;

  constructor(homeserverUrl: string, accessToken: string, signal: AbortSignal) {
    super(homeserverUrl, accessToken);
    this.#signal = signal;
  }

  /**
   * One request. Throws the SDK's `MatrixError` for an answer with an errcode, `HomeserverError` for any other that is no
   * success, `HomeserverUnreachableError` when there was no answer within `timeoutMs`, and the signal's reason once it fired.
   */
  override async doRequest(
    method: string,
    endpoint: string,
    qs?: Record<string, unknown> | null,
    body?: unknown,
    timeoutMs: number = REQUEST_TIMEOUT_MS,
    raw = false,
    contentType = 'application/json',
    noEncoding = false,
  ): Promise<unknown> {
    this.#signal.throwIfAborted();
    const bytes = body instanceof Uint8Array;
    const response = await this.#answer(urlOf(this.homeserverUrl, endpoint, qs), {
      method,
      headers: {
        ...(this.accessToken === '' ? {} : { authorization: `Bearer ${this.accessToken}` }),
        ...(body === undefined || body === null
          ? {}
          : { 'content-type': bytes ? contentType : 'application/json' }),
      },
      ...(body === undefined || body === null
        ? {}
        : { body: bytes ? new Uint8Array(body) : JSON.stringify(body) }),
      signal: AbortSignal.any([this.#signal, AbortSignal.timeout(timeoutMs)]),
    });
    const { status, headers, content } = response;
    if (status < 200 || status >= 300) throw failure(response, `${method} ${endpoint}`);
    const value = noEncoding ? content : parsed(response, `${method} ${endpoint}`);
    return raw ? { statusCode: status, headers, body: value } : value;
  }

  /**
   * The bytes of a file on the homeserver, of at most `maxBytes`: more are not read, and `whole` is false then. With
   * `beginning` the first `maxBytes` of a larger one are given, else nothing. `at` is `<server>/<media id>`, encoded.
   * Throws as `doRequest`.
   */
  async readMedia(
    at: string,
    maxBytes: number,
    beginning: boolean,
  ): Promise<{ bytes: Buffer; whole: boolean }> {
    try {
      return await this.#download(`/_matrix/client/v1/media/download/${at}`, maxBytes, beginning);
    } catch (error) {
      const unknown =
        (error instanceof MatrixError && error.errcode === 'M_UNRECOGNIZED') ||
        (error instanceof HomeserverError && error.status === 404);
      if (!unknown) throw error;
    }
    // Homeservers from before Matrix 1.11.
    return this.#download(`/_matrix/media/v3/download/${at}`, maxBytes, beginning);
  }

  async #download(
    endpoint: string,
    maxBytes: number,
    beginning: boolean,
  ): Promise<{ bytes: Buffer; whole: boolean }> {
    this.#signal.throwIfAborted();
    try {
      const response = await fetch(urlOf(this.homeserverUrl, endpoint, null), {
        headers: { authorization: `Bearer ${this.accessToken}` },
        // It is the homeserver that is asked, and nobody else.
        redirect: 'error',
        signal: AbortSignal.any([this.#signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]),
      });
      const { status, headers } = response;
      if (status !== 200) {
        const { bytes: content } = await firstBytes(response, MAX_ERROR_BYTES);
        throw failure({ status, headers: Object.fromEntries(headers), content }, `GET ${endpoint}`);
      }
      if (!beginning && Number(headers.get('content-length')) > maxBytes) {
        await response.body?.cancel();
        return { bytes: Buffer.alloc(0), whole: false };
      }
      return await firstBytes(response, maxBytes);
    } catch (error) {
      this.#signal.throwIfAborted();
      if (error instanceof MatrixError || error instanceof HomeserverError) throw error;
      throw new HomeserverUnreachableError(this.homeserverUrl, error);
    }
  }

  async #answer(url: string, init: RequestInit): Promise<Answer> {
    try {
      const response = await fetch(url, init);
      const content = Buffer.from(await response.arrayBuffer());
      return { status: response.status, headers: Object.fromEntries(response.headers), content };
    } catch (error) {
      this.#signal.throwIfAborted();
      throw new HomeserverUnreachableError(this.homeserverUrl, error);
    }
  }
}

interface Answer {
  status: number;
  headers: Record<string, string>;
  content: Buffer;
}

/** Reads a body up to a limit; what comes after it is not waited for. */
async function firstBytes(
  response: Response,
  maxBytes: number,
): Promise<{ bytes: Buffer; whole: boolean }> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    length += chunk.length;
    // Leaving the loop ends the request.
    if (length > maxBytes) break;
  }
  const bytes = Buffer.concat(chunks).subarray(0, maxBytes);
  return { bytes, whole: length <= maxBytes };
}

function urlOf(
  base: string,
  endpoint: string,
  qs: Record<string, unknown> | null | undefined,
): string {
  const url = new URL(base + endpoint);
  for (const [name, value] of Object.entries(qs ?? {})) {
    if (value === undefined || value === null) continue;
    for (const item of Array.isArray(value) ? value : [value]) {
      url.searchParams.append(name, String(item));
    }
  }
  return url.href;
}

function failure(answer: Answer, what: string): Error {
  const json = jsonOrUndefined(answer.content);
  const body = errorShape.safeParse(json);
  if (!body.success) {
    const challenge = answer.status === 401 ? challengeShape.safeParse(json).data : undefined;
    return challenge === undefined
      ? new HomeserverError(answer.status, what, told(answer))
      : new AuthenticationNeededError(what, challenge.session);
  }
  const { errcode, error, retry_after_ms: inBody } = body.data;
  // Newer servers say it in the header, older ones in the body.
  const seconds = Number(answer.headers['retry-after']);
  const retryAfterMs =
    inBody ??
    (Number.isFinite(seconds) && 'retry-after' in answer.headers ? seconds * 1000 : undefined);
  return new MatrixError(
    { errcode, error, ...(retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs }) },
    answer.status,
  );
}

function parsed(answer: Answer, what: string): unknown {
  const { content, status } = answer;
  if (content.length === 0) return {};
  const value = jsonOrUndefined(content);
  // A success that is no JSON is some other server's page.
  if (value === undefined) {
    throw new HomeserverError(status === 200 ? 502 : status, what, told(answer));
  }
  return value;
}

function told({ status, headers, content }: Answer): { status: number; page: boolean } {
  const type = headers['content-type'] ?? '';
  const page =
    /\bhtml\b/i.test(type) || /^\s*<(?:!doctype|html)\b/i.test(content.toString('utf8', 0, 200));
  return { status, page };
}

function jsonOrUndefined(content: Buffer): unknown {
  try {
    return JSON.parse(content.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** The SDK's log lines carry URLs and parts of answers: they are for debugging only. */
function routeSdkLog(): void {
  const line = (module: string, ...parts: unknown[]): void =>
    log.debug({ module, parts: parts.map(String) }, 'matrix-bot-sdk');
  LogService.setLogger({ trace: line, debug: line, info: line, warn: line, error: line });
  LogService.setLevel(LogLevel.WARN);
}
