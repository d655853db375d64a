import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { processIdentity, stillRuns } from '../../scripts/lib/identity.mjs';
import { lockHolder, takeLock } from '../../scripts/lib/lock.mjs';
import { onFreePort } from './ports.ts';
import { readState, writeState } from './state.ts';
import { Supervisor } from './supervisor.ts';

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'nomos-services-'));
  cleanups.push(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

const sleeper = {
  name: 'sleeper',
  command: process.execPath,
  args: ['-e', 'setInterval(() => {}, 1000)'],
  cwd: tmpdir(),
  stopSignal: 'SIGTERM',
} as const;

async function gone(known: { pid: number; identity: string }): Promise<void> {
  await expect.poll(() => stillRuns(known), { timeout: 10_000 }).toBe(false);
}

test('a lock is held once, and free again after its holder', () => {
  const path = join(folder(), 'a.lock');
  const first = takeLock(path, { url: 'http://here' });
  if (!first.taken) throw new Error('the lock was free');
  const second = takeLock(path);
  expect(second).toMatchObject({ taken: false, holder: { pid: process.pid, url: 'http://here' } });
  first.lock.release();
  expect(lockHolder(path)).toBeUndefined();
  expect(takeLock(path).taken).toBe(true);
});

test('a lock whose holder has ended, or whose pid belongs to another process now, is taken over', () => {
  const path = join(folder(), 'a.lock');
  const identity = processIdentity(process.pid);
  for (const holder of [
    { pid: 2 ** 22 + 1, identity },
    { pid: process.pid, identity: `${identity}0` },
    'no holder at all',
  ]) {
    writeFileSync(path, JSON.stringify(holder));
    const attempt = takeLock(path);
    if (!attempt.taken) throw new Error('the lock was stale');
    attempt.lock.release();
  }
});

test('services end with their supervisor', async () => {
  const dir = folder();
  const supervisor = new Supervisor(dir, join(dir, 'logs'));
  const service = supervisor.start(sleeper);
  const known = { pid: service.pid, identity: processIdentity(service.pid) ?? '' };
  expect(stillRuns(known)).toBe(true);
  await supervisor.stop();
  expect(stillRuns(known)).toBe(false);
  expect(service.endedAs()).toMatch(/SIGTERM/);
});

test('the watchdog ends services whose owner was killed', async () => {
  const dir = folder();
  const owner = spawn(process.execPath, [
    '--input-type=module-typescript',
    '-e',
    `import { Supervisor } from ${JSON.stringify(new URL('./supervisor.ts', import.meta.url).href)};
     const supervisor = new Supervisor(${JSON.stringify(dir)}, ${JSON.stringify(join(dir, 'logs'))});
     console.log(supervisor.start(${JSON.stringify(sleeper)}).pid);
     setInterval(() => {}, 1000);`,
  ]);
  const [output] = (await once(owner.stdout, 'data')) as [Buffer];
  const pid = Number(output.toString());
  const known = { pid, identity: processIdentity(pid) ?? '' };
  expect(stillRuns(known)).toBe(true);
  owner.kill('SIGKILL');
  await gone(known);
});

test('what even the watchdog did not end is ended by the next start', async () => {
  const dir = folder();
  const earlier = new Supervisor(dir, join(dir, 'logs'));
  const service = earlier.start(sleeper);
  const known = { pid: service.pid, identity: processIdentity(service.pid) ?? '' };
  const next = new Supervisor(dir, join(dir, 'logs'));
  expect(await next.endLeftovers()).toEqual(['sleeper']);
  expect(stillRuns(known)).toBe(false);
  expect(await next.endLeftovers()).toEqual([]);
  await earlier.stop();
});

test('a process that took over the pid of a service is left alone', async () => {
  const dir = folder();
  const supervisor = new Supervisor(dir, join(dir, 'logs'));
  writeFileSync(
    join(dir, 'run', 'other.json'),
    JSON.stringify({ pid: process.pid, identity: 'another life', stopSignal: 'SIGTERM' }),
  );
  expect(await supervisor.endLeftovers()).toEqual([]);
});

test('a port that was asked for and is taken is an error that names it; another one is replaced', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(() => server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('not listening');
  const taken = address.port;
  const start = (port: number): Promise<number> => Promise.resolve(port);
  await expect(onFreePort({ name: 'the chat page', fixed: taken }, start)).rejects.toThrow(
    `Port ${taken} for the chat page is taken`,
  );
  expect(await onFreePort({ name: 'the chat page', preferred: [taken] }, start)).not.toBe(taken);
});

test('a start that loses its port to another program is made again on another one', async () => {
  const ports: number[] = [];
  const won = await onFreePort({ name: 'a service' }, async (port) => {
    ports.push(port);
    if (ports.length > 1) return port;
    const rival = createServer().listen(port, '127.0.0.1');
    await once(rival, 'listening');
    cleanups.push(() => rival.close());
    throw new Error('address in use');
  });
  expect(ports).toHaveLength(2);
  expect(won).not.toBe(ports[0]);
});

test('kept state is private, and damage to it is told instead of taken for nothing', () => {
  const path = join(folder(), 'state.json');
  expect(readState(path)).toBeUndefined();
  writeState(path, { password: 'x' });
  expect(readState(path)).toEqual({ password: 'x' });
  writeFileSync(path, readFileSync(path, 'utf8').slice(0, 5));
  expect(() => readState(path)).toThrow(/damaged/);
});
