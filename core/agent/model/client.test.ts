import { afterEach, expect, test } from 'vitest';
import {
  startScriptedModel,
  type ScriptedModel,
  type Step,
} from '../../../test/support/scripted-model.ts';
import { MAX_ANSWER_CHARACTERS, OpenAiChatModel, type ModelSettings } from './client.ts';
import { retryAfterMs } from './classify-error.ts';
import { ModelError } from './errors.ts';
import type { ModelRequest } from './types.ts';

let endpoint: ScriptedModel | undefined;
afterEach(async () => {
  await endpoint?.stop();
  endpoint = undefined;
});

async function modelWith(
  settings: Partial<ModelSettings>,
  ...steps: Step[]
): Promise<OpenAiChatModel> {
  endpoint = await startScriptedModel(...steps);
  return new OpenAiChatModel({
    baseUrl: endpoint.baseUrl,
    apiKey: 'k',
    models: ['one'],
    ...settings,
  });
}

const HELLO: ModelRequest = { messages: [{ role: 'user', content: 'hello' }] };
const TOOLS: ModelRequest = {
  messages: [{ role: 'user', content: 'look' }],
  tools: [{ name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } }],
};

async function failure(promise: Promise<unknown>): Promise<ModelError> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ModelError))
    throw new Error(`expected a ModelError, got ${String(error)}`);
  return error;
}

const event = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
const delta = (part: unknown, finish: string | null = null): string =>
  event({ choices: [{ index: 0, delta: part, finish_reason: finish }] });

test('L1: a streamed answer comes piece by piece, then whole, with its tokens', async () => {
  const model = await modelWith({}, { text: 'all is well' });
  const seen: string[] = [];
  const answer = await model.complete(HELLO, { onText: (text) => seen.push(text) });
  expect(seen).toEqual(['all ', 'all is ', 'all is well']);
  expect(answer).toEqual({
    text: 'all is well',
    toolCalls: [],
    finish: 'stop',
    usage: { tokensIn: 100, tokensOut: 10 },
    model: 'one',
  });
  expect(endpoint?.requests[0]).toMatchObject({
    model: 'one',
    authorization: 'Bearer k',
    messages: HELLO.messages,
  });
  expect(endpoint?.requests[0]?.tools).toBeUndefined();
});

test('L1: without a stream the same answer comes at once', async () => {
  const model = await modelWith(
    { stream: false },
    { text: 'hi', toolCalls: [{ name: 'look', arguments: { a: 1 } }] },
  );
  const answer = await model.complete(TOOLS);
  expect(answer).toMatchObject({
    text: 'hi',
    toolCalls: [{ id: 'call_0', name: 'look', arguments: '{"a":1}' }],
  });
  expect(endpoint?.requests[0]?.stream).toBeUndefined();
});

test('L1: tool calls are put together from their pieces', async () => {
  const raw =
    delta({ tool_calls: [{ index: 0, id: 'a', function: { name: 'look', arguments: '' } }] }) +
    delta({ tool_calls: [{ index: 0, function: { arguments: '{"x"' } }] }) +
    delta({ tool_calls: [{ index: 1, id: 'b', function: { name: 'see', arguments: '{}' } }] }) +
    delta({ tool_calls: [{ index: 0, function: { arguments: ':1}' } }] }) +
    delta({}, 'tool_calls') +
    'data: [DONE]\n\n';
  const model = await modelWith({}, { raw });
  const answer = await model.complete(TOOLS);
  expect(answer.toolCalls).toEqual([
    { id: 'a', name: 'look', arguments: '{"x":1}' },
    { id: 'b', name: 'see', arguments: '{}' },
  ]);
  // The endpoint counted no tokens, so they are estimated.
  expect(answer.usage.tokensIn).toBeGreaterThan(0);
});

test('L1: calls without an index, or all under index 0, stay apart', async () => {
  const whole = (id: string, index?: number): unknown => ({
    id,
    index,
    function: { name: 'look', arguments: '{}' },
  });
  const model = await modelWith(
    {},
    { raw: delta({ tool_calls: [whole('a'), whole('b')] }) + delta({}, 'stop') },
    {
      raw:
        delta({ tool_calls: [whole('a', 0)] }) +
        delta({ tool_calls: [whole('b', 0)] }) +
        delta({}, 'stop'),
    },
  );
  for (let i = 0; i < 2; i++) {
    expect((await model.complete(TOOLS)).toolCalls.map((call) => call.id)).toEqual(['a', 'b']);
  }
});

