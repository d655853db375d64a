import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunEnd } from '../../core/executions/ports.ts';
import { runExecution } from '../../core/executions/run.ts';
import { asId, type ExecutionId } from '../../core/ids.ts';
import { CoreWorld } from '../support/core-world.ts';

const NOTHING = { bytes: new Uint8Array(), totalBytes: 0, droppedBytes: 0, gapAt: undefined };
const DONE: RunEnd = {
  kind: 'exited',
  exitCode: 0,
  stdout: NOTHING,
  stderr: NOTHING,
  durationMs: 1,
  shell: 'sh',
};

let world: CoreWorld;
beforeEach(async () => (world = await CoreWorld.open()));
afterEach(() => world[Symbol.asyncDispose]());

test('R13: an execution that has ended leaves nothing on the signals of its process', async () => {
  const task = await world.task();
  const shutdown = new AbortController();
  const cancels: AbortSignal[] = [];
  const during: number[] = [];
  const listeners = (): number => getEventListeners(shutdown.signal, 'abort').length;
  for (const command of ['uptime', 'uname -a', 'df']) {
    const outcome = await world.request(task, 'host:a', command);
    await runExecution(
      {
        database: world.database,
        feed: await world.feed(),
        runner: {
          run: async ({ signal }) => {
            during.push(listeners());
            if (signal !== undefined) cancels.push(signal);
            return DONE;
          },
          reattach: async () => DONE,
          cancel: async () => ({ kind: 'never_started' }),
          close: async () => {},
        },
        mask: (text) => text,
        owner: 'worker',
        shutdown: shutdown.signal,
      },
      asId<ExecutionId>(outcome.executionId),
    );
  }
  // While it runs it does listen, or this would prove nothing.
  expect(during).toEqual([1, 1, 1]);
  expect(listeners()).toBe(0);
  expect(cancels.map((signal) => getEventListeners(signal, 'abort').length)).toEqual([0, 0, 0]);
});
