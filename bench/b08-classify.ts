import { createHash } from 'node:crypto';
import { cases, ordinaryChanges } from '../core/policy/cases/cases.ts';
import { classify } from '../core/policy/classify.ts';
import type { Benchmark } from './lib/benchmark.ts';
import { summarise } from './lib/stats.ts';

const YARDSTICK = Buffer.alloc(64 * 1024, 7);

/** The classification of one command, over every command of the case lists. */
export const classifyBench: Benchmark = {
  id: 'B8',
  title: 'classification of one command',
  async run({ quick }) {
    const commands = [
      ...new Set([
        ...(['reading', 'changing', 'destroying'] as const).flatMap(cases),
        ...ordinaryChanges(),
      ]),
    ];
    const times: number[] = [];
    const hash: number[] = [];
    for (let round = -1; round < (quick ? 1 : 5); round++) {
      for (const command of commands) {
        const from = performance.now();
        classify(command);
        const between = performance.now();
        createHash('sha256').update(YARDSTICK).digest();
        const to = performance.now();
        if (round < 0) continue;
        times.push(between - from);
        hash.push(to - between);
      }
    }
    const sides = { classify: summarise(times), 'SHA-256 of 64 KiB': summarise(hash) };
    return [
      {
        name: `95th percentile over ${commands.length} commands`,
        value: sides.classify.p95,
        unit: 'ms',
        goal: { atMost: 1 },
        sides,
      },
      {
        name: 'median, over the SHA-256 of 64 KiB',
        value: sides.classify.median / sides['SHA-256 of 64 KiB'].median,
        unit: '×',
      },
    ];
  },
};
