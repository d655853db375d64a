import { afterAll, beforeAll, expect, test } from 'vitest';
import { claimExecution } from '../../core/executions/claim.ts';
import { finishExecution } from '../../core/executions/finish.ts';
import { createMasker } from '../../core/executions/masking/masker.ts';
import { OutputFollower } from '../../core/executions/output.ts';
import type { Captured, RunEnd } from '../../core/executions/ports.ts';
import { CoreWorld } from '../support/core-world.ts';

let world: CoreWorld;
beforeAll(async () => {
  world = await CoreWorld.open();
});
afterAll(async () => world[Symbol.asyncDispose]());

const TOKEN = `ghp_${'a1B2c3D4'.repeat(5)}`;

/** A running command whose output is followed; `shown` gives what its card shows once what was added has been stored. */
async function following(): Promise<{
  follower: OutputFollower;
  shown: () => Promise<string>;
}> {
  const task = await world.task();
  const asked = await world.request(task, 'host:a', 'uptime');
  const id = asked.executionId;
  expect((await claimExecution(world.database, id, 'worker')).kind).toBe('claimed');
  const feed = await world.feed();
  const follower = new OutputFollower(world.database, {
    id,
    owner: 'worker',
    mask: createMasker([]).mask,
  });
  return {
    follower,
    shown: async () => {
      const seen = await feed.waitFor(
        (event) => event.type === 'execution.output' && event.refId === id,
        async () =>
          (await world.database.read.event.count({
            where: { type: 'execution.output', refId: id },
          })) > 0 || undefined,
        { timeoutMs: 30_000 },
      );
      expect(seen).toBe(true);
      await follower.stop();
      const row = await world.database.read.execution.findUniqueOrThrow({ where: { id } });
      return row.tail;
    },
  };
}
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

test('X9, Z4: the beginning of a token whose rest has not arrived is not shown; whole lines are', async () => {
  const { follower, shown } = await following();
  follower.add('stdout', bytes(`starting\nthe token is ${TOKEN.slice(0, 14)}`));
  expect(await shown()).toBe('starting\nthe token is');
});

test('X9, Z4: what the other stream prints in the middle of a line does not divide a token', async () => {
  const { follower, shown } = await following();
  follower.add('stdout', bytes(`the token is ${TOKEN.slice(0, 14)}`));
  follower.add('stderr', bytes('a warning\n'));
  follower.add('stdout', bytes(`${TOKEN.slice(14)}\n`));
  const tail = await shown();
  expect(tail).toContain('a warning');
  expect(tail).toContain('the token is [masked]');
  expect(tail).not.toContain(TOKEN.slice(14, 30));
});

test('X9, Z4: a secret that is longer than what is kept is not shown from its middle on', async () => {
  const { follower, shown } = await following();
  follower.add('stdout', bytes(`API_KEY=${'x9Y8'.repeat(8_000)}`));
  follower.add('stdout', bytes(`${'x9Y8'.repeat(10)} and so on\n`));
  const tail = await shown();
  expect(tail).toContain('and so on');
  expect(tail).not.toContain('x9Y8x9Y8');
});

test('X9, Z4: colours inside a token hide it from nobody but the room', async () => {
  const { follower, shown } = await following();
  follower.add('stdout', bytes(`\u001b[31m${TOKEN.slice(0, 6)}\u001b[m${TOKEN.slice(6)}\ndone\n`));
  expect(await shown()).toBe('[masked]\ndone');
});

test('X9: colours inside a token do not hide it from the rules at the end either; other colours are kept', async () => {
  const task = await world.task();
  const asked = await world.request(task, 'host:a', 'hostname');
  const id = asked.executionId;
  await claimExecution(world.database, id, 'worker');
  const kept = (text: string): Captured => ({
    bytes: bytes(text),
    totalBytes: text.length,
    droppedBytes: 0,
    gapAt: undefined,
  });
  const end: RunEnd = {
    kind: 'exited',
    exitCode: 0,
    stdout: kept(`\u001b[31m${TOKEN.slice(0, 6)}\u001b[m${TOKEN.slice(6)}\n`),
    stderr: kept('\u001b[33mcareful\u001b[m\n'),
    durationMs: 1,
    shell: 'bash',
  };
  await finishExecution(world.database, {
    id,
    owner: 'worker',
    end,
    mask: createMasker([]).mask,
  });
  const row = await world.database.read.execution.findUniqueOrThrow({ where: { id } });
  expect(row).toMatchObject({ stdout: '[masked]\n', stderr: '\u001b[33mcareful\u001b[m\n' });
});
