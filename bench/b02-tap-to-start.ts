import type { Benchmark } from './lib/benchmark.ts';
import { decisionTimes } from './lib/decisions.ts';
import { ratio, summarise } from './lib/stats.ts';

/** From ✅ to the command's start on the target, against a worker that polls every four seconds. */
export const tapToStartBench: Benchmark = {
  id: 'B2',
  title: 'from a tap to the command',
  async run(context) {
    const { tapToStart, polledStart } = await decisionTimes(context);
    const faster = ratio(polledStart, tapToStart);
    return [
      {
        name: 'polled, over ours from the tap',
        value: faster.value,
        unit: '×',
        goal: { atLeast: 40 },
        range: faster,
        sides: { ours: summarise(tapToStart), polled: summarise(polledStart) },
      },
      { name: 'from the tap to the start', value: summarise(tapToStart).median, unit: 'ms' },
    ];
  },
};
