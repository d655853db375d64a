import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { errorText } from '../core/errors.ts';
import { log } from '../core/log.ts';

/** The queues. What a job means is in its row; what it carries is an id and nothing else (J9). */
export const QUEUES = { executions: 'executions', turns: 'turns', checks: 'checks' } as const;

/** What a job carries: the id of an execution, of a pass, or of a check. */
export interface JobData {
  id: string;
}

/** Hands ids to BullMQ. A lost hand-over is no loss: the reconciliation makes it again from Postgres. */
export class Producer {
  readonly #executions: Queue<JobData>;
  readonly #turns: Queue<JobData>;
  readonly #checks: Queue<JobData>;

  constructor(connection: Redis, prefix: string) {
    // At most once: a job is never tried again by BullMQ itself, and leaves nothing behind that would block its id.
    const options = {
      connection,
      prefix,
      defaultJobOptions: { attempts: 1, removeOnComplete: true, removeOnFail: true },
    };
    this.#executions = new Queue(QUEUES.executions, options);
    this.#turns = new Queue(QUEUES.turns, options);
    this.#checks = new Queue(QUEUES.checks, options);
    for (const queue of [this.#executions, this.#turns, this.#checks]) {
      // Told by the connection itself already.
      queue.on('error', (error) => log.debug({ error: error.message }, 'queue error'));
    }
  }

  /** Hands over an execution. `round` tells apart hand-overs of the same row that must not be taken for one. */
  async execution(id: string, round: string): Promise<void> {
    await this.#add(this.#executions, id, round);
  }

  /** Hands over a pass. */
  async pass(id: string, round: string): Promise<void> {
    await this.#add(this.#turns, id, round);
  }

  /** Hands over a check. */
  async check(id: string, round: string): Promise<void> {
    await this.#add(this.#checks, id, round);
  }

  /** Closes the queues, not the connection. */
  async close(): Promise<void> {
    await Promise.all([this.#executions.close(), this.#turns.close(), this.#checks.close()]);
  }

  async #add(queue: Queue<JobData>, id: string, round: string): Promise<void> {
    try {
      await queue.add('due', { id }, { jobId: `${id}-${round}` });
    } catch (error) {
      log.warn(
        { queue: queue.name, id, error: errorText(error) },
        'job not queued; it will be made again from Postgres',
      );
    }
  }
}
