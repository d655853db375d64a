import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testFleet } from './test-support/client.ts';
import type { TestFleet } from './test-support/client.ts';

const hasSsh = spawnSync('ssh', ['-V']).status === 0;

// A client that is not ours, with its own idea of the protocol. Where there is none, the other tests still use ssh2's.
describe.skipIf(!hasSsh)('the OpenSSH client meets the demo fleet', { timeout: 60_000 }, () => {
  let t: TestFleet;
  beforeAll(async () => {
    t = await testFleet();
  }, 60_000);
  afterAll(() => t.end());

  async function ssh(command: string[], options: string[] = [], user = 'root') {
    const port = t.fleet.hosts.find(({ slug }) => slug === 'host:web-1')?.port ?? 0;
    const child = spawn(
      'ssh',
      [
        ...['-F', 'none', '-o', 'BatchMode=yes', '-o', 'IdentitiesOnly=yes'],
        ...[
          '-o',
          `UserKnownHostsFile=${t.fleet.knownHostsPath}`,
          '-o',
          'GlobalKnownHostsFile=none',
        ],
        ...['-o', 'StrictHostKeyChecking=yes', '-i', t.fleet.privateKeyPath, '-p', String(port)],
        ...[...options, `${user}@127.0.0.1`, ...command],
      ],
      { stdio: ['ignore', 'pipe', 'pipe'], env: { PATH: process.env['PATH'] } },
    );
    const said = { stdout: '', stderr: '' };
    child.stdout.on('data', (bytes: Buffer) => (said.stdout += bytes.toString()));
    child.stderr.on('data', (bytes: Buffer) => (said.stderr += bytes.toString()));
    const [code] = (await once(child, 'close')) as [number | null];
    return { ...said, code };
  }

  it('Z5: runs a command, with outputs apart and its exit code, on a host whose key is pinned', async () => {
    expect(await ssh(['hostname; echo e >&2; exit 7'])).toEqual({
      stdout: 'web-1\n',
      stderr: 'e\n',
      code: 7,
    });
  });

  it('is told that there is no interactive shell', async () => {
    const { code, stderr } = await ssh([]);
    expect(code).toBe(1);
    expect(stderr).toContain('no interactive shell');
  });

  it('Z1: gets in with the key and as root only', async () => {
    expect((await ssh(['id'], [], 'admin')).stderr).toContain('Permission denied (publickey)');
    const without = await ssh(['id'], ['-o', 'PubkeyAuthentication=no']);
    expect(without).toMatchObject({ code: 255, stdout: '' });
    expect(without.stderr).toContain('Permission denied (publickey)');
  });

  it('cannot forward ports or copy files through it', async () => {
    const { code } = await ssh(['-s', 'sftp'], ['-o', 'ConnectTimeout=5']);
    expect(code).not.toBe(0);
    const forward = await ssh([], ['-o', 'ConnectTimeout=5', '-W', '127.0.0.1:22']);
    expect(forward.code).toBe(255);
    expect(forward.stderr).toMatch(/forward|open failed/);
  });
});
