import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** A message as it stood in a request. */
export interface AskedMessage {
  role: string;
  content: string | null;
  /** The pictures that came with it, as data URLs. */
  pictures?: string[];
  tool_calls?: Array<{ id: string; function: { name: string; arguments: string } }>;
  tool_call_id?: string;
}

/** A request that the scripted model got. */
export interface AskedRequest {
  model: string;
  messages: AskedMessage[];
  tools?: Array<{
    type: string;
    function: { name: string; description: string; parameters: unknown };
  }>;
  stream?: boolean;
  /** The bearer token that came with it. */
  authorization: string | undefined;
  [key: string]: unknown;
}

/** What the scripted model does with one request. */
export type Reply =
  /**
   * An answer in words, or tool calls, or both. `pauseMs` lies between the pieces of a streamed text, whose last piece comes
   * after `lastPieceAfter`; `cost` is told as some gateways do.
   */
  | {
      text?: string;
      toolCalls?: Array<{ name: string; arguments: Record<string, unknown> | string; id?: string }>;
      finish?: string;
      pauseMs?: number;
      lastPieceAfter?: Promise<unknown>;
      cost?: number;
    }
  /** An HTTP error. */
  | { status: number; body?: unknown; headers?: Record<string, string> }
  /** Takes the request and never answers. */
  | { hang: true }
  /** Streams `cut` and then drops the connection. */
  | { cut: string }
  /** Exactly these bytes, with 200. */
  | { raw: string; contentType?: string };

/** A reply, or a function that makes one from the request (it may assert on it, and may wait). */
export type Step = Reply | ((request: AskedRequest) => Reply | Promise<Reply>);

/** A recording that was to be transcribed. */
export interface AskedRecording {
  model: string;
  name: string;
  mimetype: string;
  bytes: Buffer;
  authorization: string | undefined;
}

/** What the scripted endpoint hears: the words, or an HTTP error. */
export type Heard = string | { status: number };

/** A running scripted model. */
export interface ScriptedModel {
  /** For `OPENAI_BASE_URL`: ends in `/v1`. */
  readonly baseUrl: string;
  /** Every request so far, in order. */
  readonly requests: AskedRequest[];
  /** Adds steps to the script; each request uses up one. */
  script(...steps: Step[]): void;
  /** Steps for the requests that `match` picks, for tests with several conversations at once. Looked at before the script. */
  lane(match: (request: AskedRequest) => boolean, ...steps: Step[]): void;
  /** Every recording so far, in order. */
  readonly recordings: AskedRecording[];
  /** What is heard of the next recordings, one each. */
  hear(...words: Heard[]): void;
  /** Waits for the n-th request (counted from 1). */
  request(n: number): Promise<AskedRequest>;
  /** Throws if a request came that nobody expected, if a step threw, or if steps are left over. */
  verify(): void;
  stop(): Promise<void>;
}

interface Lane {
  match: (request: AskedRequest) => boolean;
  steps: Step[];
}

/**
 * An OpenAI-compatible endpoint on a free port of 127.0.0.1 that answers as scripted and records what it was asked. A
 * request that the script does not foresee gets a 400 (which Nomos does not repeat) and makes `verify` throw.
 */
