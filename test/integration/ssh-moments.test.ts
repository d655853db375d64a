import {
  chmodSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { once } from 'node:events';
import type net from 'node:net';
import path from 'node:path';
import ssh2 from 'ssh2';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RemoteRunner, RunEnd } from '../../core/executions/ports.ts';
import { readRequest, startRequest } from '../../core/executions/remote/protocol.ts';
import { SshError } from '../../core/executions/ssh/errors.ts';
import { armFault, disarmFaults } from '../../core/faults.ts';
import { newId } from '../../core/ids.ts';
import {
  addBusyboxContainer,
  container,
  request,
  runnerFor,
  sleepMark,
  text,
  told,
  watched,
} from '../support/remote.ts';
import { processes, runningWith, TestSshd, type TestSshdOptions } from '../support/sshd.ts';

describe('how a command really runs', () => {
  let servers: TestSshd[];
  let runners: RemoteRunner[];
  beforeEach(() => {
    servers = [];
    runners = [];
  });
  afterEach(async () => {
    disarmFaults();
    await Promise.all(runners.map((one) => one.close()));
    await Promise.all(servers.map((one) => one.stop()));
  });
  const start = async (options: TestSshdOptions = {}): Promise<TestSshd> => {
    const server = await TestSshd.start(options);
    servers.push(server);
    return server;
  };
  const connect = (
    server: TestSshd,
    options: Parameters<typeof runnerFor>[1] = {},
  ): RemoteRunner => {
    const made = runnerFor(server, options);
    runners.push(made);
    return made;
  };
  const soon = async <T>(what: Promise<T>, ms: number): Promise<T | 'late'> =>
    Promise.race([what, new Promise<'late'>((resolve) => setTimeout(() => resolve('late'), ms))]);

  test.each([[1], [2]])(
    'X5: where the server opens %i channels, all taken, a command can still be cancelled',
    async (channels) => {
      const server = await start({ config: [`MaxSessions ${channels}`] });
      const runner = connect(server);
      const mark = sleepMark();
      const aborts: AbortController[] = [];
      const running: Promise<RunEnd>[] = [];
      for (let i = 0; i < channels; i += 1) {
        const abort = new AbortController();
        const { request: wanted, seen } = watched(
          request(server, `echo begun; sleep ${mark}`, { signal: abort.signal }),
          'begun',
        );
        aborts.push(abort);
        running.push(runner.run(wanted));
        await seen;
      }
      aborts[0]?.abort();
      const end = await soon(running[0] as Promise<RunEnd>, 12_000);
      expect(end).toMatchObject({ kind: 'cancelled', groupGone: true });
      for (const abort of aborts) abort.abort();
      await Promise.all(running);
      expect(runningWith(`sleep ${mark}`)).toBe(0);
    },
  );

  test('X5: where all connections are full, by the server’s own limit, a command can still be cancelled', async () => {
    const server = await start({ config: ['MaxSessions 1'] });
    const runner = connect(server, { limits: { connectionsPerHost: 2 } });
    const mark = sleepMark();
    const aborts: AbortController[] = [];
    const running: Promise<RunEnd>[] = [];
    for (let i = 0; i < 2; i += 1) {
      const abort = new AbortController();
      const { request: wanted, seen } = watched(
        request(server, `echo begun; sleep ${mark}`, { signal: abort.signal }),
        'begun',
      );
      aborts.push(abort);
      running.push(runner.run(wanted));
      await seen;
    }
    for (const abort of aborts) abort.abort();
    for (const one of running)
      expect(await soon(one, 12_000)).toMatchObject({ kind: 'cancelled', groupGone: true });
    expect(told(await runner.run(request(server, 'echo on'))).stdout).toBe('on\n');
  });

  test('X3: a second connection that cannot be made once is tried again while commands wait for it', async () => {
    const server = await start();
    const runner = connect(server, { limits: { channelsPerConnection: 1 } });
    const { request: long, seen } = watched(request(server, 'echo begun; sleep 30'), 'begun');
    const abort = new AbortController();
    const first = runner.run({ ...long, signal: abort.signal });
    await seen;
    let failures = 1;
    armFault('ssh.connect', () => {
      if (failures-- > 0) throw new SshError('ssh_closed_early', 'too many logins are under way');
    });
    const end = await soon(runner.run(request(server, 'echo x')), 6_000);
    abort.abort();
    await first;
    expect(end).toMatchObject({ kind: 'exited', exitCode: 0 });
  });

  test.each([['change'], ['read']] as const)(
    'X3, X7: a host that lets in and hangs up when a channel for a %s is asked for is told as such: nothing was sent',
    async (kind) => {
      const files = await start();
      let logins = 0;
      const fake = new ssh2.Server(
        { hostKeys: [readFileSync(path.join(files.dir, 'host_key'))] },
        (client) => {
          client.on('error', () => {});
          client.on('authentication', (context) => {
            context.accept();
            if (context.method === 'none') return;
            logins += 1;
          });
          client.on('session', () => {
            (client as unknown as { _sock: net.Socket })._sock.destroy();
          });
        },
      );
      fake.listen(0, '127.0.0.1');
      await once(fake, 'listening');
      try {
        const { port } = fake.address() as net.AddressInfo;
        const wanted = request(files, 'true', {
          kind,
          target: { host: { ...files.endpoint, port } },
        });
        const end = await soon(connect(files).run(wanted), 4_000);
        expect(end).toMatchObject({ kind: 'not_started', error: { code: 'ssh_closed_early' } });
        expect(logins).toBeLessThan(5);
      } finally {
        fake.close();
      }
    },
  );

  test('X3: commands that hang on the target, whose channels were given up, do not keep other commands off the host', async () => {
    const server = await start({ config: ['MaxSessions 3'] });
    writeFileSync(path.join(server.dir, 'bin', 'pct'), '#!/bin/sh\nexec sleep 1000\n', {
      mode: 0o755,
    });
    server.addContainer(101);
    const runner = connect(server, { graceMs: 50, slackMs: 50 });
    for (let i = 0; i < 3; i += 1) {
      const hung = request(server, 'uptime', {
        kind: 'read',
        timeoutMs: 100,
        target: container(server, 101),
      });
      expect((await runner.run(hung)).kind).toBe('timed_out');
    }
    const end = await runner.run(request(server, 'echo well', { kind: 'read' }));
    expect(told(end).stdout).toBe('well\n');
  });

  test('X7: a running command keeps its state though the target’s clock jumps by weeks', async () => {
    const server = await start();
    const runner = connect(server);
    const { request: wanted, seen } = watched(
      request(
        server,
        'echo x >>runs; echo begun; while [ ! -e go-on ]; do sleep 0.05; done; exit 3',
      ),
      'begun',
    );
    const running = runner.run(wanted);
    await seen;
    const dir = path.join(server.state, wanted.executionId);
    const before = Date.now() / 1000 - 30 * 86_400;
    utimesSync(dir, before, before);
    await runner.run(request(server, 'true'));
    await new Promise((resolve) => setTimeout(resolve, 500));
    await server.crash();
    await running;
    await server.listen();
    writeFileSync(path.join(server.home, 'go-on'), '');
    expect(await connect(server).reattach(wanted)).toMatchObject({ kind: 'exited', exitCode: 3 });
  });

  test('X1: what a login shell is given holds nothing that csh changes between single quotes: newlines and "!"', () => {
    const target = { host: { slug: 'nas', address: '192.0.2.1', port: 22, user: 'root' } };
    for (const { exec } of [
      startRequest(target, newId(), 'true', 1_000),
      readRequest(target, newId(), 'true', 1_000),
    ])
      expect(exec).not.toMatch(/[\n!]/);
  });

  test.each([['change'], ['read']] as const)(
    'X7: a link that breaks between the request of a %s and its answer does not prove that nothing ran',
    async (kind) => {
      const files = await start();
      let asked = 0;
      const fake = new ssh2.Server(
        { hostKeys: [readFileSync(path.join(files.dir, 'host_key'))] },
        (client) => {
          client.on('error', () => {});
          client.on('authentication', (context) => context.accept());
          client.on('session', (accept) => {
            accept().on('exec', () => {
              // It runs here, and then the link is cut.
              asked += 1;
              (client as unknown as { _sock: net.Socket })._sock.destroy();
            });
          });
        },
      );
      fake.listen(0, '127.0.0.1');
      await once(fake, 'listening');
      try {
        const { port } = fake.address() as net.AddressInfo;
        const wanted = request(files, 'true', {
          kind,
          target: { host: { ...files.endpoint, port } },
        });
        const end = await connect(files).run(wanted);
        expect(asked).toBe(1);
        expect(end).toMatchObject({
          kind: 'connection_lost',
          error: { code: 'ssh_connection_lost' },
        });
      } finally {
        fake.close();
      }
    },
  );

  test('X7: a command that takes its own state directory away is not told as never started', async () => {
    const server = await start();
    const wanted = request(
      server,
      `echo x >>runs; rm -rf ${path.dirname(server.state)}; echo gone`,
    );
    const end = await connect(server).run(wanted);
    expect(readFileSync(path.join(server.home, 'runs'), 'utf8')).toBe('x\n');
    expect(end.kind).toBe('unknown');
  });

  test('X5: a command whose state directory is gone and that cannot be ended is not told as cancelled', async () => {
    const server = await start();
    const mark = sleepMark();
    const abort = new AbortController();
    const { request: wanted, seen } = watched(
      request(server, `echo begun; sleep ${mark}`, { signal: abort.signal }),
      'begun',
    );
    const running = connect(server, { slackMs: 500 }).run(wanted);
    await seen;
    rmSync(path.join(server.state, wanted.executionId), { recursive: true });
    abort.abort();
    const end = await running;
    expect(runningWith(`sleep ${mark}`)).toBeGreaterThan(0);
    expect(end).toMatchObject({ kind: 'unknown', alive: true });
  });

  test('X5: a command that its worker ended as overdue is told as timed out, also by whoever attaches later', async () => {
    const server = await start();
    const { request: wanted, seen } = watched(
      request(server, 'echo begun; sleep 60', { timeoutMs: 1_500 }),
      'begun',
    );
    const running = connect(server, { slackMs: 500, graceMs: 100 }).run(wanted);
    await seen;
    // The target's own timer is gone: only its worker ends the command.
    for (const pid of timersOf(wanted.executionId)) process.kill(pid, 'SIGKILL');
    expect(await running).toMatchObject({ kind: 'timed_out', groupGone: true });
    expect(await connect(server).reattach(wanted)).toMatchObject({
      kind: 'timed_out',
      groupGone: true,
    });
  });

  test('X7: a base directory that others use as well keeps its mode', async () => {
    const server = await start();
    const root = addBusyboxContainer(server, 105);
    mkdirSync(path.join(root, 'var/lib/nomos/data'), { recursive: true });
    chmodSync(path.join(root, 'var/lib/nomos'), 0o755);
    const end = await connect(server).run(
      request(server, 'echo x', { target: container(server, 105) }),
    );
    expect(told(end).stdout).toBe('x\n');
    expect(statSync(path.join(root, 'var/lib/nomos')).mode & 0o777).toBe(0o755);
    expect(statSync(path.join(root, 'var/lib/nomos/executions')).mode & 0o777).toBe(0o700);
  });

  test('X4: of an output that is a little longer than what a target keeps, the end is stored as of any other', async () => {
    const server = await start();
    const command = 'head -c 8388608 /dev/zero | tr "\\0" a; sleep 0.3; echo; echo last';
    const end = await connect(server).run(request(server, command));
    if (end.kind !== 'exited') throw new Error(end.kind);
    expect(end.stdout.totalBytes).toBe(8_388_608 + 6);
    expect(text(end.stdout).endsWith('\nlast\n')).toBe(true);
    expect(end.stdout.bytes.length).toBe(1024 * 1024);
  });
});

// The supervisor's children that sleep until the time limit, and the shells that wait for them.
function timersOf(id: string): number[] {
  const found: number[] = [];
  for (const { pid, ppid } of processes()) {
    if (line(pid).startsWith('sleep 1.500')) {
      if (line(ppid).includes(id)) found.push(ppid, pid);
    }
  }
  return found;
}

function line(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}
