import OpenAI from 'openai';
import { log } from '../../log.ts';
import { AnswerAssembler } from './assemble.ts';
import { toModelError, type Asked } from './classify-error.ts';
import { ModelError } from './errors.ts';
import type {
  ChatModel,
  CompleteOptions,
  ModelAnswer,
  ModelMessage,
  ModelRequest,
} from './types.ts';

/** How models are reached. */
export interface ModelSettings {
  /** Base URL of an OpenAI-compatible API, usually ending in `/v1`. */
  readonly baseUrl: string;
  /** Sent as a bearer token. Undefined for endpoints without one. */
  readonly apiKey?: string;
  /** Model names, tried in this order; at least one. */
  readonly models: readonly string[];
  /** `reasoning_effort`, for models that take it: `minimal`, `low`, `medium`, `high` … Not sent if undefined. */
  readonly reasoningEffort?: string;
  /** More fields for the request's body, such as a provider's own reasoning options. They win over ours. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
  /** Ask for a stream (default true). Without it `onText` is called once, at the end. */
  readonly stream?: boolean;
  /** Silence after which a request counts as hung, in milliseconds: 120 000 with a stream, 600 000 without. */
  readonly idleTimeoutMs?: number;
}

const HUNG = Symbol('hung');
/** What no sensible answer comes near, with its calls, in characters: a model that runs away is stopped there (R11). */
export const MAX_ANSWER_CHARACTERS = 1024 * 1024;

/** The one way to a model: chat completions of any OpenAI-compatible endpoint (L1). */
export class OpenAiChatModel implements ChatModel {
  readonly #client: OpenAI;
  readonly #settings: ModelSettings;
  readonly #endpoint: string;
  readonly #idleTimeoutMs: number;
  // Cleared when the endpoint turns out not to know the option.
  #askForUsage = true;

