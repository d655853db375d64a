import type { Database } from '../core/db/database.ts';
import { log } from '../core/log.ts';
import type { CheckDefinition } from '../core/signals/check-file.ts';
import { dueChecks, pruneMetrics, sweepSignals } from '../core/signals/sweep.ts';
import { fleetVersion, syncChecks } from '../core/signals/sync-checks.ts';
import type { Producer } from './queues.ts';

/** How often checks that are due are handed over. A job's id is the check and the time that it is due, so none is queued twice. */
const HAND_OVER_MS = 1_000;
/** How often it is looked whether the fleet is another one than before. */
const FOLLOW_MS = 3_000;
const SIGNALS_MS = 2_000;
const PRUNE_MS = 10 * 60_000;

/** Something that is done again and again. */
export interface Sweep {
  readonly everyMs: number;
  work(): Promise<void>;
}

/**
 * What keeps checks and signals going, from Postgres alone: any number of processes may do it. Without `definitions` this
 * process makes no checks, and only sees to the signals.
 */
export function checkSweeps(deps: {
  database: Database;
  producer: Producer;
  definitions: readonly CheckDefinition[] | undefined;
}): Sweep[] {
  const { database, producer, definitions } = deps;
  const signals = { everyMs: SIGNALS_MS, work: async () => void (await sweepSignals(database)) };
  if (definitions === undefined) return [signals];
  let seen: string | undefined;
  return [
    signals,
    {
      everyMs: FOLLOW_MS,
      async work() {
        const version = await fleetVersion(database.read);
        if (version !== seen) {
          const done = await syncChecks(database, definitions);
          if (done.added + done.changed + done.gone > 0) log.info(done, 'checks follow the fleet');
          seen = version;
        }
      },
    },
    {
      everyMs: HAND_OVER_MS,
      async work() {
        for (const { id, due } of await dueChecks(database)) await producer.check(id, due);
      },
    },
    {
      everyMs: PRUNE_MS,
      async work() {
        const count = await pruneMetrics(database);
        if (count > 0) log.info({ count }, 'old figures taken away');
      },
    },
  ];
}
