import { setLease } from '../../../core/leases.ts';
import { setLimits, DEFAULT_LIMITS } from '../../../core/limits.ts';
import { findFaketime } from '../../support/fake-clock.ts';
import { STEP_KINDS, type StepKind } from './model.ts';
import { OperatorAtWork } from './people.ts';
import { netnsMissing } from '../../support/netns.ts';
import { FAULT_POINTS } from './points.ts';
import { Random } from './random.ts';
import { runRound, type RoundReport } from './rounds.ts';
import { HurtServices } from './services.ts';
import { armLightWorkers } from './worker.ts';
import { FaultWorld, IDLE_AFTER_MS, LEASE_MS } from './world.ts';

/**
 * `light`: the jobs role inside this process. `process`: the program in processes of its own, jobs and API. `matrix`: the
 * whole program in processes of its own, with a homeserver.
 */
export const WORLD_KINDS = ['light', 'process', 'matrix'] as const;

/** A run of many rounds. */
export interface FaultRun {
  rounds: number;
  seed: number;
  kind: (typeof WORLD_KINDS)[number];
  workers: number;
  /** Worlds side by side, on the same PostgreSQL and Valkey: while one recovers another works. */
  worlds: number;
  /** Whether the clock of the database is moved by an hour now and then; wants libfaketime and one world at a time. */
  movesClock?: boolean;
  /** Whether the hosts hang on a cable that is pulled now and then; wants network namespaces. */
  cabled?: boolean;
  /** Whether grants last 2 s instead of half an hour. */
  shortGrants?: boolean;
  /** After so many rounds a world is ended and a new one made, so that the audit stays quick. */
  worldRounds: number;
  /** What tasks may do; everything by default. */
  steps?: readonly string[];
  say: (line: string) => void;
}

/** Makes this process fit for light worlds: short leases and waits as in the processes of the others, and fault points that end one worker. */
export function prepare(options: { shortGrants?: boolean } = {}): void {
  setLimits({
    ...DEFAULT_LIMITS,
    inlineWaitMs: 1_000,
    idleAfterMs: IDLE_AFTER_MS,
    // Shorter than a slow command, so that it runs out while one runs (J3).
    ...(options.shortGrants === true && { grantTtlMs: 2_000 }),
  });
  setLease(LEASE_MS);
  armLightWorkers(FAULT_POINTS.map(({ name }) => name));
}

/** Runs rounds and tells of them. Gives the number of rounds in which something was wrong. */
export async function runFaults(run: FaultRun): Promise<number> {
  prepare({ shortGrants: run.shortGrants === true });
  const { rounds, seed, kind, workers, worlds } = run;
  if (findFaketime() === undefined)
    run.say(
      'libfaketime is not installed: clocks are not moved (Debian: apt-get install libfaketime)',
    );
  const uncabled = run.cabled === true ? netnsMissing() : undefined;
  if (uncabled !== undefined) run.say(`no cable is pulled: ${uncabled}`);
  const cabled = run.cabled === true && uncabled === undefined;
  run.say(`seed ${seed}, ${rounds} rounds, ${kind}, ${worlds} world(s) of ${workers} worker(s)`);
  const since = performance.now();
  const tally = new Tally(run);
  const services = await HurtServices.start();
  try {
    const seeds = new Random(seed);
    await Promise.all(
      Array.from({ length: worlds }, (_, index) =>
        oneAfterAnother({ ...run, cabled }, services, seeds.fork(), index, tally),
      ),
    );
  } finally {
    await services.stop();
  }
  run.say(JSON.stringify(tally.counts(), null, 1));
  run.say(
    `${tally.done} rounds, ${tally.failed} with something wrong, ${Math.round((performance.now() - since) / 1000)} s, seed ${seed}`,
  );
  return tally.failed;
}