test('L1: reasoning options and a provider’s own fields are sent along', async () => {
  const model = await modelWith(
    { reasoningEffort: 'low', extraBody: { reasoning: { exclude: true } } },
    { text: 'ok' },
  );
  await model.complete(HELLO);
  expect(endpoint?.requests[0]).toMatchObject({
    reasoning_effort: 'low',
    reasoning: { exclude: true },
  });
});

test.each([401, 403])(
  'L1: %i says that the key is refused and which variables to look at',
  async (status) => {
    const model = await modelWith({ models: ['one', 'two'] }, { status });
    const error = await failure(model.complete(HELLO));
    expect(error).toMatchObject({ code: 'model_unauthorized', again: false, fault: 'operator' });
    expect(error.hint).toMatch(/OPENAI_API_KEY.*OPENAI_BASE_URL/);
    expect(endpoint?.requests).toHaveLength(1);
  },
);

test('L1: a model that is not there gives way to the next one', async () => {
  const model = await modelWith({ models: ['one', 'two'] }, { status: 404 }, { text: 'from two' });
  expect(await model.complete(HELLO)).toMatchObject({ text: 'from two', model: 'two' });
  expect(endpoint?.requests.map((request) => request.model)).toEqual(['one', 'two']);
});

test.each([
  ['an error of the server', { status: 503 }],
  ['too many requests', { status: 429 }],
  ['a stream that is cut', { text: 'half', cut: true }],
] as const)('L1, R11: a model that fails with %s gives way to the next one', async (_, step) => {
  const model = await modelWith({ models: ['one', 'two'] }, step, { text: 'from two' });
  expect(await model.complete(HELLO)).toMatchObject({ text: 'from two', model: 'two' });
});

test('L1: a single model that is not there is told by name', async () => {
  const error = await failure((await modelWith({}, { status: 404 })).complete(HELLO));
  expect(error).toMatchObject({
    code: 'model_not_found',
    message: expect.stringContaining('"one"'),
  });
  expect(error.hint).toContain('NOMOS_MODEL');
});

test('R11: 429 tells how long to wait, and is never repeated behind the caller’s back', async () => {
  const model = await modelWith({}, { status: 429, headers: { 'retry-after': '7' } });
  expect(await failure(model.complete(HELLO))).toMatchObject({
    code: 'model_rate_limited',
    again: true,
    retryAfterMs: 7000,
  });
  expect(endpoint?.requests).toHaveLength(1);
});

test.each([500, 502, 503, 529])('R11: %i is a failure that may pass', async (status) => {
  expect(await failure((await modelWith({}, { status })).complete(HELLO))).toMatchObject({
    code: 'model_unavailable',
    again: true,
    fields: { status, model: 'one' },
  });
});

test('R11: of several failures the one that may pass is told', async () => {
  const model = await modelWith({ models: ['one', 'two'] }, { status: 404 }, { status: 503 });
  expect((await failure(model.complete(HELLO))).code).toBe('model_unavailable');
});

test.each([true, false])(
  'R11: an endpoint that hangs is given up after the idle timeout (stream %s)',
  async (stream) => {
    const model = await modelWith({ stream, idleTimeoutMs: 150 }, { hang: true });
    expect(await failure(model.complete(HELLO))).toMatchObject({ code: 'model_hung', again: true });
  },
);

test('R11: a slow answer that keeps coming is not taken for a hang', async () => {
  const model = await modelWith(
    { idleTimeoutMs: 400 },
    { text: 'one two three four five six', pauseMs: 100 },
  );
  expect((await model.complete(HELLO)).text).toBe('one two three four five six');
});

test('R11: a dropped connection in the middle of an answer is a cut stream', async () => {
  expect(await failure((await modelWith({}, { cut: 'half an' })).complete(HELLO))).toMatchObject({
    code: 'model_stream_cut',
    again: true,
  });
});

test('R11: a stream that closes without a finish reason is cut as well', async () => {
  const model = await modelWith({}, { raw: delta({ content: 'half' }) });
  expect((await failure(model.complete(HELLO))).code).toBe('model_stream_cut');
});

test('R11: broken JSON, another shape and a web page are bad answers', async () => {
  const model = await modelWith(
    {},
    { raw: 'data: {"choices": [\n\n' },
    { raw: event({ choices: 'none' }) },
    { raw: '<html>a proxy</html>', contentType: 'text/html' },
  );
  for (let i = 0; i < 3; i++) {
    const error = await failure(model.complete(HELLO));
    expect(error.code).toBe('model_bad_answer');
    expect(error.hint).toContain('OPENAI_BASE_URL');
  }
  const whole = await modelWith({ stream: false }, { raw: '<html>', contentType: 'text/html' });
  expect((await failure(whole.complete(HELLO))).code).toBe('model_bad_answer');
});

