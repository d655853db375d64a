import { afterAll, beforeAll, expect, test } from 'vitest';
import { audit } from './kit/audit.ts';
import { OperatorAtWork } from './kit/people.ts';
import { Random } from './kit/random.ts';
import { HurtServices } from './kit/services.ts';
import { FaultWorld } from './kit/world.ts';

let services: HurtServices;
let world: FaultWorld;
let operator: OperatorAtWork;
beforeAll(async () => {
  services = await HurtServices.start();
  world = await FaultWorld.open({
    services,
    name: 'frozen',
    seed: 7,
    matrix: false,
    workers: 2,
    light: false,
    movesClock: false,
  });
  operator = new OperatorAtWork(world, new Random(7), { steady: 'verb' });
  operator.start();
});
afterAll(async () => {
  await operator.stop();
  await world.close();
  await services.stop();
});

test('R2, R6, R7, X7: a worker that is frozen for longer than its lease loses its command to another; when it wakes it changes nothing', async () => {
  const { database } = world;
  await operator.ask({ token: 'tfreeze', steps: ['slow'], goal: false });
  const running = await world.until('the command runs', 60_000, async () => {
    const row = await database.read.execution.findFirst({ where: { status: 'running' } });
    // On the host too, so that there is something to attach to.
    return row !== null && world.hostLog('starts').length === 1 ? row : undefined;
  });
  const pid = Number(running.leaseOwner?.split(':')[1]);
  process.kill(pid, 'SIGSTOP');
  try {
    await world.until('another worker has it, and sees it to its end', 60_000, async () => {
      const row = await database.read.execution.findUniqueOrThrow({ where: { id: running.id } });
      return row.status === 'completed' && row.leaseOwner !== running.leaseOwner ? row : undefined;
    });
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  await atRest();
  // The one that was frozen answers again, and more work is done beside it: whatever it had left to do, it has done.
  for (const { apiUrl } of world.processes)
    expect((await fetch(`${apiUrl}/healthz`, { signal: AbortSignal.timeout(30_000) })).ok).toBe(
      true,
    );
  await operator.ask({ token: 'tafter', steps: ['change', 'read'], goal: false });
  await atRest();
  const row = await database.read.execution.findUniqueOrThrow({ where: { id: running.id } });
  expect(row).toMatchObject({ status: 'completed', exitCode: 0, continuation: 'woken' });
  expect(world.hostLog('starts').filter(({ token }) => token === 'tfreeze-1')).toHaveLength(1);
  expect(await audit(world, operator)).toEqual([]);
});

async function atRest(): Promise<void> {
  const { read } = world.database;
  await world.until('all tasks have ended', 90_000, async () => {
    const open = await read.session.count({ where: { endedAt: null } });
    const passes = await read.pass.count({ where: { state: { in: ['queued', 'running'] } } });
    return open === 0 && passes === 0 ? true : undefined;
  });
}
