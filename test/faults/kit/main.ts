/**
 * Long runs: `npm run faults -- --rounds N --seed S [--kind light|process|matrix] [--workers 1|2]
 * [--clock] [--links] [--short-grants] [--worlds 1] [--world-rounds 50] [--steps read,change,…]`. Prints one line for each
 * round, and everything about a round in which something was wrong. Ends with 1 if there was any.
 * `npm run faults -- --each [--kind matrix] [--point name,…]`: every fault point once, or
 * those with such a beginning.
 */
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    seed: { type: 'string' },
    kind: { type: 'string', default: 'light' },
    worlds: { type: 'string', default: '1' },
    workers: { type: 'string', default: '1' },
    'world-rounds': { type: 'string', default: '50' },
    steps: { type: 'string' },
    clock: { type: 'boolean', default: false },
    links: { type: 'boolean', default: false },
    'short-grants': { type: 'boolean', default: false },
    each: { type: 'boolean', default: false },
    point: { type: 'string' },
  },
});

// Read when the program's log is loaded.
process.env['NOMOS_LOG_LEVEL'] ??= 'silent';
const { runFaults, WORLD_KINDS } = await import('./run.ts');
const { runEach } = await import('./each.ts');

const { endAllProcesses } = await import('./process.ts');
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    endAllProcesses();
    // Services see to themselves: their watchdog misses this process.
    process.exit(1);
  });
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const failed = await (values.each ? each() : rounds());
process.exitCode = failed === 0 ? 0 : 1;

function each(): Promise<number> {
  return runEach({
    kind: readKind(values.kind),
    ...(values.point === undefined ? {} : { only: values.point.split(',') }),
    say,
  });
}

function rounds(): Promise<number> {
  return runFaults({
    rounds: Number(values.rounds),
    seed: values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed),
    kind: readKind(values.kind),
    worlds: Number(values.worlds),
    workers: Number(values.workers),
    worldRounds: Number(values['world-rounds']),
    movesClock: values.clock,
    cabled: values.links,
    shortGrants: values['short-grants'],
    ...(values.steps === undefined ? {} : { steps: values.steps.split(',') }),
    say,
  });
}

function readKind(word: string): (typeof WORLD_KINDS)[number] {
  const kind = WORLD_KINDS.find((one) => one === word);
  if (kind === undefined)
    throw new Error(`--kind "${word}" is not known; allowed: ${WORLD_KINDS.join(', ')}.`);
  return kind;
}
