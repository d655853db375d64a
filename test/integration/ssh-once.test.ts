import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  writeSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RemoteRunner, RunRequest } from '../../core/executions/ports.ts';
import { newId } from '../../core/ids.ts';
import { request, runnerFor, sleepMark, told, until, watched } from '../support/remote.ts';
import { findSshd, runningWith, TestSshd } from '../support/sshd.ts';

const noSshd = findSshd() === undefined;
const noMount = mountMissing();

describe.skipIf(noSshd)(`at most once${noSshd ? ' (skipped: sshd is not installed)' : ''}`, () => {
  let server: TestSshd;
  let runner: RemoteRunner;
  let runners: RemoteRunner[];

  const another = (options: Parameters<typeof runnerFor>[1] = {}): RemoteRunner => {
    const made = runnerFor(server, options);
    runners.push(made);
    return made;
  };
  const file = (name: string): string => path.join(server.home, name);
  const lines = (name: string): number =>
    existsSync(file(name)) ? readFileSync(file(name), 'utf8').trim().split('\n').length : 0;
  const folder = (id: string): string => path.join(server.state, id);

  beforeEach(async () => {
    server = await TestSshd.start();
    runners = [];
    runner = another();
  });
  afterEach(async () => {
    await Promise.all(runners.map((one) => one.close()));
    await server.stop();
  });

  test('R2, X7: an id that several workers start at the same time runs once, and all are told the same', async () => {
    const wanted = request(server, 'echo x >>runs; sleep 0.3; echo done; exit 5');
    const ends = await Promise.all([1, 2, 3, 4, 5, 6].map(() => another().run(wanted)));
    expect(lines('runs')).toBe(1);
    for (const end of ends)
      expect(told(end)).toEqual({ kind: 'exited', stdout: 'done\n', stderr: '', exitCode: 5 });
    const later = await another().run(wanted);
    expect(told(later)).toEqual({ kind: 'exited', stdout: 'done\n', stderr: '', exitCode: 5 });
    expect(lines('runs')).toBe(1);
  });

  test('X7: sshd dies in the middle; the command runs on and is followed to its end afterwards', async () => {
    const { request: wanted, seen } = watched(
      request(
        server,
        'echo x >>runs; echo begun; while [ ! -e go-on ]; do sleep 0.05; done; echo rest; exit 3',
      ),
      'begun',
    );
    const running = runner.run(wanted);
    await seen;
    await server.crash();
    expect(await running).toMatchObject({
      kind: 'connection_lost',
      error: { code: 'ssh_connection_lost' },
    });
    await server.listen();
    const again = runner.reattach(wanted);
    writeFileSync(file('go-on'), '');
    expect(told(await again)).toEqual({
      kind: 'exited',
      stdout: 'begun\nrest\n',
      stderr: '',
      exitCode: 3,
    });
    expect(lines('runs')).toBe(1);
  });

  test('X7: the command ends while its host cannot be reached; the re-attachment keeps trying and reads its end', async () => {
    const { request: wanted, seen } = watched(
      request(
        server,
        'echo begun; while [ ! -e go-on ]; do sleep 0.05; done; echo rest >&2; echo end >ended',
      ),
      'begun',
    );
    const running = runner.run(wanted);
    await seen;
    await server.crash();
    expect((await running).kind).toBe('connection_lost');
    const again = another().reattach(wanted);
    writeFileSync(file('go-on'), '');
    await until('the command ends by itself', () => existsSync(file('ended')));
    await server.listen();
    expect(told(await again)).toEqual({
      kind: 'exited',
      stdout: 'begun\n',
      stderr: 'rest\n',
      exitCode: 0,
    });
  });

  test('R2: a re-attachment to an id that never started gives it up for good', async () => {
    const wanted = request(server, 'echo x >>runs');
    const first = await another().reattach(wanted);
    expect(first).toMatchObject({ kind: 'not_started', error: { code: 'ssh_never_started' } });
    expect(await runner.run(wanted)).toMatchObject({
      kind: 'not_started',
      error: { code: 'ssh_never_started' },
    });
    expect(await another().cancel(wanted.executionId, wanted.target)).toEqual({
      kind: 'never_started',
    });
    expect(lines('runs')).toBe(0);
  });

  test('R2: a start and a re-attachment that race end in one truth: it ran once, or never', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 12 }, async (_, i) => {
        const wanted = request(server, `echo x >>runs-${i}`);
        const [started, attached] = await Promise.all([
          runner.run(wanted),
          runner.reattach(wanted),
        ]);
        expect(attached.kind).toBe(started.kind);
        expect(lines(`runs-${i}`)).toBe(started.kind === 'exited' ? 1 : 0);
        return started.kind;
      }),
    );
    for (const kind of outcomes) expect(['exited', 'not_started']).toContain(kind);
  });

  test('X5: the abort signal ends the whole group, also what ignores TERM, and the run says so', async () => {
    const mark = sleepMark();
    const abort = new AbortController();
    const { request: wanted, seen } = watched(
      request(
        server,
        `trap "" TERM; sh -c 'trap "" TERM; sleep ${mark} & sleep ${mark}' & echo begun; sleep ${mark}; sleep ${mark}`,
        { signal: abort.signal },
      ),
      'begun',
    );
    const running = runner.run(wanted);
    await seen;
    abort.abort();
    const end = await running;
    expect(end).toMatchObject({ kind: 'cancelled', groupGone: true, started: true });
    expect(told(end).stdout).toBe('begun\n');
    expect(runningWith(`sleep ${mark}`)).toBe(0);
  });

  test('X5: another worker cancels by id; both are told the same end', async () => {
    const mark = sleepMark();
    const { request: wanted, seen } = watched(
      request(server, `echo begun; sleep ${mark}`),
      'begun',
    );
    const running = runner.run(wanted);
    await seen;
    expect(await another().cancel(wanted.executionId, wanted.target)).toMatchObject({
      kind: 'ended',
      by: 'cancel',
      groupGone: true,
    });
    expect(await running).toMatchObject({ kind: 'cancelled', groupGone: true });
    expect(await runner.cancel(wanted.executionId, wanted.target)).toMatchObject({
      kind: 'ended',
      by: 'cancel',
    });
    expect(runningWith(`sleep ${mark}`)).toBe(0);
  });

  test('X5: what ended by itself stays as it ended, however late a cancellation comes', async () => {
    const wanted = request(server, 'exit 6');
    await runner.run(wanted);
    expect(await runner.cancel(wanted.executionId, wanted.target)).toMatchObject({
      kind: 'ended',
      by: 'exit',
      exitCode: 6,
    });
  });

  test('X5: a command that still waits for its turn is cancelled without being sent, and a full host can be cancelled on', async () => {
    const narrow = another({ limits: { channelsPerConnection: 1, connectionsPerHost: 1 } });
    const blocking = new AbortController();
    const { request: first, seen } = watched(
      request(server, `echo begun; sleep ${sleepMark()}`, { signal: blocking.signal }),
      'begun',
    );
    const running = narrow.run(first);
    await seen;
    const abort = new AbortController();
    const second = narrow.run(request(server, 'echo x >>runs', { signal: abort.signal }));
    const third = narrow.run(
      request(server, 'echo x >>runs', { kind: 'read', signal: abort.signal }),
    );
    abort.abort();
    expect(await second).toMatchObject({ kind: 'cancelled', started: false });
    expect(await third).toMatchObject({ kind: 'cancelled', started: false });
    blocking.abort();
    expect(await running).toMatchObject({ kind: 'cancelled', started: true, groupGone: true });
    expect(lines('runs')).toBe(0);
  });

  test('X5: without any worker the target itself ends a command at its time limit', async () => {
    const mark = sleepMark();
    const { request: wanted, seen } = watched(
      request(server, `echo begun; sleep ${mark} & sleep ${mark}`, { timeoutMs: 1_000 }),
      'begun',
    );
    const running = runner.run(wanted);
    await seen;
    await runner.close();
    expect((await running).kind).toBe('connection_lost');
    await until('the target ends it', () =>
      existsSync(path.join(folder(wanted.executionId), 'exit')),
    );
    expect(runningWith(`sleep ${mark}`)).toBe(0);
    expect(await another().reattach(wanted)).toMatchObject({ kind: 'timed_out', groupGone: true });
  });

  test('X3: a link that is silently dead is found by the keepalive', async () => {
    const quick = another({ keepaliveIntervalMs: 100 });
    const { request: wanted, seen } = watched(
      request(server, 'echo begun; while [ ! -e go-on ]; do sleep 0.05; done'),
      'begun',
    );
    const running = quick.run(wanted);
    await seen;
    server.signalSessions('SIGSTOP');
    // The target says nothing any more, and the command would wait for ever: only the keepalive can end this.
    expect((await running).kind).toBe('connection_lost');
    server.signalSessions('SIGKILL');
    writeFileSync(file('go-on'), '');
    expect(told(await quick.reattach(wanted))).toMatchObject({
      kind: 'exited',
      stdout: 'begun\n',
      exitCode: 0,
    });
  });

  test('X7: a read ends with its connection and is not left running', async () => {
    const mark = sleepMark();
    const { request: wanted, seen } = watched(
      request(server, `echo begun; sleep ${mark} & sleep ${mark}`, { kind: 'read' }),
      'begun',
    );
    const running = runner.run(wanted);
    await seen;
    await server.crash();
    expect((await running).kind).toBe('connection_lost');
    await until('the target ends the read', () => runningWith(`sleep ${mark}`) === 0);
    await server.listen();
    expect(await runner.reattach(wanted)).toMatchObject({
      kind: 'unknown',
      reason: expect.stringContaining('made again'),
    });
  });

  test('R6: what watches the command is killed: the outcome is unknown, what is left is told, and can be cancelled', async () => {
    const mark = sleepMark();
    const { request: wanted, seen } = watched(
      request(server, `echo begun; sleep ${mark}`),
      'begun',
    );
    const running = runner.run(wanted);
    await seen;
    await killSupervisor(wanted);
    const end = await running;
    expect(end).toMatchObject({
      kind: 'unknown',
      alive: true,
      reason: expect.stringContaining('still run'),
    });
    expect(told(end).stdout).toBe('begun\n');
    expect(await another().reattach(wanted)).toMatchObject({ kind: 'unknown', alive: true });
    expect(await another().cancel(wanted.executionId, wanted.target)).toMatchObject({
      kind: 'unknown',
      alive: false,
    });
    expect(runningWith(`sleep ${mark}`)).toBe(0);
  });

  test('R6: a target that tells no end is not waited for for ever, and tells it later', async () => {
    const impatient = another({ graceMs: 100, slackMs: 300, reattachForMs: 500 });
    const mark = sleepMark();
    const { request: wanted, seen } = watched(
      request(server, `echo begun; sleep ${mark}`, { timeoutMs: 400 }),
      'begun',
    );
    const running = impatient.run(wanted);
    await seen;
    signalSupervisor(wanted, 'SIGSTOP');
    expect(await running).toMatchObject({ kind: 'connection_lost' });
    signalSupervisor(wanted, 'SIGCONT');
    const end = await another().reattach(wanted);
    expect(['timed_out', 'cancelled']).toContain(end.kind);
    expect(end).toMatchObject({ groupGone: true });
    expect(runningWith(`sleep ${mark}`)).toBe(0);
  });

  test('R6: the target was restarted while it ran: the outcome is unknown', async () => {
    const mark = sleepMark();
    const { request: wanted, seen } = watched(
      request(server, `echo begun; sleep ${mark}`),
      'begun',
    );
    const running = runner.run(wanted);
    await seen;
    // A restart takes all processes and changes the boot id.
    writeFileSync(
      path.join(folder(wanted.executionId), 'meta'),
      'bash 00000000-0000-0000-0000-000000000000\n',
    );
    await server.crash();
    await running;
    await killSupervisor(wanted);
    await server.listen();
    const end = await another().reattach(wanted);
    expect(end).toMatchObject({
      kind: 'unknown',
      alive: false,
      reason: expect.stringContaining('restarted'),
    });
    expect(told(end).stdout).toBe('begun\n');
  });

  test.each([
    ['remote.start', 0, 'not_started'],
    ['remote.started', 1, 'exited'],
  ])(
    'R2, R6: the worker is killed at %s: the command ran %i times and its end is known',
    async (point, times, kind) => {
      const id = newId();
      const worker = spawn(
        process.execPath,
        [fileURLToPath(new URL('../support/remote-worker.ts', import.meta.url))],
        {
          env: {
            ...process.env,
            NOMOS_FAULT_KILL: point,
            WORKER: JSON.stringify({
              endpoint: server.endpoint,
              keyFile: server.keyFile,
              id,
              command: 'echo x >>runs; sleep 0.2; echo done',
            }),
          },
          stdio: ['ignore', 'inherit', 'inherit'],
        },
      );
      const [, signal] = await once(worker, 'exit');
      expect(signal).toBe('SIGKILL');
      const end = await another().reattach({ ...request(server, ''), executionId: id });
      expect(end.kind).toBe(kind);
      expect(lines('runs')).toBe(times);
    },
  );

  test('X4: a command that prints for ever fills no disk', async () => {
    const wanted = request(server, 'head -c 67108864 /dev/zero; head -c 67108864 /dev/zero >&2');
    const end = await runner.run(wanted);
    expect(end).toMatchObject({
      kind: 'exited',
      exitCode: 0,
      stdout: { totalBytes: 67_108_864 },
      stderr: { totalBytes: 67_108_864 },
    });
    let bytes = 0;
    for (const name of readdirSync(folder(wanted.executionId)))
      bytes += statSync(path.join(folder(wanted.executionId), name)).size;
    expect(bytes).toBeLessThan(18 * 1024 * 1024);
  });

  describe.skipIf(noMount !== undefined)(
    `a full disk${noMount === undefined ? '' : ` (skipped: ${noMount})`}`,
    () => {
      let disk: string;
      beforeEach(() => {
        disk = path.dirname(server.state);
        mkdirSync(disk, { recursive: true });
        execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'none', disk]);
      });
      afterEach(() => {
        execFileSync('umount', ['-l', disk]);
      });

      test('R6: before the start: nothing runs, also not later', async () => {
        await runner.run(request(server, 'true'));
        fill(path.join(disk, 'full'));
        const wanted = request(server, 'echo x >>runs');
        expect(await runner.run(wanted)).toMatchObject({
          kind: 'not_started',
          error: {
            code: 'ssh_target_unfit',
            message: expect.stringContaining('is the disk full?'),
          },
        });
        rmSync(path.join(disk, 'full'));
        expect(await runner.run(wanted)).toMatchObject({
          kind: 'not_started',
          error: { code: 'ssh_never_started' },
        });
        expect(lines('runs')).toBe(0);
      });

      test('R6, X4: filled by the command itself: its end is known, and what could not be kept of its output is told', async () => {
        const end = await runner.run(
          request(
            server,
            `dd if=/dev/zero of=${disk}/full bs=64k 2>/dev/null; head -c 100000 /dev/zero; echo late >&2; exit 4`,
          ),
        );
        expect(end).toMatchObject({
          kind: 'exited',
          exitCode: 4,
          stdout: { totalBytes: 100_000 },
          stderr: { totalBytes: 5 },
        });
        if (end.kind === 'exited')
          expect(end.stdout.droppedBytes).toBe(100_000 - end.stdout.bytes.length);
      });
    },
  );

  test('X7: the state directory is private, and what is older than a week goes', async () => {
    await runner.run(request(server, 'true'));
    expect(statSync(server.state).mode & 0o777).toBe(0o700);
    const old = folder(newId());
    const recent = folder(newId());
    for (const [dir, days] of [
      [old, 9],
      [recent, 5],
    ] as const) {
      mkdirSync(dir);
      utimesSync(dir, Date.now() / 1000 - days * 86_400, Date.now() / 1000 - days * 86_400);
    }
    const wanted = request(server, 'true');
    await runner.run(wanted);
    await until('the old one goes', () => !existsSync(old));
    expect(existsSync(recent)).toBe(true);
    expect(existsSync(folder(wanted.executionId))).toBe(true);
  });

  // The supervisor and its helpers are told so in their command line, with the id.
  function signalSupervisor(wanted: RunRequest, signal: NodeJS.Signals): void {
    for (const entry of readdirSync('/proc')) {
      if (!/^[0-9]+$/.test(entry) || !existsSync(`/proc/${entry}/cmdline`)) continue;
      const words = readFileSync(`/proc/${entry}/cmdline`, 'latin1').split('\0');
      if (words.includes('supervise') && words.includes(wanted.executionId))
        process.kill(Number(entry), signal);
    }
  }

  async function killSupervisor(wanted: RunRequest): Promise<void> {
    signalSupervisor(wanted, 'SIGKILL');
    await until(
      'the supervisor is gone',
      () => runningWith(`supervise ${wanted.executionId}`) === 0,
    );
  }
});

// Takes the last byte of a small file system.
function fill(file: string): void {
  const handle = openSync(file, 'w');
  try {
    for (;;) writeSync(handle, Buffer.alloc(4096));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
  } finally {
    closeSync(handle);
  }
}

function mountMissing(): string | undefined {
  const dir = mkdtempSync(path.join(tmpdir(), 'nomos-mount-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'none', dir], { stdio: 'ignore' });
    execFileSync('umount', [dir]);
    return undefined;
  } catch {
    return 'a small file system can be mounted by root only';
  } finally {
    rmSync(dir, { recursive: true });
  }
}
