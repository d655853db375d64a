import { ServiceDesk, type DeskAnswers } from '../../test/support/service-desk.ts';

/** Real services of this run's own, each started when it is first asked for: those of the tests, without a test runner. */
export class BenchServices implements AsyncDisposable {
  readonly #desk: ServiceDesk;

  private constructor(desk: ServiceDesk) {
    this.#desk = desk;
  }

  static async open(): Promise<BenchServices> {
    const desk = await ServiceDesk.open();
    // What test/support makes asks there too.
    process.env['NOMOS_SERVICE_DESK'] = desk.url;
    return new BenchServices(desk);
  }

  /** Asks the desk. Throws with what it said when it cannot give that. */
  async ask<Path extends keyof DeskAnswers>(path: Path): Promise<DeskAnswers[Path]> {
    const response = await fetch(this.#desk.url + path);
    const body = await response.json();
    if (!response.ok) throw new Error((body as { error: string }).error);
    return body as DeskAnswers[Path];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#desk.close();
  }
}