export async function startScriptedModel(...steps: Step[]): Promise<ScriptedModel> {
  const everything: Lane = { match: () => true, steps: [...steps] };
  const lanes: Lane[] = [];
  const requests: AskedRequest[] = [];
  const recordings: AskedRecording[] = [];
  const toHear: Heard[] = [];
  const faults: string[] = [];
  const waiters: Array<() => void> = [];

  const answer = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (incoming.method === 'GET')
      return json(response, 200, { object: 'list', data: [{ id: 'scripted', object: 'model' }] });
    if (incoming.url?.endsWith('/audio/transcriptions') === true) {
      recordings.push(await readRecording(incoming));
      const heard = toHear.shift();
      if (heard === undefined) faults.push(`recording ${recordings.length} was not expected`);
      return typeof heard === 'string'
        ? json(response, 200, { text: heard })
        : json(response, heard?.status ?? 400, { error: { message: 'scripted deafness' } });
    }
    const body = JSON.parse((await readBody(incoming)).toString('utf8')) as AskedRequest;
    const request: AskedRequest = {
      ...body,
      messages: body.messages.map(plainMessage),
      authorization: incoming.headers.authorization,
    };
    requests.push(request);
    for (const wake of waiters.splice(0)) wake();
    const lane = [...lanes, everything].find((one) => one.steps.length > 0 && one.match(request));
    const step = lane?.steps.shift();
    if (step === undefined) {
      faults.push(`request ${requests.length} was not expected: ${summary(request)}`);
      return json(response, 400, { error: { message: 'the script has no step for this request' } });
    }
    await play(typeof step === 'function' ? await step(request) : step, request, response);
  };

  const server = createServer((incoming, response) => {
    answer(incoming, response).catch((error: unknown) => {
      faults.push(`a step failed: ${String(error)}`);
      if (!response.headersSent) json(response, 400, { error: { message: String(error) } });
      else response.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    requests,
    recordings,
    hear: (...words) => void toHear.push(...words),
    script: (...more) => void everything.steps.push(...more),
    lane: (match, ...more) => void lanes.push({ match, steps: more }),
    async request(n) {
      while (requests.length < n) await new Promise<void>((resolve) => waiters.push(resolve));
      return requests[n - 1]!;
    },
    verify() {
      const left = [...lanes, everything].reduce((sum, lane) => sum + lane.steps.length, 0);
      if (left > 0) faults.push(`${left} steps of the script were never asked for`);
      if (faults.length === 0) return;
      // The next test is judged by what it does itself.
      lanes.length = everything.steps.length = 0;
      throw new Error(`scripted model: ${faults.splice(0).join('; ')}`);
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function play(reply: Reply, request: AskedRequest, response: ServerResponse): Promise<void> {
  if ('hang' in reply) return;
  if ('status' in reply) {
    json(
      response,
      reply.status,
      reply.body ?? { error: { message: `scripted ${reply.status}` } },
      reply.headers,
    );
    return;
  }
  if ('raw' in reply) {
    response
      .writeHead(200, { 'content-type': reply.contentType ?? 'text/event-stream' })
      .end(reply.raw);
    return;
  }
  if ('cut' in reply) {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    // The bytes must have left before the connection is dropped.
    await new Promise<void>((resolve) =>
      response.write(chunk({ content: reply.cut }), () => resolve()),
    );
    response.destroy();
    return;
  }
  const calls = (reply.toolCalls ?? []).map((call, index) => ({
    index,
    id: call.id ?? `call_${index}`,
    type: 'function',
    function: {
      name: call.name,
      arguments:
        typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments),
    },
  }));
  const finish = reply.finish ?? (calls.length > 0 ? 'tool_calls' : 'stop');
  const usage = {
    prompt_tokens: 100,
    completion_tokens: 10,
    total_tokens: 110,
    ...(reply.cost === undefined ? {} : { cost: reply.cost }),
  };
  if (request.stream !== true) {
    const message = {
      role: 'assistant',
      content: reply.text ?? null,
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
    };
    json(response, 200, {
      id: 'x',
      object: 'chat.completion',
      choices: [{ index: 0, message, finish_reason: finish }],
      usage,
    });
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const text = pieces(reply.text ?? '');
  for (const [index, piece] of text.entries()) {
    if (index === text.length - 1) await reply.lastPieceAfter;
    response.write(chunk({ content: piece }));
    if (reply.pauseMs !== undefined) await delay(reply.pauseMs);
  }
  if (calls.length > 0) response.write(chunk({ tool_calls: calls }));
  response.write(chunk({}, finish));
  response.write(
    `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', choices: [], usage })}\n\n`,
  );
  response.end('data: [DONE]\n\n');
}

function chunk(delta: Record<string, unknown>, finishReason: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: finishReason }];
  return `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', choices })}\n\n`;
}

function pieces(text: string): string[] {
  return text.match(/\S+\s*|\s+/g) ?? [];
}

function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(JSON.stringify(body));
}

/** Words and pictures apart, where a message has both. */
function plainMessage(message: AskedMessage): AskedMessage {
  const { content } = message as { content: unknown };
  if (!Array.isArray(content)) return message;
  const parts = content as Array<{ type: string; text?: string; image_url?: { url: string } }>;
  return {
    ...message,
    content: parts.map(({ text }) => text ?? '').join(''),
    pictures: parts.flatMap(({ image_url: image }) => (image === undefined ? [] : [image.url])),
  };
}

async function readRecording(incoming: IncomingMessage): Promise<AskedRecording> {
  const type = incoming.headers['content-type'] ?? '';
  const body = new Uint8Array(await readBody(incoming));
  const form = await new Response(body, { headers: { 'content-type': type } }).formData();
  const file = form.get('file');
  const model = form.get('model');
  if (!(file instanceof File) || typeof model !== 'string')
    throw new Error('the form has no file or no model');
  return {
    model,
    name: file.name,
    mimetype: file.type,
    bytes: Buffer.from(await file.arrayBuffer()),
    authorization: incoming.headers.authorization,
  };
}

async function readBody(incoming: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of incoming) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

function summary(request: AskedRequest): string {
  const last = request.messages.findLast((message) => message.role !== 'system');
  return `${last?.role ?? 'nothing'}: ${(last?.content ?? '').slice(0, 120)}`;
}
