import { Redis } from 'ioredis';
import { NomosError, errorText } from '../core/errors.ts';
import { log } from '../core/log.ts';

const CONNECT_MS = 10_000;

/** What a connection is for: a worker waits for Redis however long it is away, a producer fails at once (design 5). */
export type RedisUse = 'worker' | 'producer';

/** Opens a connection. Reconnects by itself; a lost one is told in the log once, not at every try. */
export function openRedis(url: string, use: RedisUse): Redis {
  const redis = new Redis(url, {
    maxRetriesPerRequest: use === 'worker' ? null : 1,
    enableOfflineQueue: use === 'worker',
    connectTimeout: CONNECT_MS,
    retryStrategy: (times) => Math.min(times * 100, 2_000),
  });
  let told = false;
  redis.on('error', (error) => {
    if (!told)
      log.warn(
        { error: errorText(error), use },
        'Redis is away; work goes on from Postgres when it is back',
      );
    told = true;
  });
  redis.on('ready', () => {
    if (told) log.info({ use }, 'Redis is back');
    told = false;
  });
  return redis;
}

/** Waits for the first connection. Throws `redis_unreachable` with the address that was tried (never the password). */
export async function awaitRedis(redis: Redis): Promise<void> {
  if (redis.status === 'ready') return;
  await new Promise<void>((resolve, reject) => {
    let last: unknown;
    const timer = setTimeout(() => {
      reject(
        new NomosError(
          'redis_unreachable',
          'system',
          `Cannot reach Redis at ${redis.options.host}:${redis.options.port}: ${errorText(last ?? 'no answer')}`,
          { hint: 'Check REDIS_URL and that the server is up.' },
        ),
      );
    }, CONNECT_MS);
    redis.on('error', (error) => (last = error));
    redis.once('ready', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
