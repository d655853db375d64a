import { Database } from '../core/db/database.ts';
import { asId, type UserId } from '../core/ids.ts';
import { openTask } from '../core/tasks/open.ts';
import type { Benchmark } from './lib/benchmark.ts';
import { NomosProcess } from './lib/nomos.ts';
import { startSlowModel } from './lib/slow-model.ts';

const THINK_MS = 1_000;

/**
 * Many tasks at once with a model that answers in a second. Each makes nine reads of the fleet graph and then answers, one model
 * call after the other, so that the ideal is ten seconds for all of them together. Nomos is a process of its own with the roles
 * jobs and API; what Matrix costs is B1's.
 */
export const manyTasksBench: Benchmark = {
  id: 'B5',
  title: '100 tasks at once',
  async run({ services, quick, say }) {
    const tasks = quick ? 10 : 100;
    const reads = quick ? 2 : 9;
    const [database, redis] = await Promise.all([
      services.ask('/database'),
      services.ask('/redis'),
    ]);
    const model = await startSlowModel(THINK_MS, reads);
    const db = await Database.connect(database.url, { connections: 2 });
    try {
      await using nomos = NomosProcess.start(
        {
          DATABASE_URL: database.url,
          REDIS_URL: redis.url,
          MATRIX_HOMESERVER_URL: 'http://127.0.0.1:9',
          MATRIX_ACCESS_TOKEN: 'not-used-without-the-bot',
          NOMOS_OPERATORS: '@ann:test.local=admin',
          OPENAI_BASE_URL: model.baseUrl,
          OPENAI_API_KEY: 'none',
          NOMOS_MODEL: 'slow',
          NOMOS_API_LISTEN: '127.0.0.1:0',
          NOMOS_LOG_LEVEL: 'warn',
        },
        'jobs,api',
      );
      await nomos.said(/API at/);
      const idleMiB = await nomos.memoryMiB('VmRSS');
      const opened = performance.now();
      await db.write(async (unit) => {
        for (let n = 0; n < tasks; n++) {
          await openTask(unit, {
            by: asId<UserId>('@ann:test.local'),
            text: `How is the fleet, part ${n}?`,
            origin: { kind: 'lobby' },
          });
        }
      });
      const from = performance.now();
      say(`${tasks} tasks were opened in ${Math.round(from - opened)} ms`);
      while ((await db.read.pass.count({ where: { state: 'done' } })) < tasks)
        await new Promise((resolve) => setTimeout(resolve, 50));
      const tookMs = performance.now() - from;
      const failed = await db.read.pass.count({ where: { state: { not: 'done' } } });
      if (failed > 0 || model.answered !== tasks * (reads + 1))
        throw new Error(`${failed} passes failed; the model answered ${model.answered} times`);
      const idealMs = (reads + 1) * THINK_MS;
      say(`${model.answered} model calls in ${(tookMs / 1000).toFixed(1)} s`);
      return [
        {
          name: 'throughput, of what the model allows',
          value: (100 * idealMs) / tookMs,
          unit: '%',
          goal: { atLeast: 90 },
        },
        {
          name: 'most memory of the process',
          value: await nomos.memoryMiB('VmHWM'),
          unit: 'MiB',
          goal: { atMost: 400 },
        },
        { name: 'memory before', value: idleMiB, unit: 'MiB' },
      ];
    } finally {
      await db.close();
      await model.stop();
    }
  },
};
