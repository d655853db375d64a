import { errorText } from '../errors.ts';
import { log } from '../log.ts';
import { safeText } from '../text/safe.ts';
import type { PassScope } from './scope.ts';

/** The answer's row is written at most so often (C13). */
const EVERY_MS = 1000;
/** Shorter texts are mostly a word before a tool call; they show when they turn out to be the answer. */
const FIRST_CHARACTERS = 160;

/**
 * Lets the operator see an answer grow: keeps `passes.answer` up to date while the text comes in, at most once a second,
 * the first time at once. A write that fails costs only a step of the show: the whole answer is stored by whoever ends
 * the pass.
 */
export class AnswerStream {
  readonly #scope: PassScope;
  #latest = '';
  #shown = '';
  #timer: NodeJS.Timeout | undefined;
  #lastAt = 0;
  #writing: Promise<void> = Promise.resolve();

  constructor(scope: PassScope) {
    this.#scope = scope;
  }

  /** Takes the text so far. */
  push(text: string): void {
    this.#latest = text;
    if (text.length < FIRST_CHARACTERS || this.#timer !== undefined) return;
    const waitMs = Math.max(0, this.#lastAt + EVERY_MS - performance.now());
    this.#timer = setTimeout(() => this.#flush(), waitMs);
  }

  /** Stops; nothing is written once this has resolved. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#writing;
  }

  #flush(): void {
    this.#timer = undefined;
    this.#lastAt = performance.now();
    const text = safeText(this.#latest);
    if (text === this.#shown) return;
    this.#shown = text;
    this.#writing = this.#writing.then(() => this.#write(text));
  }

  async #write(answer: string): Promise<void> {
    const { passId, sessionId } = this.#scope;
    try {
      await this.#scope.write(async (unit) => {
        await unit.db.pass.update({ where: { id: passId }, data: { answer } });
        unit.emit({ type: 'pass.answering', sessionId, refId: passId });
      });
    } catch (error) {
      log.warn(
        { pass: passId, error: errorText(error) },
        'a step of the answer could not be shown',
      );
    }
  }
}
