import { setTimeout as delay } from 'node:timers/promises';

/** The interval of the worker that ours is compared with. */
export const POLL_MS = 4_000;

/** The golden ratio's part: phases that follow each other by it are spread evenly however many there are. */
const PHASE_STEP = 0.618_034;

/** A worker that looks every four seconds whether there is something to do, as the earlier system had. */
export class PollingWorker {
  readonly #look: () => Promise<void>;
  readonly #timer: NodeJS.Timeout;
  #lastTick = performance.now();
  #phase = 0;

  /** `look` asks for what is due and does it. */
  constructor(look: () => Promise<void>) {
    this.#look = look;
    this.#timer = setInterval(() => {
      this.#lastTick = performance.now();
      void this.#look();
    }, POLL_MS);
  }

  /** Waits until a moment between two looks: another one each time, so that together they lie evenly between them. */
  async someMoment(): Promise<void> {
    this.#phase = (this.#phase + PHASE_STEP) % 1;
    const since = performance.now() - this.#lastTick;
    await delay((POLL_MS + this.#phase * POLL_MS - since) % POLL_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
