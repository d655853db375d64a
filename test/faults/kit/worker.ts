import { AsyncLocalStorage } from 'node:async_hooks';
import { OpenAiChatModel } from '../../../core/agent/model/client.ts';
import { runPass } from '../../../core/agent/pass.ts';
import { SoulFile } from '../../../core/agent/soul.ts';
import { Database } from '../../../core/db/database.ts';
import { EventFeed } from '../../../core/events/subscribe.ts';
import { databaseHostKeys } from '../../../core/executions/host-keys.ts';
import { createRemoteRunner } from '../../../core/executions/remote/runner.ts';
import { armFault } from '../../../core/faults.ts';
import { installationId } from '../../../core/installation.ts';
import { startJobs } from '../../../jobs/start.ts';
import { lineTo, type Link } from './link.ts';
import type { ProcessEnd, Service, Worker } from './process.ts';

/** What a light worker works with. */
export interface LightOptions {
  name: string;
  databaseUrl: string;
  redisUrl: string;
  modelUrl: string;
  sshKeyFile: string;
  soulFile: string;
}

interface Fuse {
  point: string;
  left: number;
  burn: () => void;
}

/** Which worker the code at hand belongs to: fault points are of the whole process, deaths are of one worker. */
const fuses = new AsyncLocalStorage<{ fuse: Fuse | undefined }>();

/** Makes the fault points end the worker that passes them, when its fuse says so. */
export function armLightWorkers(points: readonly string[]): void {
  for (const point of points) {
    armFault(point, async () => {
      const life = fuses.getStore();
      const fuse = life?.fuse;
      if (fuse === undefined || fuse.point !== point || --fuse.left > 0) return;
      fuse.burn();
      // Cut off from everything by now: what handles this error reaches nothing.
      throw new Error(`killed at ${point}`);
    });
  }
}

/**
 * The jobs role inside this process, which can be killed and started again in no time: thousands of deaths cost what dozens of
 * processes do. Its death cuts its lines to PostgreSQL, Redis and the hosts in one moment, so that nothing it does afterwards
 * reaches anything: open transactions roll back and commands on the hosts go on, as after SIGKILL.
 */
export class LightWorker implements Worker {
  readonly name: string;
  readonly #options: LightOptions;
  #life: Life | undefined;
  #log = '';
  starts = 0;

  constructor(options: LightOptions) {
    this.name = options.name;
    this.#options = options;
  }

  start(killAt?: string): void {
    this.starts++;
    this.#life = new Life(this.#options, killAt);
    this.#log =
      `${this.#log}--- life ${this.starts} of ${this.name}, to be killed at ${killAt ?? 'nothing'}\n`.slice(
        -4_000,
      );
  }

  get ended(): Promise<ProcessEnd> {
    return this.#life?.ended ?? Promise.resolve({ code: 0, signal: null });
  }

  get alive(): boolean {
    return this.#life?.over === false;
  }

  get up(): boolean {
    return this.alive && this.#life?.up === true;
  }

  get log(): string {
    return this.#log + (this.#life?.problem ?? '');
  }

  readonly history = '';
  readonly apiUrl = undefined;
  /** Its clock is that of the kit. */
  readonly setClock = undefined;

  part(from: Service): () => void {
    return this.#life?.part(from) ?? (() => {});
  }

  signal(signal: NodeJS.Signals): boolean {
    const life = this.#life;
    if (life === undefined || life.over) return false;
    if (signal === 'SIGKILL') life.die();
    else if (signal === 'SIGTERM') life.stop();
    else if (signal === 'SIGSTOP') life.hold();
    else if (signal === 'SIGCONT') life.release();
    return true;
  }

  async end(signal: NodeJS.Signals): Promise<ProcessEnd> {
    this.signal(signal);
    return this.ended;
  }
}

/** From a start to an end. */
class Life {
  readonly ended: Promise<ProcessEnd>;
  over = false;
  up = false;
  problem = '';
  readonly #end: (how: ProcessEnd) => void;
  readonly #lines = new Map<Service, Link>();
  readonly #undo: Array<() => Promise<void>> = [];

  constructor(options: LightOptions, killAt: string | undefined) {
    const { promise, resolve } = Promise.withResolvers<ProcessEnd>();
    this.ended = promise;
    this.#end = (how) => {
      this.over = true;
      resolve(how);
    };
    const [point, count] = killAt?.split('#') ?? [];
    const fuse =
      point === undefined ? undefined : { point, left: Number(count ?? 1), burn: () => this.die() };
    fuses.run({ fuse }, () => {
      this.#start(options).catch((error: unknown) => {
        if (this.over) return;
        this.problem = String(error instanceof Error ? error.stack : error);
        this.#leave({ code: 1, signal: null });
      });
    });
  }

  die(): void {
    this.#leave({ code: null, signal: 'SIGKILL' });
  }

  stop(): void {
    void this.#putDown().then(() => this.#leave({ code: 0, signal: null }));
  }

  hold(): void {
    for (const line of this.#lines.values()) line.hold();
  }

  release(): void {
    for (const line of this.#lines.values()) line.release();
  }

  part(from: Service): () => void {
    const line = this.#lines.get(from);
    line?.hold();
    return () => line?.release();
  }

  #leave(how: ProcessEnd): void {
    if (this.over) return;
    for (const line of this.#lines.values()) line.cut();
    this.#end(how);
    // Timers and sockets of a dead worker go; cut off as it is, its goodbye reaches nobody.
    for (const undo of this.#undo.splice(0)) void undo().catch(() => {});
  }

  async #putDown(): Promise<void> {
    for (const undo of this.#undo.splice(0).toReversed()) {
      // A dead worker's parts cannot say goodbye to what they are cut off from.
      await undo().catch(() => {});
    }
  }

  async #start(options: LightOptions): Promise<void> {
    const databaseUrl = await this.#through('database', options.databaseUrl);
    const redisUrl = await this.#through('Redis', options.redisUrl);
    const database = await Database.connect(databaseUrl, { connections: 5, name: options.name });
    this.#keep(() => database.close());
    const feed = await EventFeed.open(database);
    this.#keep(() => feed.close());
    const runner = createRemoteRunner({
      credentials: { keyFile: options.sshKeyFile, agentSocket: undefined },
      knownHostsFile: undefined,
      hostKeys: databaseHostKeys(database),
      // A pulled cable is found within 4 s instead of 28.
      keepaliveIntervalMs: 1_000,
    });
    this.#keep(() => runner.close());
    const agent = {
      database,
      feed,
      model: new OpenAiChatModel({
        baseUrl: options.modelUrl,
        apiKey: 'a-key-for-tests',
        models: ['planner'],
      }),
      soul: await SoulFile.open(options.soulFile),
      retryDelaysMs: [200],
      resumeDelaysMs: [500],
    };
    const jobs = await startJobs({
      isOperator: () => true,
      database,
      feed,
      mask: (text) => text,
      redisUrl,
      prefix: `nomos-${await installationId(database)}`,
      runner,
      runPass: (passId, signal) => runPass(agent, passId, { signal }),
    });
    this.#keep(() => jobs.stop());
    this.up = true;
  }

  /** Remembers how a part is ended; ends it now if the worker died while it was made. */
  #keep(undo: () => Promise<void>): void {
    this.#undo.push(undo);
    if (!this.over) return;
    void this.#putDown();
    throw new Error('killed at its start');
  }

  async #through(service: Service, url: string): Promise<string> {
    const { line, url: through } = await lineTo(url);
    this.#lines.set(service, line);
    if (this.over) line.cut();
    return through;
  }
}
