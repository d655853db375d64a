import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { request, runnerFor, told } from '../test/support/remote.ts';
import { TestSshd } from '../test/support/sshd.ts';
import type { Benchmark, Figure } from './lib/benchmark.ts';
import { inTurn, ratio, summarise, timed } from './lib/stats.ts';

const run = promisify(execFile);
/** What is run: it does nothing, so that the way there and back is all that is measured. */
const COMMAND = 'true';

/** One command over our SSH, against OpenSSH's client over a ControlMaster socket, and against a fresh `ssh`. */
export const sshBench: Benchmark = {
  id: 'B4',
  title: 'one command over SSH, against OpenSSH',
  async run({ quick }) {
    const server = await TestSshd.start();
    const runner = runnerFor(server);
    const socket = path.join(server.dir, 'master');
    const options = sshOptions(server);
    const master = spawn('ssh', [...options, '-M', '-N', '-S', socket, server.endpoint.address], {
      stdio: 'ignore',
    });
    try {
      await until(() => existsSync(socket));
      const ours = (kind: 'read' | 'change') => (): Promise<number> =>
        timed(async () => {
          const end = told(await runner.run(request(server, COMMAND, { kind })));
          if (end.exitCode !== 0) throw new Error(`our own ${kind} ended as ${end.kind}`);
        });
      const theirs = (more: string[]) => (): Promise<number> =>
        timed(() => run('ssh', [...options, ...more, server.endpoint.address, COMMAND]));
      const { read, change, shared, fresh } = await inTurn(
        {
          read: ours('read'),
          change: ours('change'),
          shared: theirs(['-S', socket]),
          fresh: theirs(['-S', 'none']),
        },
        { rounds: quick ? 5 : 60, warmUps: quick ? 1 : 5 },
      );
      return figures({ read, change, shared, fresh });
    } finally {
      master.kill('SIGTERM');
      await runner.close();
      await server.stop();
    }
  },
};

function figures(times: Record<'read' | 'change' | 'shared' | 'fresh', number[]>): Figure[] {
  const { read, change, shared, fresh } = times;
  const sides = Object.fromEntries(
    Object.entries(times).map(([name, samples]) => [name, summarise(samples)]),
  );
  const overShared = ratio(read, shared);
  const fasterThanFresh = ratio(fresh, read);
  const changeOverShared = ratio(change, shared);
  return [
    {
      name: 'a read, over ssh with a ControlMaster',
      value: overShared.value,
      unit: '×',
      goal: { atMost: 0.7 },
      range: overShared,
      sides,
    },
    {
      name: 'a fresh ssh, over a read of ours',
      value: fasterThanFresh.value,
      unit: '×',
      goal: { atLeast: 15 },
      range: fasterThanFresh,
    },
    {
      name: 'a change with its wrapper, over ssh with a ControlMaster',
      value: changeOverShared.value,
      unit: '×',
      range: changeOverShared,
    },
  ];
}

function sshOptions({ endpoint, keyFile, dir }: TestSshd): string[] {
  return [
    ...['-F', 'none', '-i', keyFile, '-p', String(endpoint.port), '-l', endpoint.user],
    ...[
      '-o',
      'IdentitiesOnly=yes',
      '-o',
      'BatchMode=yes',
      '-o',
      'StrictHostKeyChecking=accept-new',
    ],
    ...['-o', `UserKnownHostsFile=${path.join(dir, 'known_hosts')}`, '-o', 'LogLevel=ERROR'],
  ];
}

async function until(is: () => boolean): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!is()) {
    if (performance.now() > deadline) throw new Error('the ssh master did not come up');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
