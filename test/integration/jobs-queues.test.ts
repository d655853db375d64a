import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunEnd, RunRequest } from '../../core/executions/ports.ts';
import { newId, type PassId } from '../../core/ids.ts';
import { loadOntology } from '../../core/graph/ontology-file.ts';
import { parseChecks, type CheckDefinition } from '../../core/signals/check-file.ts';
import { dueChecks } from '../../core/signals/sweep.ts';
import { syncChecks } from '../../core/signals/sync-checks.ts';
import { endPass } from '../../core/tasks/passes.ts';
import { Producer } from '../../jobs/queues.ts';
import { openRedis } from '../../jobs/redis.ts';
import { startJobs, type Jobs } from '../../jobs/start.ts';
import { CoreWorld, type TestTask } from '../support/core-world.ts';
import { testRedis } from '../support/services.ts';

const NOTHING = { bytes: new Uint8Array(), totalBytes: 0, droppedBytes: 0, gapAt: undefined };
const DONE: RunEnd = {
  kind: 'exited',
  exitCode: 0,
  stdout: NOTHING,
  stderr: NOTHING,
  durationMs: 1,
  shell: 'sh',
};

let world: CoreWorld;
let redis: Redis;
let prefix: string;
let url: string;
let producer: Producer;
let producing: Redis;
let jobs: Jobs | undefined;

beforeEach(async () => {
  world = await CoreWorld.open();
  ({ url, prefix } = await testRedis());
  redis = new Redis(url);
  producing = openRedis(url, 'producer');
  await new Promise<void>((resolve) => producing.once('ready', () => resolve()));
  producer = new Producer(producing, prefix);
  jobs = undefined;
});
afterEach(async () => {
  await jobs?.stop();
  await producer.close();
  producing.disconnect();
  redis.disconnect();
  await world[Symbol.asyncDispose]();
});

/** The jobs role on real queues, with `run` in the place of every machine and `pass` in that of the agent. */
async function start(
  run: (request: RunRequest) => Promise<void>,
  pass: (id: PassId) => Promise<void> = endAtOnce,
  checks?: readonly CheckDefinition[],
): Promise<void> {
  jobs = await startJobs({
    database: world.database,
    feed: await world.feed(),
    redisUrl: url,
    prefix,
    runner: {
      run: async (request) => {
        await run(request);
        return DONE;
      },
      reattach: () => Promise.reject(new Error('nothing is attached to here')),
      cancel: () => Promise.resolve({ kind: 'never_started' }),
      close: () => Promise.resolve(),
    },
    mask: (text) => text,
    isOperator: () => true,
    runPass: pass,
    checks,
  });
}

async function endAtOnce(passId: PassId): Promise<void> {
  await world.database.write(async (unit) => {
    const { sessionId } = await unit.db.pass.findUniqueOrThrow({ where: { id: passId } });
    // What was read is no reason for another pass.
    await unit.db.message.updateMany({ where: { sessionId }, data: { takenInAt: new Date() } });
    await endPass(unit, { passId, state: 'done' });
  });
}

async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  const feed = await world.feed();
  const found = await feed.waitFor(() => true, look, { timeoutMs: 60_000 });
  if (found === undefined) throw new Error('it did not come to that');
  return found;
}

const completed = (ids: readonly string[]): Promise<true> =>
  until(async () => {
    const count = await world.database.read.execution.count({
      where: { id: { in: [...ids] }, status: 'completed' },
    });
    return count === ids.length ? true : undefined;
  });

async function look(task: TestTask, command = 'uptime'): Promise<string> {
  const outcome = await world.request(task, 'host:a', command);
  if (outcome.kind !== 'queued') throw new Error(`it is ${outcome.kind}`);
  return outcome.executionId;
}

const claims = (id: string): Promise<number> =>
  world.database.read.auditEntry.count({ where: { subject: id, action: 'execution.running' } });

test('J9: a job carries an id and nothing else', async () => {
  const [execution, pass] = [newId(), newId()];
  await producer.execution(execution, '7');
  await producer.pass(pass, '8');
  const data = (queue: string, job: string): Promise<string | null> =>
    redis.hget(`${prefix}:${queue}:${job}`, 'data');
  expect(await data('executions', `${execution}-7`)).toBe(JSON.stringify({ id: execution }));
  expect(await data('turns', `${pass}-8`)).toBe(JSON.stringify({ id: pass }));
});

