import { failed, networkTrouble, ok, warning, type Finding } from './finding.ts';
import { RedisLook, RedisRefusal } from './redis-client.ts';

const OLDEST = 7;

/** Redis or Valkey: reachable, new enough, and told never to drop a job by itself. */
export async function checkRedis(url: string): Promise<Finding[]> {
  const { host } = new URL(url);
  let look: RedisLook | undefined;
  try {
    look = await RedisLook.open(url);
    return [await version(look, host), await policy(look)];
  } catch (error) {
    const refused = error instanceof RedisRefusal;
    return [
      failed(
        'redis',
        `Redis at ${host}: ${refused ? `it refuses: ${error.message}` : networkTrouble(error)}`,
        refused && /NOAUTH|WRONGPASS|AUTH/i.test(error.message)
          ? 'Put the password into REDIS_URL: redis://:password@host:port/number.'
          : 'Check REDIS_URL and that the server is up.',
      ),
    ];
  } finally {
    look?.close();
  }
}

async function version(look: RedisLook, host: string): Promise<Finding> {
  const info = String(await look.send('INFO', 'server'));
  const valkey = /^valkey_version:(.+)$/m.exec(info)?.[1]?.trim();
  const redis = /^redis_version:(.+)$/m.exec(info)?.[1]?.trim() ?? 'of an unknown version';
  const detail = `${valkey === undefined ? `Redis ${redis}` : `Valkey ${valkey}`} at ${host}`;
  return Number.parseInt(redis, 10) >= OLDEST
    ? ok('redis', detail)
    : failed('redis', detail, `Nomos needs Redis ${OLDEST} or newer, or Valkey.`);
}

async function policy(look: RedisLook): Promise<Finding> {
  const name = 'redis memory policy';
  const mend = 'Set `maxmemory-policy noeviction` in its configuration.';
  let answer;
  try {
    answer = await look.send('CONFIG', 'GET', 'maxmemory-policy');
  } catch (error) {
    if (!(error instanceof RedisRefusal)) throw error;
    return warning(name, `it may not be asked: ${error.message}`, `See to it yourself: ${mend}`);
  }
  const value = Array.isArray(answer) ? String(answer[1]) : 'unknown';
  return value === 'noeviction'
    ? ok(name, value)
    : failed(name, `${value}: jobs may be dropped when memory runs short`, mend);
}
