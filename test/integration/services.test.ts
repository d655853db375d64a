import pg from 'pg';
import { expect, test } from 'vitest';
import { emptyDatabase, freshDatabase, testHomeserver, testRedis } from '../support/services.ts';

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

test('each test has a database of its own, with the migrations', async () => {
  const [one, other] = await Promise.all([freshDatabase(), freshDatabase()]);
  expect(one).not.toBe(other);
  await query(one, 'CREATE TABLE only_here (n int)');
  expect(await query(other, "SELECT to_regclass('only_here') AS found")).toEqual([{ found: null }]);
  expect(await query(other, "SELECT to_regclass('sessions')::text AS found")).toEqual([
    { found: 'sessions' },
  ]);
});

test('an empty database has no table', async () => {
  const url = await emptyDatabase();
  expect(
    await query(url, "SELECT count(*)::int AS n FROM pg_tables WHERE schemaname = 'public'"),
  ).toEqual([{ n: 0 }]);
});

test('Redis prefixes differ, users are signed in', async () => {
  const [one, other] = [await testRedis(), await testRedis()];
  expect(one.url).toBe(other.url);
  expect(one.prefix).not.toBe(other.prefix);
  const homeserver = await testHomeserver();
  const user = await homeserver.newUser('ann');
  const response = await fetch(`${homeserver.url}/_matrix/client/v3/account/whoami`, {
    headers: { authorization: `Bearer ${user.accessToken}` },
  });
  expect(await response.json()).toMatchObject({ user_id: user.userId, device_id: user.deviceId });
  const again = await homeserver.login(user.userId, user.password);
  expect(again.deviceId).not.toBe(user.deviceId);
});
