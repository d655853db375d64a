import type { Benchmark } from './lib/benchmark.ts';
import { decisionTimes } from './lib/decisions.ts';
import { ratio, summarise } from './lib/stats.ts';

/** From the end of a command that nobody waits for to the model's next request, against a worker that polls every four seconds. */
export const endToModelBench: Benchmark = {
  id: 'B3',
  title: 'from the end of a command to the model',
  async run(context) {
    const { endToModel, polledModel } = await decisionTimes(context);
    const faster = ratio(polledModel, endToModel);
    return [
      {
        name: 'polled, over ours',
        value: faster.value,
        unit: '×',
        goal: { atLeast: 40 },
        range: faster,
        sides: { ours: summarise(endToModel), polled: summarise(polledModel) },
      },
      { name: 'from the end to the request', value: summarise(endToModel).median, unit: 'ms' },
    ];
  },
};
