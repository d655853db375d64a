/** Lets one piece of work in at a time, in the order of asking. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `work` when all that was asked for before has ended, well or badly. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work, work);
    this.#last = result.catch(() => {});
    return result;
  }
}