/** World after world in one of the places side by side. */
async function oneAfterAnother(
  run: FaultRun,
  services: HurtServices,
  seeds: Random,
  place: number,
  tally: Tally,
): Promise<void> {
  const steps: readonly StepKind[] =
    run.steps === undefined ? STEP_KINDS : STEP_KINDS.filter((kind) => run.steps?.includes(kind));
  for (let n = 0; tally.wanted(); n++) {
    const seed = seeds.int(0, 0x7fff_ffff);
    const world = await FaultWorld.open({
      services,
      name: `faults_${place}_${n}`,
      seed,
      matrix: run.kind === 'matrix',
      // Every other world of a place.
      encrypted: run.kind === 'matrix' && n % 2 === 1,
      light: run.kind === 'light',
      cabled: run.cabled === true,
      workers: run.workers,
      movesClock: run.movesClock === true && run.worlds === 1,
    });
    const operator = new OperatorAtWork(world, new Random(seed));
    operator.start();
    try {
      for (let round = 0; round < run.worldRounds && tally.wanted(); round++) {
        tally.begin();
        const report = await runRound(world, operator, seeds.int(0, 0x7fff_ffff), steps);
        tally.end(report, world);
        // What is wrong stays wrong: the next rounds begin with a clean sheet.
        if (report.wrong.length > 0) break;
      }
    } finally {
      await tally.world(world, operator);
      await operator
        .stop()
        .catch((error: unknown) => run.say(`the operator broke off: ${String(error)}`));
      await world.close();
    }
  }
}

/** Counts and tells what happened. */
class Tally {
  done = 0;
  failed = 0;
  readonly #run: FaultRun;
  readonly #counts = new Map<string, number>();
  #begun = 0;

  constructor(run: FaultRun) {
    this.#run = run;
  }

  wanted(): boolean {
    return this.#begun < this.#run.rounds;
  }

  begin(): void {
    this.#begun++;
  }

  end(report: RoundReport, world: FaultWorld): void {
    const { seed, faults, wrong, tookMs, tasks } = report;
    this.done++;
    this.#add('tasks', tasks.length);
    for (const fault of faults) {
      this.#add(
        `fault: ${fault.replace(/worker-\d/, 'a worker').replace(/#\d+|,? (for )?\d+ ms/g, '')}`,
        1,
      );
    }
    this.#run.say(
      `${this.done} ${wrong.length === 0 ? 'ok' : 'WRONG'} seed ${seed} ${(tookMs / 1000).toFixed(1)} s ${world.databaseName}: ${faults.join('; ')}`,
    );
    if (wrong.length === 0) return;
    this.failed++;
    for (const line of [...tasks, ...wrong]) this.#run.say(`  ${line}`);
    for (const one of world.processes)
      this.#run.say(`--- ${one.name}\n${(one.history + one.log).slice(-12_000)}`);
  }

  async world(world: FaultWorld, operator: OperatorAtWork): Promise<void> {
    for (const { what, times } of await world.steady(() => cameToPass(world)))
      this.#add(`came to pass: ${what}`, Number(times));
    for (const [point, times] of Object.entries(world.fired)) this.#add(`died at: ${point}`, times);
    for (const [what, times] of Object.entries(operator.counts))
      this.#add(`operator: ${what}`, times);
    this.#add(
      'lives',
      world.processes.reduce((sum, { starts }) => sum + starts, 0),
    );
  }

  counts(): Record<string, number> {
    return Object.fromEntries([...this.#counts].toSorted(([a], [b]) => a.localeCompare(b)));
  }

  #add(what: string, times: number): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + times);
  }
}

/** How often what rounds are to come to has come to pass, beside faults. */
async function cameToPass({
  database,
}: FaultWorld): Promise<Array<{ what: string; times: bigint }>> {
  return database.read.$queryRaw`
    SELECT action AS what, count(*) AS times FROM audit_log
    WHERE action IN ('grant.opened', 'grant.reopened', 'task.nudged') GROUP BY action
    UNION ALL SELECT 'a grant ran out', count(*) FROM events WHERE type = 'error.raised' AND data->>'code' = 'grant_ran_out'
    UNION ALL SELECT 'closed as idle', count(*) FROM sessions WHERE summary LIKE 'Closed without reaching its goal: nothing happened%'
    UNION ALL SELECT 'execution ' || status::text, count(*) FROM executions GROUP BY status`;
}
