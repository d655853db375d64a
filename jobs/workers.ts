import { Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { log } from '../core/log.ts';
import { QUEUES, type JobData } from './queues.ts';

/** Handles one job. It must not throw for what is expected: the row tells what became of it. */
export type JobHandler = (id: string) => Promise<void>;

/** How many commands, passes and checks one process works on at a time. Waiting for a host or a model costs little. */
const CONCURRENCY = { executions: 100, turns: 128, checks: 32 } as const;

/** A running BullMQ worker. */
export interface RunningWorker {
  /** Takes no new jobs and returns; jobs in hand are told by the shutdown signal, not waited for here. */
  close(): Promise<void>;
}

/**
 * Starts a worker on a queue. BullMQ delivers at least once and by default hands a stalled job out again; here a stalled
 * job is only dropped (`maxStalledCount: 0`), since the rows say what is to be done about it (design 5).
 */
export function startWorker(
  queue: keyof typeof QUEUES,
  connection: Redis,
  prefix: string,
  handler: JobHandler,
): RunningWorker {
  const worker = new Worker<JobData>(QUEUES[queue], async (job) => handler(job.data.id), {
    connection,
    prefix,
    concurrency: CONCURRENCY[queue],
    maxStalledCount: 0,
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 0 },
  });
  worker.on('error', (error) => log.debug({ queue, error: error.message }, 'worker error'));
  worker.on('failed', (job, error) => {
    // A job whose worker is gone: the rows say what is to be done about it, and that is told there.
    const stalled = error.message.includes('stalled');
    log[stalled ? 'debug' : 'error']({ queue, id: job?.data.id, error }, 'job failed');
  });
  return { close: () => worker.close(true) };
}
