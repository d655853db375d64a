import { sql } from '../core/db/database.ts';
import { blastRadius } from '../core/graph/blast-radius.ts';
import { asId, type EntityId } from '../core/ids.ts';
import { CoreWorld } from '../test/support/core-world.ts';
import type { Benchmark } from './lib/benchmark.ts';
import { summarise, timed } from './lib/stats.ts';

const ENTITIES = 100_000;
const EDGES = 300_000;

/**
 * Blast radius in a graph of 100,000 entities and 300,000 edges: 2,000 hosts, 18,000 containers on them, 80,000 services in those,
 * and 202,000 dependencies of services on others, three of four within the next thousand, one of four anywhere.
 */
export const blastRadiusBench: Benchmark = {
  id: 'B7',
  title: 'blast radius in a large graph',
  async run({ quick, say }) {
    await using world = await CoreWorld.open();
    const db = world.database.read;
    const scale = quick ? 20 : 1;
    await fill(world, scale);
    const [count] = await db.$queryRaw<Array<{ entities: number; edges: number }>>`
      SELECT (SELECT count(*)::int FROM entities) AS entities, (SELECT count(*)::int FROM relationships) AS edges`;
    say(`${count?.entities} entities, ${count?.edges} edges`);
    const picked = async (type: string | undefined): Promise<EntityId[]> => {
      const rows = await db.$queryRaw<Array<{ id: string }>>(sql`
        SELECT id FROM entities WHERE slug LIKE ${type === undefined ? 'big-%' : `big-${type}:%`}
        ORDER BY md5(slug) LIMIT ${quick ? 20 : 300}`);
      return rows.map(({ id }) => asId<EntityId>(id));
    };
    const measure = async (ids: readonly EntityId[]) => {
      const times: number[] = [];
      const trips: number[] = [];
      const sizes: number[] = [];
      for (const id of ids.slice(0, 10)) await blastRadius(db, id);
      for (const id of ids) {
        const from = performance.now();
        sizes.push((await blastRadius(db, id)).total);
        times.push(performance.now() - from);
        trips.push(await timed(() => db.$queryRaw`SELECT 1`));
      }
      return {
        time: summarise(times),
        'SELECT 1': summarise(trips),
        'entities reached': summarise(sizes),
      };
    };
    const any = await measure(await picked(undefined));
    const hosts = await measure(await picked('host'));
    return [
      {
        name: '95th percentile, of any entity',
        value: any.time.p95,
        unit: 'ms',
        goal: { atMost: 20 },
        sides: any,
      },
      {
        name: `95th percentile, of a host (median ${Math.round(hosts['entities reached'].median)} reached)`,
        value: hosts.time.p95,
        unit: 'ms',
        sides: hosts,
      },
      {
        name: 'median of any entity, over SELECT 1',
        value: any.time.median / any['SELECT 1'].median,
        unit: '×',
      },
    ];
  },
};

async function fill(world: CoreWorld, scale: number): Promise<void> {
  const hosts = Math.round(2_000 / scale);
  const containers = Math.round(18_000 / scale);
  const services = Math.round(ENTITIES / scale) - hosts - containers;
  const dependencies = Math.round(EDGES / scale) - containers - services;
  const db = world.database.read;
  await db.$executeRaw`
      CREATE UNLOGGED TABLE big AS
      SELECT gen_random_uuid() AS id, n,
        CASE WHEN n < ${hosts} THEN 'host' WHEN n < ${hosts + containers} THEN 'lxc' ELSE 'service' END AS type
      FROM generate_series(0, ${hosts + containers + services - 1}) n`;
  await db.$executeRaw`CREATE INDEX ON big (n)`;
  await db.$executeRaw`
      INSERT INTO entities (id, slug, type, name, state, attributes, source)
      SELECT id, 'big-' || type || ':' || n, type, 'big-' || n, 'active', '{}', 'bench' FROM big`;
  // Both counts of the series are multiplied by primes, so that the graph looks random and is always the same.
  await db.$executeRaw`
      INSERT INTO relationships (id, source_id, type, target_id, origin)
      SELECT gen_random_uuid(), h.id, 'hosts', c.id, 'bench'
      FROM big c JOIN big h ON h.n = (c.n::bigint * 7919) % ${hosts} WHERE c.type = 'lxc'`;
  await db.$executeRaw`
      INSERT INTO relationships (id, source_id, type, target_id, origin)
      SELECT gen_random_uuid(), s.id, 'runs_on', c.id, 'bench'
      FROM big s JOIN big c ON c.n = ${hosts} + (s.n::bigint * 7919) % ${containers} WHERE s.type = 'service'`;
  await db.$executeRaw`
      INSERT INTO relationships (id, source_id, type, target_id, origin)
      SELECT gen_random_uuid(), s.id, 'depends_on', t.id, 'bench'
      FROM generate_series(1, ${dependencies}) d
      JOIN big s ON s.n = ${hosts + containers} + d % ${services}
      JOIN big t ON t.n = ${hosts + containers} +
        (CASE WHEN d % 4 = 0 THEN d::bigint * 15485863 + 7 * (d / ${services}) ELSE (d % ${services}) + 1 + (d::bigint * 6700417) % 997 END) % ${services}
      ON CONFLICT DO NOTHING`;
  // As autovacuum does after so many new rows; without it no index can answer alone.
  for (const table of ['entities', 'relationships'])
    await db.$executeRawUnsafe(`VACUUM ANALYZE ${table}`);
}
