import net from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Database } from '../../core/db/database.ts';
import { openConnection } from '../../core/db/pg.ts';
import { freshDatabase } from '../support/services.ts';

const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

/** What PostgreSQL says to a connection that it ends: `pg_terminate_backend`, or a restart. */
function terminated(): Buffer {
  const fields = ['SFATAL', 'VFATAL', 'C57P01', 'Mterminating connection'].join('\0');
  const body = Buffer.from(`${fields}\0\0`);
  const head = Buffer.alloc(5);
  head.write('E');
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

/** A line to PostgreSQL on which every connection is ended in one breath with being ready. */
async function cutAtReady(url: string): Promise<{ url: string; server: net.Server }> {
  const target = new URL(url);
  const port = Number(target.port);
  const server = net.createServer((near) => {
    const far = net.connect(port, target.hostname);
    near.on('error', () => far.destroy()).on('close', () => far.destroy());
    far.on('error', () => near.destroy()).on('close', () => near.destroy());
    near.pipe(far);
    far.on('data', (chunk) => {
      if (chunk.includes(READY)) near.end(Buffer.concat([chunk, terminated()]));
      else near.write(chunk);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  target.port = String((server.address() as net.AddressInfo).port);
  return { url: target.href, server };
}

let thrown: unknown[];
const keep = (error: unknown): void => void thrown.push(error);
let own: NodeJS.UncaughtExceptionListener[];
beforeEach(() => {
  thrown = [];
  own = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', keep);
});
afterEach(() => {
  process.off('uncaughtException', keep);
  for (const listener of own) process.on('uncaughtException', listener);
});

test('R9: a connection that PostgreSQL ends the moment it is made does not end the process', async () => {
  const { url, server } = await cutAtReady(await freshDatabase());
  const connection = await openConnection(url, 'test');
  await expect(connection.query('SELECT 1')).rejects.toThrow(/terminat|closed|queryable/i);
  await connection.end();
  server.close();
  expect(thrown).toEqual([]);
});

test('R6, R11: a process that falls silent in the middle of a transaction does not keep its rows locked for good', async () => {
  const url = await freshDatabase();
  const [silent, other] = await Promise.all([
    Database.connect(url, { connections: 1, idleTransactionMs: 500 }),
    Database.connect(url, { connections: 2 }),
  ]);
  await other.read.setting.create({ data: { key: 'row', value: 'before' } });
  const [locked, woken] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const first = silent.write(async ({ db }) => {
    await db.setting.update({ where: { key: 'row' }, data: { value: 'of the silent one' } });
    locked.resolve();
    await woken.promise;
    await db.setting.update({ where: { key: 'row' }, data: { value: 'of the silent one' } });
  });
  first.catch(() => {});
  await locked.promise;
  await other.write(async ({ db }) =>
    db.setting.update({ where: { key: 'row' }, data: { value: 'of the other' } }),
  );
  woken.resolve();
  // When it wakes up nothing of it counts; and it can work again.
  await expect(first).rejects.toThrow();
  const row = await silent.read.setting.findUniqueOrThrow({ where: { key: 'row' } });
  expect(row.value).toBe('of the other');
  await Promise.all([silent.close(), other.close()]);
  expect(thrown).toEqual([]);
});

test('Z9: the server finds by itself, within half a minute, that who holds a lock has gone without a word', async () => {
  const connection = await openConnection(await freshDatabase(), 'test');
  // Asked of the socket by the server.
  const setting = async (name: string): Promise<number> => {
    const { rows } = await connection.query<{ value: string }>(
      'SELECT current_setting($1) AS value',
      [name],
    );
    return Number(rows[0]?.value);
  };
  const idle = await setting('tcp_keepalives_idle');
  const interval = await setting('tcp_keepalives_interval');
  const count = await setting('tcp_keepalives_count');
  await connection.end();
  expect(idle).toBeGreaterThan(0);
  expect(idle + interval * count).toBeLessThanOrEqual(30);
});

test('J7: closing does not wait for a query that hangs behind a lock', async () => {
  const url = await freshDatabase();
  const [holder, stuck] = await Promise.all([openConnection(url, 'test'), Database.connect(url)]);
  await holder.query('BEGIN; LOCK TABLE settings');
  const hangs = stuck.read.setting.count();
  hangs.catch(() => {});
  await vi.waitFor(
    async () => {
      const { rows } = await holder.query(
        "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
      );
      expect(rows).toHaveLength(1);
    },
    { timeout: 30_000 },
  );
  await stuck.close();
  await holder.query('ROLLBACK');
  await hangs.catch(() => {});
  await holder.end();
});
