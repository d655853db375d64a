import { audit } from './audit.ts';
import { OperatorAtWork } from './people.ts';
import { FAULT_POINTS, NOT_IN_ROUNDS, type FaultPoint } from './points.ts';
import { Random } from './random.ts';
import { atRest, underWay } from './rounds.ts';
import { prepare, type WORLD_KINDS } from './run.ts';
import { HurtServices } from './services.ts';
import { FaultWorld } from './world.ts';

/** Every fault point once. */
export interface EachRun {
  kind: (typeof WORLD_KINDS)[number];
  /** Only points whose names begin with one of these. Default all. */
  only?: readonly string[];
  say: (line: string) => void;
}

/** How long a point that its work should have come to is waited for after that work has come to rest. */
const LATE_MS = 3_000;
const ENCRYPTED: ReadonlySet<FaultPoint['where']> = new Set(['crypto']);

/**
 * Arms the fault points one after another, each with the small piece of work that reaches it, lets all come to rest and audits.
 * Says which were not reached. Gives the number of points at which something was wrong, or that were not reached though this
 * kind of world has what passes them.
 */
export async function runEach(run: EachRun): Promise<number> {
  prepare();
  const { kind, say } = run;
  const { only = [''] } = run;
  const points = FAULT_POINTS.filter(({ name }) => only.some((one) => name.startsWith(one)));
  const within = points.filter((point) => isWithin(point, kind));
  for (const { name } of points.filter((point) => !within.includes(point)))
    say(`not in ${kind}: ${name}`);
  for (const [name, why] of Object.entries(NOT_IN_ROUNDS)) say(`not tried: ${name}: ${why}`);
  const services = await HurtServices.start();
  let failed = 0;
  const missed: string[] = [];
  const take = ({ wrong, reached }: Pick<PointReport, 'wrong' | 'reached'>, name: string): void => {
    if (wrong.length > 0) failed++;
    if (!reached) missed.push(name);
  };
  try {
    for (const encrypted of [false, true]) {
      const here = within.filter(
        ({ where }) => where === 'home' || ENCRYPTED.has(where) === encrypted,
      );
      if (here.every(({ where }) => where === 'home') && encrypted) continue;
      const home = encrypted ? [] : here.filter(({ where }) => where === 'home');
      const world = await FaultWorld.open({
        services,
        name: encrypted ? 'each_encrypted' : 'each',
        seed: 1,
        matrix: kind === 'matrix',
        light: kind === 'light',
        encrypted,
        workers: 1,
        movesClock: false,
        firstDeaths: home.map(({ name }) => `${name}#1`),
      });
      const operator = new OperatorAtWork(world, new Random(1), { steady: 'program' });
      operator.start();
      try {
        for (const { name } of home) {
          const reached = (world.fired[name] ?? 0) > 0;
          take({ wrong: [], reached }, name);
          say(`${reached ? 'ok' : 'NOT REACHED'} ${name}`);
        }
        for (const [index, point] of here.filter(({ where }) => where !== 'home').entries()) {
          const report = await runPoint(world, operator, point, index);
          take(report, point.name);
          const verdict = report.wrong.length > 0 ? 'WRONG' : report.reached ? 'ok' : 'NOT REACHED';
          say(`${verdict} ${point.name} ${(report.tookMs / 1_000).toFixed(1)} s`);
          for (const line of report.wrong) say(`  ${line}`);
          if (report.wrong.length > 0) {
            for (const one of world.processes)
              say(`--- ${one.name}\n${(one.history + one.log).slice(-12_000)}`);
            break;
          }
        }
      } finally {
        await operator
          .stop()
          .catch((error: unknown) => say(`the operator broke off: ${String(error)}`));
        await world.close();
      }
    }
  } finally {
    await services.stop();
  }
  say(
    missed.length === 0
      ? `all ${within.length} points were reached`
      : `never reached: ${missed.join(', ')}`,
  );
  return failed + missed.length;
}

function isWithin({ where, ownProcess }: FaultPoint, kind: EachRun['kind']): boolean {
  if (where === 'jobs') return ownProcess !== true || kind !== 'light';
  return kind === 'matrix';
}

interface PointReport {
  wrong: string[];
  reached: boolean;
  tookMs: number;
}

async function runPoint(
  world: FaultWorld,
  operator: OperatorAtWork,
  point: FaultPoint,
  index: number,
): Promise<PointReport> {
  const [victim] = world.processes;
  const since = performance.now();
  const before = world.fired[point.name] ?? 0;
  const reached = (): boolean => (world.fired[point.name] ?? 0) > before;
  const wrong: string[] = [];
  operator.cancels = point.cancels === true;
  try {
    if (victim === undefined) throw new Error('there is no process');
    for (const name of [point.after ?? [], point.name].flat()) world.armKill(`${name}#1`, victim);
    await operator.ask({
      token: `teach${index}x${world.databaseName.length}`,
      steps: point.steps ?? ['change'],
      goal: index % 2 === 0,
    });
    await atRest(world, operator);
    if (!reached()) await new Promise((resolve) => setTimeout(resolve, LATE_MS));
    if (!reached()) await world.disarm(victim);
    await atRest(world, operator);
    wrong.push(...(await world.steady(() => audit(world, operator))));
  } catch (error) {
    wrong.push(`it broke off: ${error instanceof Error ? error.message : String(error)}`);
    wrong.push(...(await world.steady(() => underWay(world))));
  }
  wrong.push(...world.oddities.splice(0));
  return { wrong, reached: reached(), tookMs: performance.now() - since };
}
