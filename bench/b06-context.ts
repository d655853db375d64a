import { estimateTokens } from '../core/agent/window.ts';
import type { ModelMessage } from '../core/agent/model/types.ts';
import { receiveMessage } from '../core/tasks/messages.ts';
import { agentBench, ANN } from '../test/support/agent-bench.ts';
import type { AskedRequest, Step } from '../test/support/scripted-model.ts';
import type { Benchmark } from './lib/benchmark.ts';
import { quantile, summarise } from './lib/stats.ts';

/** Tokens sent per pass late in a task against early in it; each turn reads something on a host and answers. */
export const contextBench: Benchmark = {
  id: 'B6',
  title: 'tokens sent per pass in a long task',
  async run({ quick, say }) {
    const [early, late] = quick ? [10, 30] : [50, 500];
    const script: Step[] = [
      { toolCalls: [{ name: 'set_goal', arguments: { goal: 'The disks are watched' } }] },
      ...Array.from({ length: late }, (_, turn) => [
        look(turn),
        { text: `Turn ${turn}: disk ${turn % 7} is well, 61 % in use.` },
      ]).flat(),
    ];
    const bench = await agentBench(
      (command) => ({ stdout: `${command}\n${'/dev/sda1  100G  61G  39G  61% /\n'.repeat(12)}` }),
      ...script,
    );
    try {
      const task = await bench.open('Watch the disks of web-1, and tell me of each what you see.');
      const sent: number[] = [];
      for (let turn = 0; turn < late; turn++) {
        if (turn > 0)
          await bench.database.write((unit) =>
            receiveMessage(unit, { ...task, text: `And now disk ${turn % 7}?`, sender: ANN }),
          );
        const from = bench.model.requests.length;
        await bench.pass(task.sessionId);
        const requests = bench.model.requests.splice(from);
        sent.push(requests.reduce((sum, request) => sum + tokensOf(request), 0));
        if (turn % 100 === 99) say(`turn ${turn + 1}: about ${sent.at(-1)} tokens`);
      }
      const reach = quick ? 5 : 10;
      // Around each, since what gives way gives way in steps.
      const around = (turn: number): number[] => sent.slice(turn - reach, turn + reach);
      const sides = { early: summarise(around(early)), late: summarise(around(late)) };
      return [
        {
          name: `turn ${late}, over turn ${early}`,
          value: quantile(around(late), 0.5) / quantile(around(early), 0.5),
          unit: '×',
          goal: { atMost: 1.2 },
          sides,
        },
      ];
    } finally {
      await bench.close();
    }
  },
};

const look = (turn: number): Step => ({
  toolCalls: [
    {
      name: 'run',
      arguments: {
        target: 'web-1',
        command: `df -h /disk${turn % 7}`,
        purpose: `look at disk ${turn % 7}`,
      },
    },
  ],
});

// By the same estimate as the program's, over all that is sent: messages and tools.
function tokensOf({ messages, tools }: AskedRequest): number {
  const asModelMessages = messages.map((message) => ({
    ...message,
    content: message.content ?? '',
    ...(message.tool_calls === undefined
      ? {}
      : {
          toolCalls: message.tool_calls.map(({ id, function: called }) => ({ id, ...called })),
        }),
  }));
  return (
    estimateTokens(asModelMessages as unknown as ModelMessage[]) +
    Math.ceil(JSON.stringify(tools ?? []).length / 4)
  );
}
