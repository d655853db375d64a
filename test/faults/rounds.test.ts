import { expect, test } from 'vitest';
import { runFaults, WORLD_KINDS, type FaultRun } from './kit/run.ts';

/**
 * A short fixed set of rounds. Long runs: `npm run faults -- --rounds N --seed S`. What is printed on a failure has the seeds, the
 * work, the faults and what the audit found.
 */
const SETS: ReadonlyArray<
  [kind: FaultRun['kind'], rounds: number, worlds: number, workers: number]
> = [['light', 4, 2, 1]];

test.each(SETS)(
  'R1, R2, R3, R4, R6, R7, R8, R9, R15, J1, J6, J7, J9, X7, X13: whatever is killed and cut, nothing is lost, nothing happens twice, nothing untrue is told: %s, %i rounds',
  { timeout: 600_000 },
  async (kind, rounds, worlds, workers) => {
    expect(WORLD_KINDS).toContain(kind);
    const lines: string[] = [];
    const failed = await runFaults({
      kind,
      rounds,
      worlds,
      workers,
      seed: 20_261_129,
      worldRounds: 50,
      say: (line) => lines.push(line),
    });
    expect(failed, lines.join('\n')).toBe(0);
    expect(lines.at(-1)).toContain(`${rounds} rounds, 0 with something wrong`);
  },
);
