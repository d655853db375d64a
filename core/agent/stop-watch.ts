import type { PassScope } from './scope.ts';

/**
 * Notices that an operator stops the pass (T5): at once by the event, and at each look at the row, so that one that came
 * before the watch began is not missed.
 */
export class StopWatch {
  readonly #scope: PassScope;
  readonly #abort = new AbortController();
  readonly #unsubscribe: () => void;

  constructor(scope: PassScope) {
    this.#scope = scope;
    this.#unsubscribe = scope.deps.feed.subscribe((event) => {
      if (event.type === 'pass.stop_requested' && event.refId === scope.passId) this.#abort.abort();
    });
  }

  /** Fires when the pass is to stop. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Looks at the row: whether the pass is to stop, and how many answers of the model it has had. */
  async look(): Promise<{ stopped: boolean; modelCalls: number }> {
    const { stopRequestedAt, modelCalls } = await this.#scope.row();
    if (stopRequestedAt !== null) this.#abort.abort();
    return { stopped: this.#abort.signal.aborted, modelCalls };
  }

  /** Ends the watch. */
  close(): void {
    this.#unsubscribe();
  }
}