test('R11: an error event inside a stream is told in its words', async () => {
  const model = await modelWith(
    {},
    { raw: delta({ content: 'a' }) + event({ error: { message: 'engine overloaded' } }) },
  );
  expect(await failure(model.complete(HELLO))).toMatchObject({
    code: 'model_unavailable',
    message: expect.stringContaining('engine overloaded'),
  });
});

test.each([
  ['words', (text: string) => delta({ content: text })],
  [
    'arguments',
    (text: string) => delta({ tool_calls: [{ index: 0, id: 'a', function: { arguments: text } }] }),
  ],
])(
  'R11: an answer of 5 MiB of %s is stopped on the way, and the same model may be asked again',
  async (_what, piece) => {
    const chunk = piece('x'.repeat(64 * 1024));
    const model = await modelWith({}, { raw: chunk.repeat(80) + delta({}, 'stop') });
    let longest = 0;
    const error = await failure(
      model.complete(TOOLS, { onText: (text) => (longest = Math.max(longest, text.length)) }),
    );
    expect(error).toMatchObject({ code: 'model_answer_too_long', again: true, fault: 'model' });
    expect(longest).toBeLessThanOrEqual(MAX_ANSWER_CHARACTERS);
  },
);

test('L5: a conversation that is too long is told apart from other bad requests', async () => {
  const model = await modelWith(
    {},
    { status: 400, body: { error: { message: 'no', code: 'context_length_exceeded' } } },
    {
      status: 400,
      body: { error: { message: "This model's maximum context length is 8192 tokens." } },
    },
    { status: 400, body: { error: { message: 'temperature is odd' } } },
  );
  expect((await failure(model.complete(HELLO))).code).toBe('model_context_too_long');
  expect((await failure(model.complete(HELLO))).code).toBe('model_context_too_long');
  expect(await failure(model.complete(HELLO))).toMatchObject({
    code: 'model_request_refused',
    again: false,
  });
});

test('L1: an endpoint that does not know stream_options is asked again without it, once and for all', async () => {
  const refusal: Step = {
    status: 422,
    body: { error: { message: 'unknown field stream_options' } },
  };
  const model = await modelWith({}, refusal, { text: 'a' }, { text: 'b' });
  await model.complete(HELLO);
  await model.complete(HELLO);
  expect(endpoint?.requests.map((request) => 'stream_options' in request)).toEqual([
    true,
    false,
    false,
  ]);
});

test('R11: an endpoint that is not there is told with its address', async () => {
  const model = await modelWith({});
  await endpoint?.stop();
  const error = await failure(model.complete(HELLO));
  expect(error).toMatchObject({ code: 'model_unreachable', again: true });
  expect(error.message).toMatch(/127\.0\.0\.1:\d+.*ECONNREFUSED/);
});

test('T5: a request can be stopped at once', async () => {
  const model = await modelWith({}, { hang: true });
  const stop = new AbortController();
  const asked = failure(model.complete(HELLO, { signal: stop.signal }));
  await endpoint?.request(1);
  stop.abort();
  expect(await asked).toMatchObject({ code: 'model_stopped', again: false });
  expect((await failure(model.complete(HELLO, { signal: AbortSignal.abort() }))).code).toBe(
    'model_stopped',
  );
});

test('R11: the wait asked for is read in each of its forms', () => {
  const now = Date.parse('2026-11-29T12:00:00Z');
  const of = (headers: Record<string, string>): number | undefined =>
    retryAfterMs(new Headers(headers), now);
  expect(of({ 'retry-after-ms': '250', 'retry-after': '9' })).toBe(250);
  expect(of({ 'retry-after': '1.5' })).toBe(1500);
  expect(of({ 'retry-after': 'Sun, 29 Nov 2026 12:00:20 GMT' })).toBe(20_000);
  expect(of({ 'retry-after': 'soon' })).toBeUndefined();
  expect(of({})).toBeUndefined();
});

test('C16, R11: a model that refuses pictures is asked without them, and told so', async () => {
  const model = await modelWith(
    {},
    { status: 400, body: { error: { message: 'image_url is not supported by this model' } } },
    (request) => {
      const [message] = request.messages;
      expect(message?.pictures).toBeUndefined();
      expect(message?.content).toMatch(/^what is this\?\n\(The picture is not here/);
      return { text: 'I cannot see it.' };
    },
  );
  const pictures = [{ mimetype: 'image/png', base64: 'AQEB' }];
  const answer = await model.complete({
    messages: [{ role: 'user', content: 'what is this?', pictures }],
  });
  expect(answer.text).toBe('I cannot see it.');
  expect(endpoint?.requests[0]?.messages[0]?.pictures).toEqual(['data:image/png;base64,AQEB']);
  endpoint?.verify();
});
