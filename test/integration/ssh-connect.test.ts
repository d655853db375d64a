import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { RemoteRunner, RunEnd } from '../../core/executions/ports.ts';
import { MemoryHostKeys, request, runnerFor, told, until } from '../support/remote.ts';
import { findSshd, TestSshd, type TestSshdOptions } from '../support/sshd.ts';

const noSshd = findSshd() === undefined;

describe.skipIf(noSshd)(
  `SSH connections${noSshd ? ' (skipped: sshd is not installed)' : ''}`,
  () => {
    const cleanUp: (() => void | Promise<void>)[] = [];

    afterEach(async () => {
      for (const undo of cleanUp.splice(0).reverse()) await undo();
    });

    const start = async (options: TestSshdOptions = {}): Promise<TestSshd> => {
      const server = await TestSshd.start(options);
      cleanUp.push(() => server.stop());
      return server;
    };
    const connect = (
      server: TestSshd,
      options: Parameters<typeof runnerFor>[1] = {},
    ): RemoteRunner => {
      const runner = runnerFor(server, { limits: { backoffMs: 20 }, ...options });
      cleanUp.push(() => runner.close());
      return runner;
    };
    const touch = (
      server: TestSshd,
      runner: RemoteRunner,
      kind: 'read' | 'change' = 'change',
    ): Promise<RunEnd> => runner.run(request(server, 'echo x >>runs; echo ran', { kind }));
    const ran = (server: TestSshd): boolean => existsSync(path.join(server.home, 'runs'));
    const knownHosts = (server: TestSshd, lines: string[], hash = false): string => {
      const file = path.join(server.dir, 'known_hosts');
      writeFileSync(file, `# a comment\n${lines.join('\n')}\n`);
      if (hash) execFileSync('ssh-keygen', ['-q', '-H', '-f', file], { stdio: 'ignore' });
      return file;
    };

    test('Z5: a host key is pinned at first use; another one later stops the command, names both, and tells the way out', async () => {
      const server = await start();
      const hostKeys = new MemoryHostKeys();
      const runner = connect(server, { hostKeys });
      expect(told(await touch(server, runner, 'read')).stdout).toBe('ran\n');
      const old = execFileSync('ssh-keygen', ['-lf', path.join(server.dir, 'host_key.pub')], {
        encoding: 'utf8',
      }).split(' ')[1];
      expect(hostKeys.keys.get('web-1')?.fingerprint).toBe(old);

      await server.crash();
      server.replaceHostKey();
      await server.listen();
      const now = execFileSync('ssh-keygen', ['-lf', path.join(server.dir, 'host_key.pub')], {
        encoding: 'utf8',
      }).split(' ')[1];
      const before = readFileSync(path.join(server.home, 'runs'), 'utf8');
      for (const kind of ['read', 'change'] as const) {
        const end = await touch(server, runner, kind);
        expect(end).toMatchObject({
          kind: 'not_started',
          error: { code: 'ssh_host_key_changed', fault: 'operator', fields: { old, new: now } },
        });
        if (end.kind === 'not_started') {
          expect(end.error.message).toContain(old);
          expect(end.error.message).toContain(now);
          expect(end.error.hint).toContain('web-1');
        }
      }
      expect(readFileSync(path.join(server.home, 'runs'), 'utf8')).toBe(before);
      expect(hostKeys.keys.get('web-1')?.fingerprint).toBe(old);
    });

    test('Z5: two workers that see a host for the first time agree on its key', async () => {
      const server = await start();
      const hostKeys = new MemoryHostKeys();
      // The other worker pinned another key between our look-up and our login.
      const late = {
        get: (host: { slug: string }) => hostKeys.get(host),
        pin: async (host: { slug: string }) =>
          hostKeys.pin(host, {
            type: 'ssh-ed25519',
            publicKey: 'AAAA',
            fingerprint: 'SHA256:other',
          }),
      };
      expect(await touch(server, connect(server, { hostKeys: late }))).toMatchObject({
        kind: 'not_started',
        error: { code: 'ssh_host_key_changed' },
      });
      expect(ran(server)).toBe(false);
    });

    test.each([
      [
        'plain',
        (s: TestSshd) => [`[127.0.0.1]:${s.endpoint.port} ${s.hostPublicKey()} comment`],
        false,
      ],
      ['hashed', (s: TestSshd) => [`[127.0.0.1]:${s.endpoint.port} ${s.hostPublicKey()}`], true],
      [
        'by wildcard',
        (s: TestSshd) => [`other,[127.0.*]:${s.endpoint.port} ${s.hostPublicKey()}`],
        false,
      ],
    ])(
      'X3: a known_hosts entry, %s, is enough and is not copied into the store',
      async (_, lines, hash) => {
        const server = await start();
        const hostKeys = new MemoryHostKeys();
        const runner = connect(server, {
          hostKeys,
          knownHostsFile: knownHosts(server, lines(server), hash),
        });
        expect(told(await touch(server, runner)).stdout).toBe('ran\n');
        expect(hostKeys.keys.size).toBe(0);
      },
    );

    test.each([[false], [true]])(
      'Z5: a known_hosts entry with another key stops the command (hashed: %s)',
      async (hash) => {
        const server = await start();
        const other = await start();
        const file = knownHosts(
          server,
          [`[127.0.0.1]:${server.endpoint.port} ${other.hostPublicKey()}`],
          hash,
        );
        const end = await touch(server, connect(server, { knownHostsFile: file }));
        expect(end).toMatchObject({
          kind: 'not_started',
          error: {
            code: 'ssh_host_key_changed',
            message: expect.stringContaining(`${file}, line 2`),
          },
        });
        expect(ran(server)).toBe(false);
      },
    );

    test('Z5: a key that is marked as revoked is refused, also at first use', async () => {
      const server = await start();
      const file = knownHosts(server, [
        `@revoked * ${server.hostPublicKey()}`,
        `@revoked [127.0.0.1]:${server.endpoint.port} ${server.hostPublicKey()}`,
      ]);
      expect(await touch(server, connect(server, { knownHostsFile: file }))).toMatchObject({
        kind: 'not_started',
        error: { code: 'ssh_host_key_revoked' },
      });
    });

    test('Z5: a known_hosts file that cannot be read does not turn into trust at first use', async () => {
      const server = await start();
      const end = await touch(server, connect(server, { knownHostsFile: '/does/not/exist' }));
      expect(end).toMatchObject({
        kind: 'not_started',
        error: { code: 'ssh_known_hosts_unreadable' },
      });
    });

    test('Z5: a store of pinned keys that fails is no first use', async () => {
      const server = await start();
      const broken = {
        get: () => Promise.reject(new Error('the database is away')),
        pin: () => Promise.resolve(),
      };
      const end = await touch(server, connect(server, { hostKeys: broken }));
      expect(end).toMatchObject({
        kind: 'not_started',
        error: { code: 'ssh_known_hosts_unreadable', message: expect.stringContaining('database') },
      });
      expect(ran(server)).toBe(false);
    });

    test('X3: of several host keys the one that is known is asked for', async () => {
      const server = await start();
      const extra = path.join(server.dir, 'host_ecdsa');
      execFileSync('ssh-keygen', ['-q', '-t', 'ecdsa', '-N', '', '-f', extra]);
      const config = path.join(server.dir, 'sshd_config');
      writeFileSync(config, `HostKey ${extra}\n${readFileSync(config, 'utf8')}`);
      await server.crash();
      await server.listen();
      const known = readFileSync(`${extra}.pub`, 'utf8').split(' ').slice(0, 2).join(' ');
      const runner = connect(server, {
        knownHostsFile: knownHosts(server, [`[127.0.0.1]:${server.endpoint.port} ${known}`]),
      });
      expect(told(await touch(server, runner)).stdout).toBe('ran\n');
    });

    test('X3: what keeps a command from starting is told apart', async () => {
      const server = await start();
      const runner = connect(server, { connectTimeoutMs: 500 });
      const at = async (
        change: { address?: string; port?: number; user?: string },
        slug: string,
      ) => {
        const host = { ...server.endpoint, ...change, slug };
        const end = await runner.run(request(server, 'echo x >>runs', { target: { host } }));
        if (end.kind !== 'not_started') throw new Error(end.kind);
        expect(end.error.message).toContain(slug);
        return end.error.code;
      };
      const mute = await listener(() => {});
      const old = await listener((socket) => socket.end('SSH-1.5-ancient\r\n'));
      const web = await listener((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
      const closing = await listener((socket) => socket.destroy());

      expect(await at({ address: 'no-such-host.invalid' }, 'nameless')).toBe('ssh_name_not_found');
      expect(await at({ port: 1 }, 'closed-port')).toBe('ssh_refused');
      expect(await at({ port: mute }, 'mute')).toBe('ssh_timeout');
      expect(await at({ port: old }, 'old-protocol')).toBe('ssh_protocol');
      expect(await at({ port: web }, 'web-server')).toBe('ssh_closed_early');
      expect(await at({ port: closing }, 'closing')).toBe('ssh_closed_early');
      expect(await at({ user: 'nobody-of-that-name' }, 'wrong-user')).toBe('ssh_login_refused');
      expect(ran(server)).toBe(false);
    });

    test('X3: a key that does not fit, is missing, or needs a passphrase is told as such', async () => {
      const server = await start();
      const other = await start();
      const locked = path.join(server.dir, 'locked');
      execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', 'secret', '-f', locked]);
      const code = async (credentials: { keyFile?: string; agentSocket?: string }) => {
        const end = await touch(server, connect(server, { credentials }));
        return end.kind === 'not_started' ? end.error.code : end.kind;
      };
      expect(await code({ keyFile: other.keyFile })).toBe('ssh_login_refused');
      expect(await code({ keyFile: '/does/not/exist' })).toBe('ssh_key_unusable');
      expect(await code({ keyFile: locked })).toBe('ssh_key_unusable');
      expect(await code({})).toBe('ssh_key_unusable');
      expect(await code({ agentSocket: '/does/not/exist' })).toBe('ssh_login_refused');
      expect(ran(server)).toBe(false);
    });

    test('X3: an agent logs in as well as a key file', async () => {
      const server = await start();
      const socket = path.join(server.dir, 'agent');
      const agent = spawn('ssh-agent', ['-D', '-a', socket], { stdio: 'ignore' });
      cleanUp.push(() => end(agent));
      await until('the agent listens', () => existsSync(socket));
      execFileSync('ssh-add', ['-q', server.keyFile], {
        env: { ...process.env, SSH_AUTH_SOCK: socket },
        stdio: 'ignore',
      });
      expect(
        told(await touch(server, connect(server, { credentials: { agentSocket: socket } }))).stdout,
      ).toBe('ran\n');
    });

    test('X3: a thousand commands at once on one host take four connections of eight channels, and all end', async () => {
      const server = await start();
      const runner = connect(server);
      let most = 0;
      const watch = setInterval(() => (most = Math.max(most, server.connections())), 20);
      const ends = await Promise.all(
        Array.from({ length: 1_000 }, (_, i) =>
          runner.run(request(server, `echo ${i}`, { kind: 'read', timeoutMs: 60_000 })),
        ),
      );
      clearInterval(watch);
      expect(ends.map((one) => told(one).stdout)).toEqual(
        Array.from({ length: 1_000 }, (_, i) => `${i}\n`),
      );
      expect(most).toBe(4);
    });

    test('X3: a server that takes fewer channels than we would open is used within its limit', async () => {
      const server = await start({ config: ['MaxSessions 2'] });
      const runner = connect(server);
      const ends = await Promise.all(
        Array.from({ length: 30 }, (_, i) =>
          runner.run(request(server, `echo x >>runs; echo ${i}; sleep 0.05`)),
        ),
      );
      expect(ends.map((one) => told(one).stdout)).toEqual(
        Array.from({ length: 30 }, (_, i) => `${i}\n`),
      );
      expect(readFileSync(path.join(server.home, 'runs'), 'utf8').length).toBe(60);
    });

    test('X3: a server that opens no channel, or runs something else, is told as such', async () => {
      const closed = await start({ config: ['MaxSessions 0'] });
      expect(await touch(closed, connect(closed))).toMatchObject({
        kind: 'not_started',
        error: { code: 'ssh_channel_refused' },
      });
      const forced = await start({
        config: ['ForceCommand echo This account is not available >&2; exit 1'],
      });
      for (const kind of ['read', 'change'] as const) {
        const end = await touch(forced, connect(forced), kind);
        expect(end).toMatchObject({
          kind: 'not_started',
          error: { code: 'ssh_target_unfit', message: expect.stringContaining('not available') },
        });
      }
    });

    test('X4: what a login script prints is not taken for output', async () => {
      const server = await start({
        config: [
          'ForceCommand echo Welcome; printf "no newline "; echo motd >&2; eval "$SSH_ORIGINAL_COMMAND"',
        ],
      });
      const runner = connect(server);
      for (const kind of ['read', 'change'] as const)
        expect(told(await touch(server, runner, kind)).stdout).toBe('ran\n');
    });

    test('X3: an idle connection is closed, and the next command makes a new one', async () => {
      const server = await start();
      const runner = connect(server, { limits: { idleMs: 100 } });
      await touch(server, runner);
      await until('the connection is closed', () => server.connections() === 0);
      expect(told(await touch(server, runner)).kind).toBe('exited');
    });

    test('X3: after a crash of sshd the next command goes over a new connection', async () => {
      const server = await start();
      const runner = connect(server);
      await touch(server, runner);
      await server.crash();
      const wanted = request(server, 'echo x >>runs');
      const end = await runner.run(wanted);
      await server.listen();
      // The news of the crash may come after the request was sent: then only the target can tell, and it does.
      expect(end.kind === 'connection_lost' ? await runner.reattach(wanted) : end).toMatchObject({
        kind: 'not_started',
      });
      expect(told(await touch(server, runner)).kind).toBe('exited');
      expect(readFileSync(path.join(server.home, 'runs'), 'utf8')).toBe('x\nx\n');
    });

    test('X3: after close nothing is sent any more', async () => {
      const server = await start();
      const runner = connect(server);
      await runner.close();
      expect(await touch(server, runner)).toMatchObject({
        kind: 'not_started',
        error: { code: 'ssh_closed' },
      });
    });

    async function listener(onSocket: (socket: net.Socket) => void): Promise<number> {
      const sockets = new Set<net.Socket>();
      const server = net.createServer((socket) => {
        sockets.add(socket);
        socket.on('error', () => {});
        onSocket(socket);
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      cleanUp.push(() => {
        for (const socket of sockets) socket.destroy();
        server.close();
      });
      const address = server.address();
      if (address === null || typeof address === 'string') throw new Error('no port');
      return address.port;
    }
  },
);

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const gone = once(child, 'exit');
  child.kill();
  await gone;
}