  constructor(settings: ModelSettings) {
    this.#settings = settings;
    this.#endpoint = new URL(settings.baseUrl).host;
    this.#idleTimeoutMs = settings.idleTimeoutMs ?? (settings.stream === false ? 600_000 : 120_000);
    this.#client = new OpenAI({
      baseURL: settings.baseUrl,
      apiKey: settings.apiKey ?? 'none',
      organization: null,
      project: null,
      // Repeats are the caller's, where the operator can see them.
      maxRetries: 0,
      timeout: 24 * 3_600_000,
      logLevel: 'off',
    });
  }

  async complete(request: ModelRequest, options: CompleteOptions = {}): Promise<ModelAnswer> {
    let first: ModelError | undefined;
    for (const model of this.#settings.models) {
      try {
        return await this.#ask(model, request, options);
      } catch (error) {
        if (!(error instanceof ModelError) || !error.other) throw error;
        // Of several failures the one worth repeating is told, else that of the preferred model.
        if (first === undefined || (!first.again && error.again)) first = error;
        log.warn({ code: error.code, model }, 'model gave no answer');
      }
    }
    throw first ?? new TypeError('ModelSettings.models is empty');
  }

  async #ask(model: string, request: ModelRequest, options: CompleteOptions): Promise<ModelAnswer> {
    const asked: Asked = { model, endpoint: this.#endpoint };
    const abort = new AbortController();
    const stop = (): void => abort.abort();
    options.signal?.addEventListener('abort', stop, { once: true });
    if (options.signal?.aborted === true) stop();
    const timer = setTimeout(() => abort.abort(HUNG), this.#idleTimeoutMs);
    const assembler = new AnswerAssembler();
    let began = false;
    const take = (chunk: unknown): void => {
      timer.refresh();
      began = true;
      const more = assembler.add(chunk);
      if (assembler.size > MAX_ANSWER_CHARACTERS) throw tooLong(asked);
      if (more) options.onText?.(assembler.get().text);
    };
    try {
      await this.#exchange(model, request, abort.signal, take);
      throwIfAborted(abort.signal);
    } catch (error) {
      if (abort.signal.aborted) throw this.#aborted(abort.signal, asked);
      if (error instanceof ModelError) throw error;
      if (this.#askForUsage && isAboutUsageOption(error)) {
        this.#askForUsage = false;
        return await this.#ask(model, request, options);
      }
      const failed = toModelError(error, asked, began);
      if (isAboutPictures(failed, request)) {
        log.warn({ model }, 'the model takes no pictures; asking it without them');
        return await this.#ask(model, { ...request, messages: blind(request.messages) }, options);
      }
      throw failed;
    } finally {
      clearTimeout(timer);
      options.signal?.removeEventListener('abort', stop);
    }
    return finish(assembler, request, asked, began);
  }

  async #exchange(
    model: string,
    request: ModelRequest,
    signal: AbortSignal,
    take: (chunk: unknown) => void,
  ): Promise<void> {
    const body = {
      model,
      messages: request.messages.map(toWire),
      ...(request.tools === undefined || request.tools.length === 0
        ? {}
        : { tools: request.tools.map((tool) => ({ type: 'function', function: tool })) }),
      ...(this.#settings.reasoningEffort === undefined
        ? {}
        : { reasoning_effort: this.#settings.reasoningEffort }),
      ...this.#settings.extraBody,
    };
    if (this.#settings.stream === false) {
      take(await this.#client.post('/chat/completions', { body, signal }));
      return;
    }
    const stream = await this.#client.post('/chat/completions', {
      body: {
        ...body,
        stream: true,
        ...(this.#askForUsage ? { stream_options: { include_usage: true } } : {}),
      },
      signal,
      stream: true,
    });
    for await (const chunk of stream as AsyncIterable<unknown>) take(chunk);
  }

  #aborted(signal: AbortSignal, asked: Asked): ModelError {
    if (signal.reason !== HUNG) {
      return new ModelError('model_stopped', 'The request to the model was stopped.', {
        model: asked.model,
      });
    }
    const seconds = Math.round(this.#idleTimeoutMs / 1000);
    return new ModelError(
      'model_hung',
      `The model ${asked.model} at ${asked.endpoint} said nothing for ${seconds} s.`,
      {
        model: asked.model,
      },
    );
  }
}

function finish(
  assembler: AnswerAssembler,
  request: ModelRequest,
  asked: Asked,
  began: boolean,
): ModelAnswer {
  const { text, toolCalls, finishReason, usage } = assembler.get();
  // A page of another kind, sent with 200, holds no event at all.
  if (!began) throw toModelError(new SyntaxError('no event in the answer'), asked, began);
  // A stream that ends without saying why was cut, however well the connection was closed.
  if (finishReason === undefined) {
    throw new ModelError(
      'model_stream_cut',
      `The answer of ${asked.model} at ${asked.endpoint} ended before it was whole.`,
      {
        model: asked.model,
      },
    );
  }
  return {
    text,
    toolCalls,
    finish:
      finishReason === 'length'
        ? 'length'
        : finishReason === 'content_filter'
          ? 'filtered'
          : 'stop',
    usage: usage ?? {
      tokensIn: Math.ceil(JSON.stringify(request, withoutPictures).length / 4),
      tokensOut: Math.ceil((text.length + JSON.stringify(toolCalls).length) / 4),
    },
    model: asked.model,
  };
}

function tooLong({ model, endpoint }: Asked): ModelError {
  return new ModelError(
    'model_answer_too_long',
    `The answer of ${model} at ${endpoint} did not end: it was stopped after ${MAX_ANSWER_CHARACTERS} characters.`,
    { model, hint: 'Try again; if it stays so, choose another model (NOMOS_MODEL).' },
  );
}

function toWire(message: ModelMessage): Record<string, unknown> {
  if (message.role === 'user' && message.pictures !== undefined && message.pictures.length > 0) {
    return {
      role: 'user',
      content: [
        { type: 'text', text: message.content },
        ...message.pictures.map(({ mimetype, base64 }) => ({
          type: 'image_url',
          image_url: { url: `data:${mimetype};base64,${base64}` },
        })),
      ],
    };
  }
  if (message.role === 'tool') {
    return { role: 'tool', tool_call_id: message.toolCallId, content: message.content };
  }
  if (
    message.role !== 'assistant' ||
    message.toolCalls === undefined ||
    message.toolCalls.length === 0
  ) {
    return { role: message.role, content: message.content };
  }
  return {
    role: 'assistant',
    content: message.content === '' ? null : message.content,
    tool_calls: message.toolCalls.map((call) => ({
      id: call.id,
      type: 'function',
      function: { name: call.name, arguments: call.arguments },
    })),
  };
}

// A picture's bytes are no words, and would count as hundreds of thousands of tokens.
function withoutPictures(key: string, value: unknown): unknown {
  return key === 'base64' ? '' : value;
}

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw signal.reason;
}

// A picture stays in the conversation for a while: a model that takes none must not stop the task for as long.
function isAboutPictures({ code, message }: ModelError, { messages }: ModelRequest): boolean {
  return (
    messages.some((one) => one.role === 'user' && (one.pictures?.length ?? 0) > 0) &&
    (code === 'model_request_refused' || /image|vision|multi-?modal/i.test(message))
  );
}

function blind(messages: readonly ModelMessage[]): ModelMessage[] {
  return messages.map((message) =>
    message.role === 'user' && message.pictures !== undefined
      ? { role: 'user', content: `${message.content}\n${NOT_SEEN}` }
      : message,
  );
}

const NOT_SEEN =
  '(The picture is not here: this model takes none. Tell the operator so, and that NOMOS_VISION=off says it at once.)';

function isAboutUsageOption(error: unknown): boolean {
  return error instanceof OpenAI.APIError && error.message.includes('stream_options');
}
