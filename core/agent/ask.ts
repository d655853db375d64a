import { setTimeout as delay } from 'node:timers/promises';
import { NomosError } from '../errors.ts';
import { log } from '../log.ts';
import { unusable } from './guard.ts';
import { ModelError } from './model/errors.ts';
import type { ChatModel, ModelAnswer, ModelMessage, ModelTool } from './model/types.ts';
import { note } from './prompt.ts';

/** How often a step is tried before the pass gives up (J5). */
export const MAX_TRIES = 3;
/** A model that wants to be left alone for longer is not waited for inside a pass. */
const MAX_WAIT_MS = 60_000;
const DEFAULT_DELAYS_MS: readonly number[] = [1000, 5000];

/** Three answers in a row that could not be used. */
export class UnusableAnswer extends NomosError {
  constructor(why: string) {
    super(
      'answer_unusable',
      'model',
      `The model gave no usable answer in ${MAX_TRIES} tries: ${why}.`,
      {
        hint: 'Try again; if it stays so, choose another model (NOMOS_MODEL).',
      },
    );
  }
}

/** What asking cost, whether or not it came to anything. */
export interface Spent {
  modelCalls: number;
  tokensIn: number;
  tokensOut: number;
  /** As the endpoint told it; see `ModelUsage`. */
  cost: number;
}

/** One question to the model. */
export interface Question {
  readonly model: ChatModel;
  /** Builds the messages; `narrow` counts how often they turned out too long for the model. */
  messages(narrow: number): Promise<readonly ModelMessage[]>;
  readonly tools: readonly ModelTool[] | undefined;
  readonly operatorTexts: readonly string[];
  readonly signal: AbortSignal;
  readonly delaysMs?: readonly number[] | undefined;
  onText?(textSoFar: string): void;
}

/**
 * Asks until there is a usable answer, at most three times (L4, J5): after an unusable answer the model is told why,
 * after a failure there is a wait (as long as the endpoint asked for, up to a minute), and a conversation that is too
 * long is narrowed. Adds to `spent` as it goes. Throws the last `ModelError`, or `UnusableAnswer`.
 */
export async function ask(question: Question, spent: Spent): Promise<ModelAnswer> {
  const { model, tools, signal, onText } = question;
  let telling: string | undefined;
  let narrow = 0;
  for (let attempt = 1; ; attempt++) {
    const messages = await question.messages(narrow);
    spent.modelCalls++;
    try {
      const answer = await model.complete(
        {
          messages:
            telling === undefined ? messages : [...messages, { role: 'user', content: telling }],
          ...(tools === undefined ? {} : { tools }),
        },
        { signal, ...(onText === undefined ? {} : { onText }) },
      );
      spent.tokensIn += answer.usage.tokensIn;
      spent.tokensOut += answer.usage.tokensOut;
      spent.cost += answer.usage.cost ?? 0;
      const usable = tools === undefined ? { ...answer, toolCalls: [] } : answer;
      const why = unusable(
        usable,
        question.operatorTexts,
        tools?.map(({ name }) => name),
      );
      if (why === undefined) return usable;
      log.warn({ attempt, why }, 'the answer cannot be used');
      if (attempt >= MAX_TRIES) throw new UnusableAnswer(why);
      telling = note(
        `Your last answer could not be used: ${why}. Answer again, in the operator's language: go on with a tool call, or say in words what is true now.`,
      );
    } catch (error) {
      if (!(error instanceof ModelError) || !error.again) throw error;
      log.warn({ attempt, code: error.code }, 'the model failed');
      if (attempt >= MAX_TRIES || (error.retryAfterMs ?? 0) > MAX_WAIT_MS) throw error;
      if (error.code === 'model_context_too_long') narrow++;
      else await pause(error, attempt, question);
    }
  }
}

async function pause(
  error: ModelError,
  attempt: number,
  { delaysMs, signal }: Question,
): Promise<void> {
  const delays = delaysMs ?? DEFAULT_DELAYS_MS;
  const waitMs = Math.max(error.retryAfterMs ?? 0, delays[attempt - 1] ?? delays.at(-1) ?? 0);
  try {
    await delay(waitMs, undefined, { signal });
  } catch {
    throw new ModelError('model_stopped', 'Waiting for the model was stopped.', {
      model: String(error.fields['model']),
    });
  }
}
