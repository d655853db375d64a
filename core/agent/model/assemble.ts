import { z } from 'zod';
import type { ModelToolCall, ModelUsage } from './types.ts';

// Only what is read here is asked for, and loosely: "compatible" endpoints leave out what they please.
const callShape = z.object({
  index: z.number().int().nonnegative().nullish(),
  id: z.string().nullish(),
  function: z
    .object({
      name: z.string().nullish(),
      arguments: z.union([z.string(), z.record(z.string(), z.unknown())]).nullish(),
    })
    .nullish(),
});
const partShape = z.object({
  content: z.string().nullish(),
  refusal: z.string().nullish(),
  tool_calls: z.array(callShape).nullish(),
});
const choiceShape = z.object({
  delta: partShape.nullish(),
  message: partShape.nullish(),
  finish_reason: z.string().nullish(),
});
const usageShape = z.object({
  prompt_tokens: z.number(),
  completion_tokens: z.number(),
  // Not of OpenAI's own: gateways such as OpenRouter tell it.
  cost: z.number().nonnegative().nullish().catch(null),
});
const chunkShape = z.object({
  choices: z.array(choiceShape).nullish(),
  usage: usageShape.nullish().catch(null),
});

/** What an answer has become so far. */
export interface Assembled {
  readonly text: string;
  readonly toolCalls: readonly ModelToolCall[];
  /** The endpoint's own word; undefined as long as it has not said that the answer is whole. */
  readonly finishReason: string | undefined;
  readonly usage: ModelUsage | undefined;
}

interface OpenCall {
  id: string;
  name: string;
  arguments: string;
}

/** Puts the pieces of a streamed answer together, or takes a whole one apart; both have the same fields. */
export class AnswerAssembler {
  #text = '';
  #refusal = '';
  readonly #calls: OpenCall[] = [];
  readonly #byIndex = new Map<number, OpenCall>();
  #finishReason: string | undefined;
  #usage: ModelUsage | undefined;
  #size = 0;

  /** How long the answer is by now, with its calls, in characters. */
  get size(): number {
    return this.#size;
  }

  /**
   * Adds a chunk, or a whole completion. Gives true when there is more text. Throws a SyntaxError if it has another
   * shape than a chat completion.
   */
  add(raw: unknown): boolean {
    const parsed = chunkShape.safeParse(raw);
    if (!parsed.success) throw new SyntaxError('The answer is not a chat completion.');
    const { choices, usage } = parsed.data;
    if (usage) {
      this.#usage = {
        tokensIn: usage.prompt_tokens,
        tokensOut: usage.completion_tokens,
        ...(usage.cost == null ? {} : { cost: usage.cost }),
      };
    }
    const choice = choices?.[0];
    if (choice === undefined) return false;
    if (choice.finish_reason) this.#finishReason = choice.finish_reason;
    const part = choice.delta ?? choice.message;
    for (const call of part?.tool_calls ?? []) this.#addCall(call);
    this.#refusal += part?.refusal ?? '';
    this.#text += part?.content ?? '';
    this.#size += (part?.content?.length ?? 0) + (part?.refusal?.length ?? 0);
    return (part?.content ?? '') !== '';
  }

  /** What there is so far. A refusal that came in its own field counts as the text. */
  get(): Assembled {
    return {
      text: this.#text === '' ? this.#refusal : this.#text,
      toolCalls: this.#calls.map((call) => ({ ...call })),
      finishReason: this.#finishReason,
      usage: this.#usage,
    };
  }

  #addCall(delta: z.infer<typeof callShape>): void {
    const call = this.#openCall(delta);
    if (delta.id && call.id === '') call.id = delta.id;
    const piece = delta.function;
    // Some endpoints repeat the whole name with every piece.
    if (piece?.name && call.name !== piece.name) call.name += piece.name;
    const args = piece?.arguments;
    const text = typeof args === 'string' ? args : args ? JSON.stringify(args) : '';
    call.arguments += text;
    this.#size += text.length + (piece?.name?.length ?? 0);
  }

  // Pieces belong together by index; where an endpoint gives none, a new id or name begins a new call.
  #openCall(delta: z.infer<typeof callShape>): OpenCall {
    const last = this.#calls.at(-1);
    const known = typeof delta.index === 'number' ? this.#byIndex.get(delta.index) : undefined;
    // Others give every call of an answer the index 0: a second id under one index is a second call.
    const sameId = !delta.id || known?.id === '' || known?.id === delta.id;
    if (known !== undefined && sameId) return known;
    if (typeof delta.index !== 'number' && last !== undefined && !delta.id && !delta.function?.name)
      return last;
    const call: OpenCall = { id: '', name: '', arguments: '' };
    this.#calls.push(call);
    if (typeof delta.index === 'number') this.#byIndex.set(delta.index, call);
    return call;
  }
}
