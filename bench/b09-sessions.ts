import { ApiWorld } from '../test/support/api-world.ts';
import type { Benchmark } from './lib/benchmark.ts';
import { inTurn, ratio, summarise, timed } from './lib/stats.ts';

const SESSIONS = 10_000;
const EVENTS = 1_000_000;

/** `GET /api/v1/sessions` over HTTP with many tasks and a long log: a first page, a page far back, one status, and a search. */
export const sessionsBench: Benchmark = {
  id: 'B9',
  title: 'the list of tasks with a long history',
  async run({ quick, say }) {
    await using world = await ApiWorld.open();
    await fill(world, quick ? 50 : 1);
    const headers = { authorization: `Bearer ${await world.token(['read'])}` };
    const get = async (path: string): Promise<{ next: string | null }> => {
      const response = await fetch(world.server.url + path, { headers });
      const body = (await response.json()) as { next: string | null };
      if (!response.ok) throw new Error(`${path}: ${JSON.stringify(body)}`);
      return body;
    };
    let before = '';
    for (let page = 0; page < (quick ? 2 : 40); page++) {
      const { next } = await get(`/api/v1/sessions?limit=100${before && `&before=${before}`}`);
      if (next === null) break;
      before = next;
    }
    say(`a page far back begins at ${before}`);
    const side = (path: string) => () => timed(() => get(path));
    const times = await inTurn(
      {
        'first page': side('/api/v1/sessions'),
        'far back': side(`/api/v1/sessions?before=${before}`),
        'one status': side('/api/v1/sessions?status=awaiting_approval'),
        search: side('/api/v1/sessions?text=needle-77'),
        health: side('/healthz'),
      },
      { rounds: quick ? 10 : 300, warmUps: 10 },
    );
    const sides = Object.fromEntries(
      Object.entries(times).map(([name, samples]) => [name, summarise(samples)]),
    );
    const p95 = (name: keyof typeof times): number => summarise(times[name]).p95;
    const overHealth = ratio(times['first page'], times.health);
    return [
      {
        name: '95th percentile of the first page',
        value: p95('first page'),
        unit: 'ms',
        goal: { atMost: 20 },
        sides,
      },
      {
        name: '95th percentile of a page far back',
        value: p95('far back'),
        unit: 'ms',
        goal: { atMost: 20 },
      },
      {
        name: '95th percentile of one status',
        value: p95('one status'),
        unit: 'ms',
        goal: { atMost: 20 },
      },
      { name: '95th percentile of a search in words', value: p95('search'), unit: 'ms' },
      {
        name: 'the first page, over /healthz',
        value: overHealth.value,
        unit: '×',
        range: overHealth,
      },
    ];
  },
};

async function fill(world: ApiWorld, scale: number): Promise<void> {
  const [sessions, events] = [SESSIONS / scale, EVENTS / scale];
  const db = world.core.database.read;
  await db.$executeRaw`
      INSERT INTO sessions (id, short_id, goal, title, status, outcome, summary, created_by, origin, created_at, last_activity_at, ended_at)
      SELECT gen_random_uuid(), 'b' || n, 'look after host ' || n, 'Look after host ' || n,
        (CASE WHEN n % 100 = 0 THEN 'awaiting_approval' ELSE 'done' END)::session_status,
        (CASE WHEN n % 100 = 0 THEN NULL ELSE 'success' END)::session_outcome, 'needle-' || n % 500, '@ann:test', '{}',
        now() - make_interval(mins => n), now() - make_interval(mins => n), CASE WHEN n % 100 = 0 THEN NULL ELSE now() END
      FROM generate_series(1, ${sessions}::int) n`;
  await db.$executeRaw`
      INSERT INTO approvals (id, short_id, kind, session_id, risk, subject_hash, needs_typed, expires_at, status)
      SELECT gen_random_uuid(), 'a' || row_number() OVER (), 'execution', id, 'config_mutation', 'x', false, now() + interval '1 hour',
        (CASE WHEN status = 'awaiting_approval' AND k = 1 THEN 'pending' ELSE 'approved' END)::approval_status
      FROM sessions, generate_series(1, 5) k`;
  await db.$executeRaw`ALTER TABLE events DISABLE TRIGGER events_notify`;
  await db.$executeRaw`
      INSERT INTO events (type, session_id, ref_id, data)
      SELECT 'execution.changed', s.id, NULL, '{"from":"queued","to":"running"}'
      FROM (SELECT id, row_number() OVER () AS at FROM sessions) s, generate_series(1, ${Math.ceil(events / sessions)}::int)`;
  await db.$executeRaw`ALTER TABLE events ENABLE TRIGGER events_notify`;
  await db.$executeRaw`ANALYZE`;
}
