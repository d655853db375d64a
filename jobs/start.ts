import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Database } from '../core/db/database.ts';
import { errorText } from '../core/errors.ts';
import type { EventFeed } from '../core/events/subscribe.ts';
import type { Mask } from '../core/executions/finish.ts';
import type { RemoteRunner } from '../core/executions/ports.ts';
import { resumeExecution, runExecution, type RunDeps } from '../core/executions/run.ts';
import { asId, type ExecutionId } from '../core/ids.ts';
import { CrashWatch, WorkerIdentity } from '../core/liveness.ts';
import { limits } from '../core/limits.ts';
import { log } from '../core/log.ts';
import { sweepIdle } from '../core/tasks/idle.ts';
import type { CheckDefinition } from '../core/signals/check-file.ts';
import { runCheck } from '../core/signals/run-check.ts';
import { checkSweeps } from './checks.ts';
import { startDispatcher } from './dispatcher.ts';
import { workOnPasses, type PassRunner } from './passes.ts';
import { Producer } from './queues.ts';
import { reconcile } from './reconcile.ts';
import { awaitRedis, openRedis } from './redis.ts';
import { startWorker } from './workers.ts';

/** How often what is left over is looked for. */
const RECONCILE_MS = 2_000;
/** How often idle tasks are looked for (J4); more often only where tasks count as idle sooner. */
const IDLE_SWEEP_MS = 120_000;
/** How long a shutdown waits for work in hand to be put down (J7: 20 s in all). */
const PUT_DOWN_MS = 12_000;
/** How long closing a connection in good order may take. */
const CLOSE_MS = 2_000;

/** What the jobs role needs. */
export interface JobsDeps {
  database: Database;
  feed: EventFeed;
  redisUrl: string;
  runner: RemoteRunner;
  runPass: PassRunner;
  mask: Mask;
  /** By the configuration of this process: whose schedules run. */
  isOperator: (userId: string) => boolean;
  /** What is looked at by itself (S1); undefined leaves the checks to other processes. */
  checks?: readonly CheckDefinition[] | undefined;
  /** Keeps the keys of several installations in one Redis apart. */
  prefix: string;
}

/** The running jobs role. */
export interface Jobs {
  /** Whether Redis answers now. */
  redisReady(): boolean;
  /** Takes no new work, puts down what is in hand, and ends (J7). */
  stop(): Promise<void>;
}

/** Starts the workers, the dispatcher and the reconciliation. Returns once what was left over has been looked at. */
export async function startJobs(deps: JobsDeps): Promise<Jobs> {
  const { database, feed } = deps;
  const { prefix } = deps;
  const producing = openRedis(deps.redisUrl, 'producer');
  const working = openRedis(deps.redisUrl, 'worker');
  const identity = await connected(database, producing, working);
  const producer = new Producer(producing, prefix);
  const shutdown = new AbortController();
  const inHand = new InHand();
  const runDeps: RunDeps = {
    database,
    feed,
    runner: deps.runner,
    mask: deps.mask,
    owner: identity.owner,
    shutdown: shutdown.signal,
  };
  const reconcileDeps = {
    database,
    producer,
    crashes: new CrashWatch(database),
    isOperator: deps.isOperator,
    resume: (id: ExecutionId) =>
      inHand.track(`execution:${id}`, () => resumeExecution(runDeps, id)),
  };

  const stopDispatching = startDispatcher(database, feed, producer);
  await reconcile(reconcileDeps);
  await sweepIdle(database, { close: false });
  const workers = [
    startWorker('executions', working, prefix, (id) =>
      inHand.track(`execution:${id}`, () => runExecution(runDeps, asId<ExecutionId>(id))),
    ),
    startWorker('turns', working, prefix, (id) =>
      inHand.track(`pass:${id}`, () =>
        workOnPasses(
          { database, owner: identity.owner, shutdown: shutdown.signal, runPass: deps.runPass },
          id,
        ),
      ),
    ),
  ];
  if (deps.checks !== undefined) {
    workers.push(
      startWorker('checks', working, prefix, (id) =>
        inHand.track(`check:${id}`, () => runCheck(runDeps, id)),
      ),
    );
  }
  const sweeping = Promise.all([
    ...checkSweeps({ database, producer, definitions: deps.checks }).map(({ everyMs, work }) =>
      repeat(everyMs, shutdown.signal, work),
    ),
    repeat(RECONCILE_MS, shutdown.signal, async () => void (await reconcile(reconcileDeps))),
    repeat(Math.min(limits().idleAfterMs, IDLE_SWEEP_MS), shutdown.signal, async () => {
      await sweepIdle(database, { close: true });
    }),
  ]);

  return {
    redisReady: () => working.status === 'ready',
    async stop() {
      stopDispatching();
      shutdown.abort();
      // Without Redis or the database these may never end, and the process has to.
      await within(CLOSE_MS, Promise.all([...workers.map((worker) => worker.close()), sweeping]));
      await inHand.settled(PUT_DOWN_MS);
      await within(CLOSE_MS, producer.close());
      producing.disconnect();
      working.disconnect();
      await identity.close();
    },
  };
}

async function connected(
  database: Database,
  producing: Redis,
  working: Redis,
): Promise<WorkerIdentity> {
  try {
    await Promise.all([awaitRedis(producing), awaitRedis(working)]);
    return await WorkerIdentity.open(database);
  } catch (error) {
    producing.disconnect();
    working.disconnect();
    throw error;
  }
}

/** The work of this process, so that a row is not worked on twice here and a shutdown can wait for it. */
class InHand {
  readonly #work = new Map<string, Promise<void>>();

  /** Does the work unless it is in hand already. Rejects as the work does. */
  track(key: string, work: () => Promise<void>): Promise<void> {
    const running = this.#work.get(key);
    if (running !== undefined) return running;
    const done = work().finally(() => this.#work.delete(key));
    this.#work.set(key, done);
    done.catch((error: unknown) => log.error({ key, error: errorText(error) }, 'work failed'));
    return done;
  }

  async settled(withinMs: number): Promise<void> {
    const all = Promise.allSettled(this.#work.values());
    const late = await Promise.race([
      all.then(() => false),
      new Promise<boolean>((resolve) => setTimeout(() => resolve(true), withinMs).unref()),
    ]);
    if (late)
      log.warn({ left: [...this.#work.keys()] }, 'work left in hand; it will be taken up again');
  }
}

/** Waits for the end of `work`, whatever it is, but not for longer than `ms`. */
async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  await Promise.race([Promise.allSettled([work]), late]);
  clearTimeout(timer);
}

/** Does something again and again, each time this long after the last one ended, until told to stop. */
async function repeat(
  everyMs: number,
  stop: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  while (!stop.aborted) {
    // Leaves nothing on the signal, which lives as long as the process.
    await delay(everyMs, undefined, { signal: stop }).catch(() => {});
    if (stop.aborted) return;
    try {
      await work();
    } catch (error) {
      log.warn({ error: errorText(error) }, 'reconciliation failed; it is tried again');
    }
  }
}