test('J9, R2: jobs that come several times, late, or for no row start nothing a second time', async () => {
  const task = await world.task();
  const ran: string[] = [];
  await start(async ({ executionId }) => void ran.push(executionId));
  const id = await look(task);
  await Promise.all(['a', 'b', 'c'].map((round) => producer.execution(id, round)));
  await completed([id]);
  const stranger = newId();
  await producer.execution(id, 'late');
  await producer.execution(stranger, 'none');
  await producer.pass(stranger, 'none');
  // What comes after them in the queues is worked on, so they have been.
  await completed([await look(task, 'uptime -p')]);
  expect(await claims(id)).toBe(1);
  expect(ran.filter((one) => one === id)).toEqual([id]);
  expect(await world.database.read.execution.count({ where: { id: stranger } })).toBe(0);
});

test('R8, J9: what Redis has forgotten is made again from the database, and done once', async () => {
  const tasks = [await world.task('one'), await world.task('two')];
  const ids = [await look(tasks[0]!), await look(tasks[1]!, 'uname -a')];
  // As if all was handed over once, and FLUSHALL came before any worker looked.
  for (const id of ids) await producer.execution(id, 'first');
  const passes = await world.database.read.pass.findMany({ where: { state: 'queued' } });
  for (const { id } of passes) await producer.pass(id, 'first');
  const keys = await redis.keys(`${prefix}:*`);
  expect(keys.length).toBeGreaterThanOrEqual(4);
  await redis.del(...keys);
  const ran: string[] = [];
  await start(async ({ executionId }) => void ran.push(executionId));
  await completed(ids);
  await until(async () => {
    const open = await world.database.read.pass.count({
      where: { state: { in: ['queued', 'running'] } },
    });
    return open === 0 ? true : undefined;
  });
  expect(ran.toSorted()).toEqual(ids.toSorted());
});

test('J2, T4: passes of different tasks run side by side, those of one task one after another', async () => {
  const tasks = await Promise.all(['one', 'two', 'three'].map((text) => world.task(text)));
  const sessionOf = new Map<string, string>();
  const inHand = new Map<string, number>();
  let most = 0;
  const all = Promise.withResolvers<void>();
  await start(
    async () => {},
    async (passId) => {
      const { sessionId } = await world.database.read.pass.findUniqueOrThrow({
        where: { id: passId },
      });
      sessionOf.set(passId, sessionId);
      inHand.set(sessionId, (inHand.get(sessionId) ?? 0) + 1);
      most = Math.max(most, ...inHand.values());
      // Each waits for all: one after another they would wait for ever.
      if (inHand.size === tasks.length) all.resolve();
      await all.promise;
      inHand.set(sessionId, (inHand.get(sessionId) ?? 0) - 1);
      await endAtOnce(passId);
    },
  );
  await all.promise;
  await until(async () => {
    const done = await world.database.read.pass.count({ where: { state: 'done' } });
    return done >= tasks.length ? true : undefined;
  });
  expect(most).toBe(1);
  expect(new Set(sessionOf.values()).size).toBe(3);
});

test('S1, J9, R8: what is due is handed over and made once, by whichever worker, also when Redis has forgotten it', async () => {
  const ontology = loadOntology('seeds/ontology.yaml');
  const checks = parseChecks(
    'version: 1\nchecks:\n  - { name: reachable, kind: reachable, every: 1h }',
    'checks.yaml',
    ontology,
  );
  const { database } = world;
  await syncChecks(database, checks);
  const due = await dueChecks(database);
  // host:a, host:b and lxc:c: what is destroyed, and what has no shell, is not looked at.
  expect(due).toHaveLength(3);
  for (const one of due) await producer.check(one.id, one.due);
  for (const one of due) await producer.check(one.id, one.due);
  expect(await redis.keys(`${prefix}:checks:*-*`)).toHaveLength(3);
  await redis.del(...(await redis.keys(`${prefix}:*`)));
  const asked: string[] = [];
  const run = async ({ target, kind }: RunRequest): Promise<void> => {
    expect(kind).toBe('read');
    asked.push(target.container?.slug ?? target.host.slug);
  };
  await start(run, endAtOnce, checks);
  const first = jobs;
  await start(run, endAtOnce, checks);
  await until(async () => {
    const left = await database.read.check.count({ where: { status: null } });
    return left === 0 ? true : undefined;
  });
  await first?.stop();
  expect(asked.toSorted()).toEqual(['host:a', 'host:b', 'lxc:c']);
  expect(await database.read.check.count({ where: { status: 'ok', leaseOwner: null } })).toBe(3);
  expect(await dueChecks(database)).toEqual([]);
});
