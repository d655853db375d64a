import type { ToolCall } from '../db/rows.ts';
import type { NomosError } from '../errors.ts';
import { faultPoint } from '../faults.ts';
import type { PassId } from '../ids.ts';
import { log } from '../log.ts';
import { agentTools } from '../tools/index.ts';
import { AnswerStream } from './answer-stream.ts';
import { ask, UnusableAnswer, type Spent } from './ask.ts';
import { checkBudgets, TokenLimitReached } from './budget.ts';
import { endFailed, endQuietly, endStopped, endWithAnswer } from './ends.ts';
import { readHistory } from './history.ts';
import { ModelError } from './model/errors.ts';
import type { ModelAnswer, ModelMessage, ModelTool } from './model/types.ts';
import { note, stateBlock, systemPrompt } from './prompt.ts';
import { PassHandedOver, PassScope, type PassDeps } from './scope.ts';
import { readState } from './snapshot.ts';
import { StopWatch } from './stop-watch.ts';
import { storedCalls } from './stored-calls.ts';
import { sumUpOlder } from './summary/step.ts';
import { beginReads, makeCalls, openCalls } from './tool-calls.ts';
import { storeAnswer, takeIn } from './transcript.ts';
import { fitWindow } from './window.ts';

export { PassHandedOver, PassLost } from './scope.ts';
export type { PassDeps } from './scope.ts';

/** Model calls of one pass; the last one is without tools and writes the report (L2). */
export const MAX_MODEL_CALLS = 40;
const CONTEXT_TOKENS = 48_000;

/**
 * Runs a pass that the caller has claimed, to its end: done, cancelled by an operator, or failed with an error card. It
 * works from the rows alone, so a pass that died is taken up by calling this again.
 *
 * Rejects with `PassHandedOver` when `signal` fires (the row is still running: the caller puts it back), with `PassLost`
 * when another worker holds the pass, and with whatever else made it impossible to go on, such as a lost database: the
 * pass can then be taken up again.
 */
export async function runPass(
  deps: PassDeps,
  passId: PassId,
  options: { signal: AbortSignal },
): Promise<void> {
  const scope = await PassScope.open(deps, passId);
  const stop = new StopWatch(scope);
  const spent: Spent = { modelCalls: 0, tokensIn: 0, tokensOut: 0, cost: 0 };
  try {
    await new Runner(scope, stop, options.signal, spent).run();
  } catch (error) {
    const told =
      error instanceof ModelError ||
      error instanceof UnusableAnswer ||
      error instanceof TokenLimitReached;
    if (!told) throw error;
    if (options.signal.aborted) throw new PassHandedOver(passId);
    if (stop.signal.aborted) await scope.write((unit) => endStopped(unit, scope, spent));
    else await fail(scope, error, spent);
  } finally {
    stop.close();
  }
}

async function fail(scope: PassScope, error: NomosError, spent: Spent): Promise<void> {
  log.warn({ pass: scope.passId, session: scope.sessionId, code: error.code }, 'pass failed');
  await scope.write((unit) => endFailed(unit, scope, error, spent));
}

/** One run through a pass. Every turn of its loop looks at the rows for what is to be done next. */
class Runner {
  readonly #scope: PassScope;
  readonly #stop: StopWatch;
  readonly #handover: AbortSignal;
  readonly #either: AbortSignal;
  readonly #spent: Spent;

  constructor(scope: PassScope, stop: StopWatch, handover: AbortSignal, spent: Spent) {
    this.#scope = scope;
    this.#stop = stop;
    this.#handover = handover;
    this.#either = AbortSignal.any([stop.signal, handover]);
    this.#spent = spent;
  }

