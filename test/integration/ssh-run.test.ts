import { Buffer } from 'node:buffer';
import v8 from 'node:v8';
import vm from 'node:vm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CommandTarget, RemoteRunner } from '../../core/executions/ports.ts';
import {
  addBusyboxContainer,
  busyboxMissing,
  container,
  request,
  runnerFor,
  told,
} from '../support/remote.ts';
import { findSshd, TestSshd } from '../support/sshd.ts';

const noSshd = findSshd() === undefined;
const noBusybox = busyboxMissing();

describe.skipIf(noSshd)(
  `commands over a real sshd${noSshd ? ' (skipped: sshd is not installed)' : ''}`,
  () => {
    let server: TestSshd;
    let runner: RemoteRunner;

    beforeAll(async () => {
      server = await TestSshd.start();
      server.addContainer(101);
      if (noBusybox === undefined) addBusyboxContainer(server, 102);
      runner = runnerFor(server);
    });
    afterAll(async () => {
      await runner.close();
      await server.stop();
    });

    const places: {
      name: string;
      target: () => CommandTarget;
      shell: string;
      skip?: string | undefined;
    }[] = [
      { name: 'a host', target: () => ({ host: server.endpoint }), shell: 'bash' },
      { name: 'a container by pct exec', target: () => container(server, 101), shell: 'bash' },
      {
        name: 'a BusyBox container',
        target: () => container(server, 102),
        shell: 'sh',
        skip: noBusybox,
      },
    ];

    for (const { name, target, shell, skip } of places) {
      for (const kind of ['read', 'change'] as const) {
        describe.skipIf(skip !== undefined)(
          `${kind} on ${name}${skip === undefined ? '' : ` (skipped: ${skip})`}`,
          () => {
            const run = (command: string, timeoutMs = 30_000) =>
              runner.run(request(server, command, { kind, target: target(), timeoutMs }));

            test('X4: stdout and stderr come apart, with the exit code', async () => {
              const end = await run('echo out; echo err >&2; exit 7');
              expect(end).toMatchObject({ kind: 'exited', exitCode: 7, shell });
              expect(told(end)).toMatchObject({ stdout: 'out\n', stderr: 'err\n' });
            });

            test('X4: a silent command ends with empty output', async () => {
              expect(told(await run('true'))).toEqual({
                kind: 'exited',
                stdout: '',
                stderr: '',
                exitCode: 0,
              });
            });

            test('X4: every byte value arrives as it was written', async () => {
              const octal = Array.from(
                { length: 256 },
                (_, byte) => `\\${byte.toString(8).padStart(3, '0')}`,
              ).join('');
              const end = await run(`printf '${octal}'; printf '${octal}' >&2`);
              if (end.kind !== 'exited') throw new Error(end.kind);
              const all = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
              expect(Buffer.from(end.stdout.bytes).equals(all)).toBe(true);
              expect(Buffer.from(end.stderr.bytes).equals(all)).toBe(true);
            });

            test('X6, Z3: no quoting on the way changes a command', async () => {
              const nasty = [
                ...Array.from({ length: 127 }, (_, i) => String.fromCharCode(i + 1)),
                ...'\'"`$\\!~*?[]{}()<>|&;# \t',
                '$(id)',
                '`id`',
                "'\\''",
                '\\\\0',
                '\\n',
                '%s%n',
                '${HOME}',
                '!!',
                'EOF',
                '日本語 ümlaut \u{1f600} \u202e',
                "trailing'",
              ].join('');
              const end = await run(`cat <<'NOMOS_END'\n${nasty}\nNOMOS_END\n`);
              expect(told(end)).toEqual({
                kind: 'exited',
                stdout: `${nasty}\n`,
                stderr: '',
                exitCode: 0,
              });
            });

            test('X6: a command of 100,000 bytes arrives whole', async () => {
              const long = `'\\ $`.repeat(20_000);
              const end = await run(`cat <<'NOMOS_END' | wc -c\n${long}\nNOMOS_END`);
              expect(told(end).stdout.trim()).toBe(String(long.length + 1));
            });

            test('P2: the environment is pinned, there is no input and no terminal', async () => {
              const end = await run(
                'echo "$PAGER|$TERM|$LC_ALL|$GIT_PAGER|${NOMOS_STATE_DIR-unset}|${C-unset}|$-"; cat; test -t 1 || echo no terminal; pwd; echo $HOME',
              );
              const [first, tty, pwd, home] = told(end).stdout.split('\n');
              expect(first).toMatch(/^cat\|dumb\|C\.UTF-8\|cat\|unset\|unset\|[^i]*$/);
              expect(tty).toBe('no terminal');
              expect(pwd).toBe(home);
            });

            test('X4: a death by signal is told', async () => {
              expect(await run('kill -9 $$')).toMatchObject({
                kind: 'exited',
                exitCode: 137,
                signal: 'SIGKILL',
              });
            });

            test('X5: a time-out ends children and grandchildren, also those that ignore TERM, and proves it', async () => {
              const mark = `90${Math.floor(Math.random() * 1e6)}`;
              const end = await run(
                `trap "" TERM; echo begun; sh -c 'trap "" TERM; sleep ${mark} & sleep ${mark}' & sleep ${mark}; sleep ${mark}`,
                700,
              );
              expect(end).toMatchObject({ kind: 'timed_out', groupGone: true });
              expect(told(end).stdout).toBe('begun\n');
              expect(await sleepers(mark)).toBe('0');
            });

            test('X2: a command that leaves a child behind in the background ends with its own end', async () => {
              const started = Date.now();
              const end = await run('sleep 45 & echo parent; exit 4');
              expect(told(end)).toEqual({
                kind: 'exited',
                stdout: 'parent\n',
                stderr: '',
                exitCode: 4,
              });
              expect(Date.now() - started).toBeLessThan(40_000);
            });
          },
        );
      }
    }

    // Counts by name and argument in the process table of the machine, which all "hosts" share.
    async function sleepers(mark: string): Promise<string> {
      const end = await runner.run(
        request(server, `ps -eo args | grep -c "^sleep ${mark}$"`, { kind: 'read' }),
      );
      return told(end).stdout.trim();
    }

    test('X3: several commands share one connection', async () => {
      const alone = runnerFor(server);
      const before = server.connections();
      await alone.run(request(server, 'true', { kind: 'read' }));
      expect(server.connections() - before).toBe(1);
      const ends = await Promise.all(
        Array.from({ length: 8 }, () => alone.run(request(server, 'sleep 0.3', { kind: 'read' }))),
      );
      expect(ends.every((end) => end.kind === 'exited')).toBe(true);
      expect(server.connections() - before).toBe(1);
      await alone.close();
    });

    test('X2: a child that left the session and holds the output open keeps nobody waiting', async () => {
      for (const kind of ['read', 'change'] as const) {
        const started = Date.now();
        const end = await runner.run(request(server, 'setsid sleep 45 & echo parent', { kind }));
        expect(told(end)).toEqual({ kind: 'exited', stdout: 'parent\n', stderr: '', exitCode: 0 });
        expect(Date.now() - started).toBeLessThan(40_000);
      }
    });

    test('R13, X4: 100 MiB of output is counted, kept at both ends, and raises memory by less than 10 MiB', async () => {
      const runs = async (kind: 'read' | 'change'): Promise<void> => {
        const command = 'echo first; head -c 104857600 /dev/zero | tr "\\0" x; echo last';
        const end = await runner.run(request(server, command, { kind }));
        if (end.kind !== 'exited') throw new Error(end.kind);
        expect(end.stdout.totalBytes).toBe(104_857_600 + 11);
        expect(end.stdout.bytes.length).toBe(1024 * 1024);
        expect(end.stdout.droppedBytes).toBe(end.stdout.totalBytes - 1024 * 1024);
        expect(Buffer.from(end.stdout.bytes).toString().startsWith('first\nxxx')).toBe(true);
        expect(Buffer.from(end.stdout.bytes).toString().endsWith('xxxlast\n')).toBe(true);
      };
      // Once to fill pools and caches, then what a further one adds at its peak. A busy machine lets bytes wait
      // in the sockets, which passes; what we keep comes again each time. So the least of some peaks counts.
      await runs('read');
      await runs('change');
      for (const kind of ['read', 'change'] as const) {
        let least = Number.POSITIVE_INFINITY;
        for (let attempt = 0; attempt < 3 && least >= TEN_MIB; attempt += 1) {
          least = Math.min(least, await peakOver(() => runs(kind)));
        }
        expect(least).toBeLessThan(TEN_MIB);
      }
    }, 180_000);

    test('X6, X12: a container that is stopped is told, and nothing runs on its host instead', async () => {
      const end = await runner.run(
        request(server, 'touch ran-here', { target: container(server, 190) }),
      );
      expect(end).toMatchObject({ kind: 'not_started', error: { code: 'ssh_target_unfit' } });
      expect(
        told(await runner.run(request(server, 'ls -A', { kind: 'read' }))).stdout,
      ).not.toContain('ran-here');
    });

    test.each([
      ['', 'empty'],
      ['echo a\0b', 'NUL'],
      ['x'.repeat(130_000), '130000 bytes long'],
      ['echo \ud800', 'surrogate'],
    ])(
      'X1: a command that no shell can be given is refused before anything is sent (%#)',
      async (command, words) => {
        for (const kind of ['read', 'change'] as const) {
          const end = await runner.run(request(server, command, { kind }));
          expect(end).toMatchObject({
            kind: 'not_started',
            error: { code: 'ssh_command_invalid', message: expect.stringContaining(words) },
          });
        }
      },
    );
  },
);

// What lives, not what waits to be collected.
function collectGarbage(): void {
  v8.setFlagsFromString('--expose-gc');
  vm.runInNewContext('gc')();
}

const TEN_MIB = 10 * 1024 * 1024;

// The bytes by which what lives rises, at its peak, while `work` runs.
async function peakOver(work: () => Promise<void>): Promise<number> {
  for (let i = 0; i < 3; i += 1) {
    collectGarbage();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const before = inUse();
  let peak = Number.NEGATIVE_INFINITY;
  let samples = 0;
  const sampler = setInterval(() => {
    collectGarbage();
    samples += 1;
    peak = Math.max(peak, inUse() - before);
  }, 20);
  await work();
  clearInterval(sampler);
  expect(samples).toBeGreaterThan(3);
  return peak;
}

function inUse(): number {
  // Not `external`: it also counts the cipher of each SSH packet until its finaliser has had a turn, megabytes on a busy machine that hold no output.
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
