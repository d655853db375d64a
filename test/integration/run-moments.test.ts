import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { claimExecution } from '../../core/executions/claim.ts';
import { createMasker } from '../../core/executions/masking/masker.ts';
import type { RemoteRunner, RunEnd, RunRequest } from '../../core/executions/ports.ts';
import { resumeExecution, runExecution, type RunDeps } from '../../core/executions/run.ts';
import { SshError } from '../../core/executions/ssh/errors.ts';
import { asId, type ExecutionId } from '../../core/ids.ts';
import { setLease } from '../../core/leases.ts';
import { CoreWorld } from '../support/core-world.ts';

const NOTHING = { bytes: new Uint8Array(), totalBytes: 0, droppedBytes: 0, gapAt: undefined };
const lost = (more: Partial<Extract<RunEnd, { kind: 'connection_lost' }>> = {}): RunEnd => ({
  kind: 'connection_lost',
  error: new SshError('ssh_connection_lost', 'lost'),
  ...{ stdout: NOTHING, stderr: NOTHING, durationMs: 1, shell: 'sh' },
  ...more,
});
const NEVER: RunEnd = { kind: 'not_started', error: new SshError('ssh_never_started', 'never') };
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

let world: CoreWorld;
beforeEach(async () => (world = await CoreWorld.open()));
afterEach(async () => {
  vi.restoreAllMocks();
  setLease(30_000);
  await world[Symbol.asyncDispose]();
});

async function deps(runner: Partial<RemoteRunner>, owner = 'worker'): Promise<RunDeps> {
  return {
    database: world.database,
    feed: await world.feed(),
    runner: {
      run: async () => lost(),
      reattach: async () => lost(),
      cancel: async () => ({ kind: 'never_started' }),
      close: async () => {},
      ...runner,
    },
    mask: createMasker([]).mask,
    owner,
    shutdown: new AbortController().signal,
  };
}

/** A change that may run now. */
async function change(command = 'touch /tmp/x'): Promise<ExecutionId> {
  const asked = await world.request(await world.task(), 'host:a', command);
  const id = asId<ExecutionId>(asked.executionId);
  const row = await world.database.read.execution.findUniqueOrThrow({ where: { id } });
  expect(row.risk).not.toBe('read_only');
  const approvalId = row.approvalId ?? '';
  await world.database.read.approval.update({
    where: { id: approvalId },
    data: { status: 'approved' },
  });
  await world.database.read.execution.update({
    where: { id },
    data: { status: 'queued', allowedBy: 'approval', queuedAt: new Date() },
  });
  return id;
}
const stored = async (id: ExecutionId) =>
  world.database.read.execution.findUniqueOrThrow({ where: { id } });

test('R6: a change whose host dies near its time limit is waited for until 5 minutes after that, not as long again', async () => {
  const id = await change();
  const { timeoutMs } = await stored(id);
  let ahead = 0;
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + ahead);
  const asked: RunRequest[] = [];
  await runExecution(
    await deps({
      run: async () => {
        ahead += timeoutMs - 60_000;
        return lost({ durationMs: timeoutMs - 60_000 });
      },
      reattach: async (request) => {
        asked.push(request);
        ahead += 7 * 60_000;
        return lost();
      },
    }),
    id,
  );
  expect((await stored(id)).status).toBe('unknown');
  expect(asked.length).toBe(1);
});

test('X7: what began and is not known on its target any more (a container that was rolled back) ends as unknown, not as never started', async () => {
  const id = await change();
  await runExecution(await deps({ run: async () => lost(), reattach: async () => NEVER }), id);
  expect(await stored(id)).toMatchObject({ status: 'unknown', errorCode: 'outcome_unknown' });
});

test('X7: the same where another worker had seen its output', async () => {
  const id = await change();
  expect((await claimExecution(world.database, id, 'dead')).kind).toBe('claimed');
  await world.database.read.execution.update({
    where: { id },
    data: { tail: 'begun', leaseUntil: new Date(0) },
  });
  await resumeExecution(await deps({ reattach: async () => NEVER }), id);
  expect((await stored(id)).status).toBe('unknown');
});

test('X7: what never said anything and never started is told as never started', async () => {
  const id = await change();
  await runExecution(
    await deps({ run: async () => lost({ shell: undefined }), reattach: async () => NEVER }),
    id,
  );
  expect(await stored(id)).toMatchObject({ status: 'failed', errorCode: 'ssh_never_started' });
});

test('X9: a token at the start of what a re-attachment brings again is hidden, whatever stood unfinished before', async () => {
  const id = await change();
  const token = `ghp_${'a1B2c3D4'.repeat(5)}`;
  let tail = '';
  await runExecution(
    await deps({
      run: async ({ onOutput }) => {
        onOutput?.('stdout', bytes(`${token}\nworking`));
        return lost();
      },
      reattach: async ({ onOutput, onRestart }) => {
        onRestart?.();
        onOutput?.('stdout', bytes(`${token}\nworking on`));
        await new Promise((resolve) => setTimeout(resolve, 1_500));
        ({ tail } = await stored(id));
        return {
          kind: 'exited',
          exitCode: 0,
          stdout: NOTHING,
          stderr: NOTHING,
          durationMs: 1,
          shell: 'sh',
        };
      },
    }),
    id,
  );
  expect(tail).not.toContain('a1B2c3D4');
  expect(tail.match(/working/g)).toHaveLength(1);
});

test('X7: a read whose row another worker has taken is ended on its target, and not left running for nobody', async () => {
  setLease(300);
  const asked = await world.request(await world.task(), 'host:a', 'uptime');
  const id = asId<ExecutionId>(asked.executionId);
  let signal: AbortSignal | undefined;
  await runExecution(
    await deps({
      run: async (request) => {
        signal = request.signal;
        await world.database.read.execution.update({
          where: { id },
          data: { leaseOwner: 'other' },
        });
        return new Promise<RunEnd>(() => {});
      },
    }),
    id,
  );
  expect(signal?.aborted).toBe(true);
});

test.each([
  ['words', `${'word '.repeat(3_300)}the token is `],
  ['no space at all', '{"a":"b",'.repeat(1_900)],
])(
  'X9: what the other stream prints into a line of more than 16 KiB (%s) does not divide a token',
  async (_, before) => {
    const id = await change();
    const token = `ghp_${'a1B2c3D4'.repeat(5)}`;
    let tail = '';
    await runExecution(
      await deps({
        run: async ({ onOutput }) => {
          onOutput?.('stdout', bytes(`${before}${token.slice(0, 14)}`));
          onOutput?.('stderr', bytes('half done\n'));
          onOutput?.('stdout', bytes(`${token.slice(14)} and more\n`));
          await new Promise((resolve) => setTimeout(resolve, 1_500));
          ({ tail } = await stored(id));
          return {
            kind: 'exited',
            exitCode: 0,
            stdout: NOTHING,
            stderr: NOTHING,
            durationMs: 1,
            shell: 'sh',
          };
        },
      }),
      id,
    );
    expect(tail).toContain('and more');
    expect(tail).not.toContain(token.slice(14));
  },
);