  async run(): Promise<void> {
    const scope = this.#scope;
    await sumUpOlder(scope);
    // Of a pass that is taken up; later those of the answer before.
    let calls = await openCalls(scope);
    let mayEnd = true;
    for (;;) {
      if (calls.length > 0) await this.#make(calls, mayEnd);
      const last = mayEnd ? await this.#lastAnswer() : undefined;
      if (last?.ended === true) return scope.write((unit) => endQuietly(unit, scope, last.text));
      if (this.#handover.aborted) throw new PassHandedOver(scope.passId);
      const { stopped, modelCalls } = await this.#stop.look();
      if (stopped) return scope.write((unit) => endStopped(unit, scope, this.#spent));
      await takeIn(scope);
      const asked = await this.#step(modelCalls);
      if (asked === undefined) return;
      calls = asked;
      mayEnd = calls.some((call) => this.#tools.find(call.name)?.endsPass === true);
    }
  }

  /** One answer of the model, after so many. The calls that it asks for; undefined when it was the last of the pass. */
  async #step(modelCalls: number): Promise<ToolCall[] | undefined> {
    const scope = this.#scope;
    const limit = modelCalls >= MAX_MODEL_CALLS - 1;
    await checkBudgets(scope);
    await faultPoint('agent.before_model_call');
    const answer = await this.#ask(limit);
    await faultPoint('agent.before_answer_stored');
    const spent = { ...this.#spent };
    const final = answer.toolCalls.length === 0;
    const calls = await scope.write(async (unit) => {
      const stored = await storeAnswer(unit, scope, answer, spent);
      if (!final) return beginReads(unit, scope, this.#tools, stored);
      await endWithAnswer(unit, scope, answer.text);
      return undefined;
    });
    Object.assign(this.#spent, { modelCalls: 0, tokensIn: 0, tokensOut: 0, cost: 0 });
    await faultPoint('agent.answer_stored');
    return calls;
  }

  async #ask(limit: boolean): Promise<ModelAnswer> {
    const { deps, sessionId, passId } = this.#scope;
    const history = await readHistory(deps.database.read, sessionId, passId);
    const tools: readonly ModelTool[] | undefined = limit ? undefined : this.#tools.forModel;
    const stream = deps.streaming === false ? undefined : new AnswerStream(this.#scope);
    try {
      return await ask(
        {
          model: deps.model,
          tools,
          operatorTexts: history.operatorTexts,
          signal: this.#either,
          delaysMs: deps.retryDelaysMs,
          messages: async (narrow): Promise<ModelMessage[]> => [
            { role: 'system', content: systemPrompt(await deps.soul.text()) },
            ...fitWindow(history, (deps.contextTokens ?? CONTEXT_TOKENS) / 2 ** narrow),
            { role: 'user', content: stateBlock(await readState(deps.database.read, sessionId)) },
            ...(limit ? [{ role: 'user' as const, content: note(LIMIT_NOTE) }] : []),
          ],
          ...(stream === undefined ? {} : { onText: (text: string) => stream.push(text) }),
        },
        this.#spent,
      );
    } catch (error) {
      if (!limit || !(error instanceof UnusableAnswer)) throw error;
      return this.#report();
    } finally {
      await stream?.close();
    }
  }

  /** What is said at the limit when not even the report can be used: a pass never ends in silence (L2). */
  async #report(): Promise<ModelAnswer> {
    const { deps, passId } = this.#scope;
    const calls = await deps.database.read.toolCall.groupBy({
      by: ['name', 'state'],
      where: { passId },
      _count: true,
    });
    const lines = calls.map((call) => `- ${call.name}: ${call._count} ${call.state}`);
    const text = [
      `I stopped after ${MAX_MODEL_CALLS} model calls without reaching an end. Made so far:`,
      ...lines,
      'Say how to go on.',
    ];
    return {
      text: text.join('\n'),
      toolCalls: [],
      finish: 'stop',
      usage: { tokensIn: 0, tokensOut: 0 },
      model: 'none',
    };
  }

  /** `mayEnd`: one of the answer's calls may have ended the pass. */
  async #make(calls: readonly ToolCall[], mayEnd: boolean): Promise<void> {
    await makeCalls(
      {
        scope: this.#scope,
        tools: this.#tools,
        signal: this.#either,
        halted: () => this.#halted(mayEnd),
      },
      calls,
    );
  }

  /** Why no further call of the answer is to be made. A handover leaves them for whoever takes the pass up. */
  async #halted(mayEnd: boolean): Promise<string | undefined> {
    if (this.#handover.aborted) throw new PassHandedOver(this.#scope.passId);
    if ((await this.#stop.look()).stopped) return 'the operator stopped this pass';
    return mayEnd && (await this.#lastAnswer())?.ended === true
      ? 'a call before it ended this pass'
      : undefined;
  }

  /** The newest answer of this pass, and whether one of its calls ended the pass. */
  async #lastAnswer(): Promise<{ text: string; ended: boolean } | undefined> {
    const { deps, passId } = this.#scope;
    const message = await deps.database.read.message.findFirst({
      where: { passId, role: 'assistant' },
      orderBy: { seq: 'desc' },
      select: { text: true, toolCalls: true },
    });
    if (message === null) return undefined;
    const ending = storedCalls
      .parse(message.toolCalls ?? [])
      .filter((call) => this.#tools.find(call.name)?.endsPass === true)
      .map((call) => call.id);
    if (ending.length === 0) return { text: message.text, ended: false };
    const done = await deps.database.read.toolCall.count({
      where: { passId, callId: { in: ending }, state: 'done' },
    });
    return { text: message.text, ended: done > 0 };
  }

  get #tools() {
    return this.#scope.deps.tools ?? agentTools;
  }
}

const LIMIT_NOTE = `This pass has reached its limit of ${MAX_MODEL_CALLS} model calls, and no tool is left in it. Write a status report for the operator now: what is true, what was done, what is still open, and what to say for you to go on.`;
