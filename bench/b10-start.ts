import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { MatrixAccounts } from '../demo/services/matrix-accounts.ts';
import type { Benchmark } from './lib/benchmark.ts';
import { NomosProcess } from './lib/nomos.ts';
import { inTurn, ratio, summarise, timed } from './lib/stats.ts';

/** From the start of the process to /readyz, with all three roles and the services up. */
export const startBench: Benchmark = {
  id: 'B10',
  title: 'ready after a start',
  async run({ services, quick }) {
    const [database, redis, homeserver] = await Promise.all([
      services.ask('/database'),
      services.ask('/redis'),
      services.ask('/homeserver'),
    ]);
    const accounts = new MatrixAccounts(homeserver.url, homeserver.registrationSecret);
    const bot = await accounts.register(`b10-${process.pid}`, 'a-password-for-the-bench');
    if (bot === undefined) throw new Error('the bot has no account');
    const env = {
      DATABASE_URL: database.url,
      REDIS_URL: redis.url,
      MATRIX_HOMESERVER_URL: homeserver.url,
      MATRIX_ACCESS_TOKEN: bot.accessToken,
      NOMOS_OPERATORS: '@ann:test.local=admin',
      OPENAI_BASE_URL: 'http://127.0.0.1:9/v1',
      OPENAI_API_KEY: 'none',
      NOMOS_MODEL: 'none',
      NOMOS_API_LISTEN: '127.0.0.1:0',
    };
    const ours = async (): Promise<number> => {
      let ready = 0;
      const from = performance.now();
      await using nomos = NomosProcess.start(env);
      const [, url] = await nomos.said(/API at (http:\/\/[^ ]+)\./);
      await answersReady(`${url}/readyz`);
      ready = performance.now() - from;
      return ready;
    };
    const bare = (): Promise<number> =>
      timed(() => once(spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' }), 'exit'));
    const { start, node } = await inTurn(
      { start: ours, node: bare },
      { rounds: quick ? 1 : 7, warmUps: 1 },
    );
    const over = ratio(start, node);
    return [
      {
        name: 'ready, all roles',
        value: summarise(start).median / 1000,
        unit: 's',
        goal: { atMost: 3 },
        sides: { start: summarise(start), 'node -e 0': summarise(node) },
      },
      { name: 'ready, over a node that does nothing', value: over.value, unit: '×', range: over },
    ];
  },
};

async function answersReady(url: string): Promise<void> {
  for (;;) {
    const response = await fetch(url).catch(() => undefined);
    if (response?.ok === true) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
