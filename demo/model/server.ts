import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { readConversation } from './conversation.ts';
import { answerTo } from './scenarios/index.ts';
import { chatRequest, type Reply } from './wire.ts';

/** The name under which the demo model is listed, and which it answers with. */
export const DEMO_MODEL = 'nomos-demo';

const MAX_BODY_BYTES = 16 * 1024 * 1024;
const CHARACTERS_PER_TOKEN = 4;

/** Answers one HTTP request as an OpenAI-compatible endpoint does. `wordMs` lies between the words of a stream. */
export async function handle(
  incoming: IncomingMessage,
  response: ServerResponse,
  wordMs: number,
): Promise<void> {
  const path = (incoming.url ?? '').replace(/\?.*$/, '');
  if (incoming.method === 'GET' && path === '/v1/models') {
    json(response, 200, {
      object: 'list',
      data: [{ id: DEMO_MODEL, object: 'model', created: 0, owned_by: 'nomos' }],
    });
    return;
  }
  if (incoming.method !== 'POST' || path !== '/v1/chat/completions') {
    refuse(
      response,
      404,
      `The demo model has no ${incoming.method ?? ''} ${path}; it has /v1/models and /v1/chat/completions.`,
    );
    return;
  }
  const body = await readBody(incoming);
  if (body === undefined) {
    refuse(response, 413, `The request has more than ${MAX_BODY_BYTES} bytes.`);
    return;
  }
  const parsed = chatRequest.safeParse(parse(body));
  if (!parsed.success) {
    refuse(response, 400, `This is no chat request: ${z.prettifyError(parsed.error)}`);
    return;
  }
  const request = parsed.data;
  const reply = answerTo(readConversation(request));
  const usage = usageOf(body, reply);
  // Ids only have to differ within a conversation: counted, they are the same at every run.
  const firstId = request.messages.reduce(
    (sum, message) => sum + (message.tool_calls?.length ?? 0),
    0,
  );
  if (request.stream === true) {
    await stream(response, reply, {
      firstId,
      wordMs,
      usage: request.stream_options?.include_usage === true ? usage : undefined,
    });
  } else {
    json(response, 200, whole(reply, firstId, usage));
  }
}

type Usage = { prompt_tokens: number; completion_tokens: number; total_tokens: number };

function usageOf(body: string, reply: Reply): Usage {
  const prompt = Math.ceil(body.length / CHARACTERS_PER_TOKEN);
  const completion = Math.ceil(
    (reply.text.length + JSON.stringify(reply.calls).length) / CHARACTERS_PER_TOKEN,
  );
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
  };
}

function toolCalls(reply: Reply, firstId: number): object[] {
  return reply.calls.map((call, index) => ({
    index,
    id: `call_${firstId + index}`,
    type: 'function',
    function: { name: call.name, arguments: JSON.stringify(call.args) },
  }));
}

function finishReason(reply: Reply): string {
  return reply.calls.length > 0 ? 'tool_calls' : 'stop';
}

function whole(reply: Reply, firstId: number, usage: Usage): object {
  const calls = toolCalls(reply, firstId);
  return {
    id: 'chatcmpl-demo',
    object: 'chat.completion',
    created: 0,
    model: DEMO_MODEL,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: reply.text,
          ...(calls.length > 0 ? { tool_calls: calls } : {}),
        },
        finish_reason: finishReason(reply),
      },
    ],
    usage,
  };
}

async function stream(
  response: ServerResponse,
  reply: Reply,
  { firstId, wordMs, usage }: { firstId: number; wordMs: number; usage: Usage | undefined },
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  const send = (choices: object[], more: object = {}): void => {
    const chunk = {
      id: 'chatcmpl-demo',
      object: 'chat.completion.chunk',
      created: 0,
      model: DEMO_MODEL,
      choices,
      ...more,
    };
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  };
  const delta = (part: object, finish: string | null = null): void =>
    send([{ index: 0, delta: part, finish_reason: finish }]);
  delta({ role: 'assistant' });
  for (const word of reply.text.match(/\S+\s*|\s+/g) ?? []) {
    if (response.destroyed) return;
    delta({ content: word });
    if (wordMs > 0) await delay(wordMs);
  }
  const calls = toolCalls(reply, firstId);
  if (calls.length > 0) delta({ tool_calls: calls });
  delta({}, finishReason(reply));
  if (usage !== undefined) send([], { usage });
  response.end('data: [DONE]\n\n');
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function refuse(response: ServerResponse, status: number, message: string): void {
  json(response, status, { error: { message, type: 'invalid_request_error', code: null } });
}

async function readBody(incoming: IncomingMessage): Promise<string | undefined> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of incoming as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes <= MAX_BODY_BYTES) parts.push(part);
  }
  return bytes > MAX_BODY_BYTES ? undefined : Buffer.concat(parts).toString('utf8');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The check that follows says what is wrong.
    return undefined;
  }
}
