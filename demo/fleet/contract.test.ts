import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createRemoteRunner } from '../../core/executions/remote/runner.ts';
import type { RunRequest } from '../../core/executions/ports.ts';
import { ran, testFleet } from './test-support/client.ts';
import type { TestFleet } from './test-support/client.ts';

// The demo fleet plays the part of a target. These tests hold it to what the program's own runner expects of one; that the runner itself
// is right is tested against a real SSH server elsewhere.
describe('the demo fleet keeps the contract of the remote wrapper', { timeout: 60_000 }, () => {
  let t: TestFleet;
  beforeAll(async () => {
    t = await testFleet();
  }, 60_000);
  afterAll(() => t.end());

  const dns = { name: 'dns', pveId: 101 };

  it.each(['read', 'change'] as const)(
    'a %s has its outputs apart and its own exit code',
    async (kind) => {
      const result = await t.run('web-1', 'hostname; echo wrong >&2; exit 3', { kind });
      expect(result).toMatchObject({ stdout: 'web-1\n', stderr: 'wrong\n', exitCode: 3 });
    },
  );

  it('quoting, newlines and other alphabets arrive as they were', async () => {
    const command = `printf '%s\\n' "it's" 'a "b" \\c $HOME'\necho 'grüße 日本'`;
    const { stdout } = await t.run('web-1', command);
    expect(stdout).toBe(`it's\na "b" \\c $HOME\ngrüße 日本\n`);
  });

  it('an id runs once; a second start follows the first', async () => {
    const executionId = randomUUID();
    const command = 'echo x >> /root/runs; wc -l < /root/runs';
    expect((await t.run('web-1', command, { executionId })).stdout).toBe('1\n');
    expect((await t.run('web-1', command, { executionId })).stdout).toBe('1\n');
    expect((await t.run('web-1', 'cat /root/runs')).stdout).toBe('x\n');
  });

  it('a change goes on when its connection closes, and can be followed from its first byte', async () => {
    const executionId = randomUUID();
    const request: RunRequest = {
      executionId,
      target: t.target('db-1'),
      command: 'echo first; sleep 1; echo last; echo done > /root/done',
      kind: 'change',
      timeoutMs: 20_000,
    };
    const other = runnerFor(t);
    const started = Promise.withResolvers<void>();
    const first = other.run({ ...request, onOutput: () => started.resolve() });
    await started.promise;
    await other.close();
    expect((await first).kind).toBe('connection_lost');

    const again = ran(await t.runner.reattach(request));
    expect(again).toMatchObject({ stdout: 'first\nlast\n', exitCode: 0 });
    expect((await t.run('db-1', 'cat /root/done')).stdout).toBe('done\n');
  });

  it('A16: a change starts only while the files that are fixed are what they were', async () => {
    await t.run('web-1', "printf 'echo one\\n' > /root/job.sh");
    const { stdout } = await t.run('web-1', 'sha256sum /root/job.sh');
    const fixed = [{ path: 'job.sh', sha256: stdout.slice(0, 64) }];
    expect((await t.run('web-1', 'bash job.sh', { fixed })).stdout).toBe('one\n');
    await t.run('web-1', "printf 'echo two\\n' > /root/job.sh");
    expect((await t.run('web-1', 'bash job.sh', { fixed })).end).toMatchObject({
      kind: 'not_started',
      error: {
        code: 'ssh_script_changed',
        message: expect.stringContaining('job.sh on host:web-1'),
      },
    });
  });

  it('to follow an id that never started proves that it never will', async () => {
    const executionId = randomUUID();
    const request: RunRequest = {
      executionId,
      target: t.target('web-1'),
      command: 'touch /root/never',
      kind: 'change',
      timeoutMs: 5_000,
    };
    expect((await t.runner.reattach(request)).kind).toBe('not_started');
    expect((await t.runner.run(request)).kind).toBe('not_started');
    expect((await t.run('web-1', 'ls /root/never')).exitCode).not.toBe(0);
  });

  it('cancel ends what runs, tells the end of what ended, and keeps the rest from starting', async () => {
    const executionId = randomUUID();
    const stop = new AbortController();
    const command = 'echo begun; sleep 60; touch /root/too-late';
    const running = t.run('web-1', command, {
      executionId,
      signal: stop.signal,
      onOutput: () => stop.abort(),
    });
    expect(await running).toMatchObject({
      stdout: 'begun\n',
      end: { kind: 'cancelled', groupGone: true },
    });
    expect(await t.runner.cancel(executionId, t.target('web-1'))).toMatchObject({
      kind: 'ended',
      by: 'cancel',
    });
    expect(await t.runner.cancel(randomUUID(), t.target('web-1'))).toEqual({
      kind: 'never_started',
    });
    expect((await t.run('web-1', 'ls /root/too-late')).exitCode).not.toBe(0);
  });

  it.each(['read', 'change'] as const)('a %s ends at its time limit', async (kind) => {
    const { end, stdout } = await t.run('web-1', 'echo a; sleep 60', { kind, timeoutMs: 300 });
    expect(end.kind).toBe('timed_out');
    expect(stdout).toBe('a\n');
  });

  it('a read ends when it is cancelled', async () => {
    const stop = new AbortController();
    const { end } = await t.run('web-1', 'echo a; sleep 60', {
      kind: 'read',
      signal: stop.signal,
      onOutput: () => stop.abort(),
    });
    expect(end.kind).toBe('cancelled');
  });

  it.each(['read', 'change'] as const)(
    'X6: a %s enters a container by its number',
    async (kind) => {
      const target = t.target('pve-1', dns);
      const result = await t.run('pve-1', 'hostname; exit 4', { kind, target });
      expect(result).toMatchObject({ stdout: 'dns\n', exitCode: 4 });
    },
  );

  it.each([
    ['pve-1', { name: 'old-wiki', pveId: 105 }, "container '105' not running!"],
    ['pve-1', { name: 'nobody', pveId: 999 }, "'nodes/pve-1/lxc/999.conf' does not exist"],
    ['web-1', dns, 'pct: command not found'],
  ] as const)('X12: on %s container %o runs nothing', async (host, container, words) => {
    const { end } = await t.run(host, 'hostname', { target: t.target(host, container) });
    expect(end.kind).toBe('not_started');
    expect(JSON.stringify(end, ['error', 'message'])).toContain('did not run');
    expect(end.kind === 'not_started' && end.error.message).toContain(words);
  });

  it('a reboot leaves the outcome of what ran unknown, and the machine comes back another', async () => {
    const executionId = randomUUID();
    const boot = 'cat /proc/sys/kernel/random/boot_id';
    const before = await t.run('nas-1', boot);
    const command = 'echo begun; sleep 60';
    const request = { executionId, command, timeoutMs: 60_000, kind: 'change' as const };
    const started = Promise.withResolvers<void>();
    const running = t.run('nas-1', command, { executionId, onOutput: () => started.resolve() });
    await started.promise;
    await t.run('nas-1', 'reboot');
    expect((await running).end.kind).toBe('connection_lost');

    await vi.waitFor(
      async () => expect((await t.run('nas-1', 'uptime')).stdout).toContain('up 0 min'),
      { timeout: 10_000, interval: 100 },
    );
    expect((await t.run('nas-1', boot)).stdout).not.toBe(before.stdout);
    const end = await t.runner.reattach({ ...request, target: t.target('nas-1') });
    expect(end).toMatchObject({ kind: 'unknown', alive: false });
  });
});

function runnerFor(t: TestFleet): ReturnType<typeof createRemoteRunner> {
  return createRemoteRunner({
    credentials: { keyFile: t.fleet.privateKeyPath },
    knownHostsFile: t.fleet.knownHostsPath,
    hostKeys: { get: () => Promise.resolve(null), pin: () => Promise.resolve() },
  });
}
