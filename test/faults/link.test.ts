import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RemoteRunner } from '../../core/executions/ports.ts';
import { CabledHost, netnsMissing } from '../support/netns.ts';
import { request, runnerFor, told, until, watched } from '../support/remote.ts';
import { findSshd, TestSshd } from '../support/sshd.ts';

const missing = findSshd() === undefined ? 'sshd is not installed' : netnsMissing();

describe.skipIf(missing !== undefined)(
  `a cable that is pulled${missing === undefined ? '' : ` (skipped: ${missing})`}`,
  () => {
    let host: CabledHost;
    let server: TestSshd;
    let runner: RemoteRunner;
    const file = (name: string): string => path.join(server.home, name);
    const runs = (): number =>
      existsSync(file('runs')) ? readFileSync(file('runs'), 'utf8').trim().split('\n').length : 0;

    beforeEach(async () => {
      host = new CabledHost();
      server = await TestSshd.start({ address: host.address, launcher: host.launcher });
      // The default finds a dead link after four silent intervals of 7 s: within the 30 s of X3. Here they are shorter.
      runner = runnerFor(server, {
        keepaliveIntervalMs: 250,
        connectTimeoutMs: 1_000,
        reattachForMs: 60_000,
      });
    });
    afterEach(async () => {
      await runner.close();
      await server.stop();
      host[Symbol.dispose]();
    });

    test('X3, X7, R2: no FIN comes: the keepalive finds it, the command runs on, is attached to again and ran once', async () => {
      const { request: wanted, seen } = watched(
        request(
          server,
          'echo x >>runs; echo begun; while [ ! -e go-on ]; do sleep 0.05; done; echo rest; exit 4',
        ),
        'begun',
      );
      const running = runner.run(wanted);
      await seen;
      host.pull();
      expect(await running).toMatchObject({
        kind: 'connection_lost',
        error: { code: 'ssh_connection_lost' },
      });
      // While the cable is out, an attachment goes on trying; the command ends meanwhile.
      const attached = runner.reattach(wanted);
      writeFileSync(file('go-on'), '');
      await until('the command ended', () =>
        existsSync(path.join(server.state, wanted.executionId, 'exit')),
      );
      host.plug();
      expect(told(await attached)).toMatchObject({
        kind: 'exited',
        stdout: 'begun\nrest\n',
        exitCode: 4,
      });
      expect(runs()).toBe(1);
    });

    test('X3, R2, X12: a start while the cable is out starts nothing, then or later', async () => {
      host.pull();
      const wanted = request(server, 'echo x >>runs');
      expect(await runner.run(wanted)).toMatchObject({
        kind: 'not_started',
        error: { code: 'ssh_timeout' },
      });
      host.plug();
      expect(await runner.reattach(wanted)).toMatchObject({
        kind: 'not_started',
        error: { code: 'ssh_never_started' },
      });
      expect(runs()).toBe(0);
    });

    test('X5: a command whose cable is pulled is cancelled once the cable is back, its group and all', async () => {
      const { request: wanted, seen } = watched(
        request(server, 'echo begun; sleep 600 & sleep 600; wait'),
        'begun',
      );
      const stop = new AbortController();
      const running = runner.run({ ...wanted, signal: stop.signal });
      await seen;
      host.pull();
      stop.abort();
      expect((await running).kind).toBe('connection_lost');
      host.plug();
      const end = await runner.reattach({ ...wanted, signal: stop.signal });
      expect(end).toMatchObject({ kind: 'cancelled', groupGone: true, started: true });
    });
  },
);
