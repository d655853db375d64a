import { Worker } from 'node:worker_threads';
import { NomosError } from '../../core/errors.ts';
import { dotOf } from './graph-dot.ts';
import type { GraphPicture, Png } from './state.ts';
import { trendSvg, type TrendPicture } from './trend-svg.ts';

/** What the renderer's thread is asked for. */
export type RenderJob = { id: number } & (
  | { kind: 'graph'; /** The same graph, laid out in different ways. */ dots: readonly string[] }
  | { kind: 'svg'; svg: string }
);

/** What it answers. */
export type RenderAnswer = { id: number } & ({ png: Png } | { error: string });

/** A picture could not be made. */
export class PictureError extends NomosError {
  constructor(why: string) {
    super('picture_failed', 'system', `The picture could not be drawn: ${why}.`);
  }
}

const TIMEOUT_MS = 20_000;
const IDLE_MS = 60_000;

type Waiting = PromiseWithResolvers<Png>;

/**
 * Draws pictures in a thread of its own: layout and rasterizing take hundreds of milliseconds. The thread, and the
 * WebAssembly in it, is there from the first picture until a minute after the last one.
 */
export class PictureRenderer {
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;
  readonly #waiting = new Map<number, Waiting>();
  #jobs = 0;

  /** Draws a part of the fleet graph. Rejects with `PictureError`. */
  async graph(picture: GraphPicture): Promise<Png> {
    const dots = [dotOf(picture, 'TB'), dotOf(picture, 'LR')];
    return this.#ask({ id: ++this.#jobs, kind: 'graph', dots });
  }

  /** Draws a trend. Rejects with `PictureError`. */
  async trend(picture: TrendPicture): Promise<Png> {
    return this.#ask({ id: ++this.#jobs, kind: 'svg', svg: trendSvg(picture) });
  }

  /** Ends the thread; pictures that are being drawn fail. */
  async close(): Promise<void> {
    const worker = this.#worker;
    this.#end('the renderer was closed');
    await worker?.terminate();
  }

  async #ask(job: RenderJob): Promise<Png> {
    clearTimeout(this.#idle);
    const worker = (this.#worker ??= this.#start());
    const waiting = Promise.withResolvers<Png>();
    this.#waiting.set(job.id, waiting);
    const timer = setTimeout(() => {
      // A thread that hangs draws nothing for anybody any more.
      this.#end(`it took longer than ${TIMEOUT_MS / 1000} s`);
      void worker.terminate();
    }, TIMEOUT_MS);
    worker.postMessage(job);
    try {
      return await waiting.promise;
    } finally {
      clearTimeout(timer);
      this.#rest();
    }
  }

  #start(): Worker {
    // No environment: what is drawn came from outside, and there are secrets in ours.
    const worker = new Worker(new URL('render-worker.ts', import.meta.url), {
      execArgv: [],
      env: {},
    });
    // The thread never keeps the process from ending. Coming up it takes hold of it once more.
    worker.unref();
    worker.once('online', () => worker.unref());
    const gone = (why: string): void => {
      if (this.#worker === worker) this.#end(why);
    };
    worker.on('message', (answer: RenderAnswer) => {
      const waiting = this.#waiting.get(answer.id);
      this.#waiting.delete(answer.id);
      if ('png' in answer) waiting?.resolve(answer.png);
      else {
        waiting?.reject(new PictureError(answer.error));
        // WebAssembly that broke once may draw nonsense from then on.
        gone('an earlier picture broke the drawing');
        void worker.terminate();
      }
    });
    worker.on('error', (error) => gone(error.message));
    worker.on('exit', (code) => gone(`its thread ended with ${code}`));
    return worker;
  }

  #end(why: string): void {
    this.#worker = undefined;
    clearTimeout(this.#idle);
    for (const [id, waiting] of this.#waiting) {
      this.#waiting.delete(id);
      waiting.reject(new PictureError(why));
    }
  }

  #rest(): void {
    if (this.#waiting.size > 0) return;
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => {
      const worker = this.#worker;
      this.#end('it was idle');
      void worker?.terminate();
    }, IDLE_MS).unref();
  }
}
