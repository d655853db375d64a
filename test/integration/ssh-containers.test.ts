import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RemoteRunner } from '../../core/executions/ports.ts';
import {
  addBusyboxContainer,
  busyboxMissing,
  container,
  request,
  runnerFor,
  sleepMark,
  told,
  until,
  watched,
} from '../support/remote.ts';
import { findSshd, runningWith, TestSshd } from '../support/sshd.ts';

// What ssh-once shows on hosts, behind `pct exec`: the claim, the output and the group lie in the container.
const noSshd = findSshd() === undefined;
const PLACES = [
  {
    name: 'a container',
    add: (server: TestSshd) => path.join(server.addContainer(101), 'home'),
    missing: undefined,
  },
  {
    name: 'a BusyBox container',
    add: (server: TestSshd) => path.join(addBusyboxContainer(server, 101), 'root'),
    missing: busyboxMissing(),
  },
] as const;

for (const { name, add, missing } of PLACES) {
  const why = noSshd ? 'sshd is not installed' : missing;
  describe.skipIf(why !== undefined)(
    `in ${name}${why === undefined ? '' : ` (skipped: ${why})`}`,
    () => {
      let server: TestSshd;
      let home: string;
      let runner: RemoteRunner;
      let second: RemoteRunner;
      const file = (one: string): string => path.join(home, one);
      const runs = (): number =>
        existsSync(file('runs')) ? readFileSync(file('runs'), 'utf8').trim().split('\n').length : 0;
      const wanted = (command: string) =>
        request(server, `cd; ${command}`, { kind: 'change', target: container(server, 101) });

      beforeEach(async () => {
        server = await TestSshd.start();
        home = add(server);
        [runner, second] = [runnerFor(server), runnerFor(server)];
      });
      afterEach(async () => {
        await Promise.all([runner.close(), second.close()]);
        await server.stop();
      });

      test('X6, X7, R2: sshd dies in the middle; the command runs on, is followed to its end, and ran once', async () => {
        const { request: change, seen } = watched(
          wanted('echo x >>runs; echo begun; while [ ! -e go-on ]; do sleep 0.1; done; exit 3'),
          'begun',
        );
        const running = runner.run(change);
        await seen;
        await server.crash();
        expect(await running).toMatchObject({ kind: 'connection_lost' });
        await server.listen();
        const again = second.reattach(change);
        writeFileSync(file('go-on'), '');
        expect(told(await again)).toMatchObject({ kind: 'exited', stdout: 'begun\n', exitCode: 3 });
        expect(told(await second.run(change))).toMatchObject({ kind: 'exited', exitCode: 3 });
        expect(runs()).toBe(1);
      });

      test('X2, X4, X6: silent, chatty, binary, asking, failing and backgrounding commands end as what they are', async () => {
        const run = async (command: string) => told(await runner.run(wanted(command)));
        const fine = { kind: 'exited', exitCode: 0, stderr: '' };
        expect(await run('sleep 0.2')).toEqual({ ...fine, stdout: '' });
        // More than a pipe holds.
        const chatty = await run(
          'i=0; while [ $i -lt 4000 ]; do echo "line $i of a lot"; i=$((i+1)); done',
        );
        expect(chatty).toMatchObject(fine);
        expect(chatty.stdout.split('\n')).toHaveLength(4_001);
        expect(chatty.stdout).toMatch(/^line 0 of a lot\n.*line 3999 of a lot\n$/s);
        const bytes = await runner.run(
          wanted("printf '\\000\\001\\377\\n\\000'; printf '\\200' >&2"),
        );
        expect(bytes.kind).toBe('exited');
        if (bytes.kind !== 'exited') return;
        expect([...bytes.stdout.bytes]).toEqual([0, 1, 255, 10, 0]);
        expect([...bytes.stderr.bytes]).toEqual([128]);
        // Nobody answers: it meets the end of its input at once.
        expect(await run('if read answer; then echo "got $answer"; else echo nobody; fi')).toEqual({
          ...fine,
          stdout: 'nobody\n',
        });
        expect(await run('echo out; echo err >&2; exit 7')).toEqual({
          kind: 'exited',
          stdout: 'out\n',
          stderr: 'err\n',
          exitCode: 7,
        });
        const mark = sleepMark();
        expect(await run(`sleep ${mark} & echo begun`)).toEqual({ ...fine, stdout: 'begun\n' });
        // A service that it started is left alone.
        expect(runningWith(`sleep ${mark}`)).toBe(1);
      });

      test('X5, X6: another worker cancels by id; the group ends inside, and both are told so', async () => {
        const mark = sleepMark();
        const { request: change, seen } = watched(
          wanted(`trap "" TERM; sleep ${mark} & echo begun; sleep ${mark}; sleep ${mark}`),
          'begun',
        );
        const running = runner.run(change);
        await seen;
        expect(await second.cancel(change.executionId, change.target)).toMatchObject({
          kind: 'ended',
          by: 'cancel',
          groupGone: true,
        });
        expect(await running).toMatchObject({ kind: 'cancelled', groupGone: true });
        await until('nothing of it is left', () => runningWith(`sleep ${mark}`) === 0);
      });
    },
  );
}
