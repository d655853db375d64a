import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openApi } from '../../core/api/openapi.ts';
import { openRoutes, ROUTES } from '../../core/api/routes/index.ts';
import { newId } from '../../core/ids.ts';
import { queuePass } from '../../core/tasks/turns.ts';
import { ApiWorld, KNOWN_SECRET } from '../support/api-world.ts';
import { ann } from '../support/core-world.ts';

let world: ApiWorld;
let reader: string;
let worker: string;

beforeAll(async () => {
  world = await ApiWorld.open({ redis: true });
  reader = await world.token(['read']);
  worker = await world.token(['operate']);
});
afterAll(() => world[Symbol.asyncDispose]());

const slugs = (body: Record<string, unknown>, key = 'entities'): string[] =>
  (body[key] as Array<{ slug: string }>).map(({ slug }) => slug);

describe('the fleet', () => {
  it('H1, F1: lists entities page by page, each once, narrowed by type, state and text', async () => {
    const all = slugs((await world.get('/api/v1/entities', reader)).body);
    expect(all).toEqual(['host:a', 'host:b', 'host:old', 'lxc:c', 'service:web@a']);
    const found: string[] = [];
    for (let next: string | null = ''; next !== null;) {
      const before: string = next === '' ? '' : `&before=${encodeURIComponent(next)}`;
      const { body } = await world.get(`/api/v1/entities?limit=2${before}`, reader);
      found.push(...slugs(body));
      next = body['next'] as string | null;
    }
    expect(found).toEqual(all);
    const by = async (query: string) =>
      slugs((await world.get(`/api/v1/entities?${query}`, reader)).body);
    expect(await by('type=host')).toEqual(['host:a', 'host:b', 'host:old']);
    expect(await by('state=destroyed')).toEqual(['host:old']);
    expect(await by('text=core')).toEqual(['host:b']);
    expect(await by('health=failing')).toEqual([]);
  });

  it('H1, P8: shows one entity with its relations, and what depends on it', async () => {
    const { body } = await world.get('/api/v1/entities/host:a', reader);
    expect(body).toMatchObject({
      slug: 'host:a',
      type: 'host',
      health: 'unknown',
      attributes: { address: '192.0.2.1' },
      relations: expect.arrayContaining([
        { direction: 'in', type: 'runs_on', slug: 'service:web@a' },
      ]),
    });
    expect((await world.get('/api/v1/entities/a', reader)).body['slug']).toBe('host:a');
    const blast = await world.get('/api/v1/entities/host%3Aa/blast-radius', reader);
    expect(blast.body).toMatchObject({
      slug: 'host:a',
      names: expect.arrayContaining([{ slug: 'service:web@a', depth: 1 }]),
    });
    expect(blast.body['total']).toBe((blast.body['byDepth'] as number[]).reduce((a, b) => a + b));
  });

  it('H1: shows the graph, whole or around an entity', async () => {
    const whole = await world.get('/api/v1/graph', reader);
    expect(slugs(whole.body, 'nodes')).toHaveLength(5);
    expect(whole.body).toMatchObject({ cut: false });
    expect(whole.body['edges']).toContainEqual(
      expect.objectContaining({ source: 'service:web@a', type: 'runs_on', target: 'host:a' }),
    );
    const near = await world.get('/api/v1/graph?around=service:web@a&depth=1', reader);
    expect(slugs(near.body, 'nodes')).toEqual(['host:a', 'service:web@a']);
    expect((await world.get('/api/v1/graph?limit=1', reader)).body).toMatchObject({ cut: true });
    expect((await world.get('/api/v1/graph?around=host:b', reader)).body).toMatchObject({
      nodes: [{ slug: 'host:b' }],
      edges: [],
    });
  });

  it.each([
    ['/api/v1/entities/host:none', 404],
    ['/api/v1/entities/host:none/blast-radius', 404],
    ['/api/v1/graph?around=host:none', 404],
    ['/api/v1/graph?depth=2', 400],
    ['/api/v1/graph?around=host:a&depth=9', 400],
    ['/api/v1/entities?before=x', 400],
    ['/api/v1/entities?type=', 400],
    ['/api/v1/graph?around=', 400],
    ['/api/v1/entities?type=%00', 400],
    ['/api/v1/entities/%00', 400],
    ['/api/v1/entities?limit=1001', 400],
    ['/api/v1/activity?before=0', 400],
    ['/api/v1/audit?before=0', 400],
    ['/api/v1/audit/verify?x=1', 400],
    ['/api/v1/events?after=-1', 400],
    [`/api/v1/sessions/${newId()}/plan`, 404],
    [`/api/v1/sessions/${newId()}/questions`, 404],
    [`/api/v1/sessions/${newId()}/executions`, 404],
    [`/api/v1/approvals/${newId()}`, 404],
  ])('Z7: %s is answered %i with a problem', async (path, status) => {
    const answer = await world.get(path, reader);
    expect([answer.status, answer.headers['content-type']]).toEqual([
      status,
      'application/problem+json; charset=utf-8',
    ]);
  });
});

describe('what a task has, and what is done with it', () => {
  it('H1: plan, questions, executions, one approval, activity, audit entries', async () => {
    const task = await world.core.task('look at it all');
    const { sessionId } = task;
    const asked = await world.core.request(task, 'host:b', 'systemctl restart nginx');
    await world.core.database.write(async (unit) => {
      await unit.db.planStep.create({
        data: { id: newId(), sessionId, generation: 1, seq: 1, title: `use ${KNOWN_SECRET}` },
      });
      const passId = await queuePass(unit, { ...task, cause: 'message' });
      await unit.db.toolCall.createMany({
        data: ['list_entities', 'get_entity', 'run'].map((name, index) => ({
          ...{ id: newId(), sessionId, turnId: task.turnId, passId, name, callId: `c${index}` },
          ...{ arguments: {}, entitySlug: index === 1 ? 'host:b' : null },
        })),
      });
    });
    const of = async (path: string) => (await world.get(path, reader)).body;
    expect(await of(`/api/v1/sessions/${sessionId}/plan`)).toMatchObject({
      plan: [{ seq: 1, title: 'use [masked]', status: 'pending' }],
    });
    expect(await of(`/api/v1/sessions/${sessionId}/questions`)).toEqual({ questions: [] });
    expect(await of(`/api/v1/sessions/${sessionId}/executions`)).toMatchObject({
      executions: [{ id: asked.executionId, target: 'host:b', status: 'pending_approval' }],
      next: null,
    });
    const { approvalId } = (await of(`/api/v1/executions/${asked.executionId}`)) as {
      approvalId: string;
    };
    expect(await of(`/api/v1/approvals/${approvalId}`)).toMatchObject({
      status: 'pending',
      decidedBy: null,
      executions: [{ id: asked.executionId }],
    });
    const path = `/api/v1/activity?session=${sessionId}`;
    const first = (await of(`${path}&limit=2`)) as { activity: unknown[]; next: number };
    const rest = await of(`${path}&limit=2&before=${first.next}`);
    expect([...first.activity, ...(rest['activity'] as unknown[])]).toMatchObject([
      { tool: 'run' },
      { tool: 'get_entity', entity: 'host:b' },
      { tool: 'list_entities', sessionId, state: 'requested' },
    ]);
    expect(rest['next']).toBeNull();
    expect((await of(`${path}&entity=host:b`))['activity']).toHaveLength(1);
    const { entries } = (await of(`/api/v1/audit?session=${sessionId}&action=task.`)) as {
      entries: Array<{ action: string; actor: string }>;
    };
    expect(entries).toMatchObject([{ action: 'task.opened', actor: ann.userId }]);
  });

  it('H1, C9: goes on with a task that waits, once; H1, T11: puts it away and deletes it', async () => {
    const { sessionId } = await world.core.task('stuck');
    const path = `/api/v1/sessions/${sessionId}`;
    expect((await world.post(`${path}/resume`, worker)).body).toEqual({ result: 'working' });
    await world.post(`${path}/stop`, worker);
    expect((await world.post(`${path}/resume`, worker)).body).toEqual({ result: 'resumed' });
    await world.post(`${path}/stop`, worker);
    expect((await world.post(`${path}/resume`, worker)).body).toEqual({ result: 'just_resumed' });
    expect((await world.post(`${path}/archive`, worker)).body).toEqual({ result: 'archived' });
    expect((await world.post(`${path}/archive`, worker)).body).toEqual({ result: 'already' });
    expect(await world.post(`${path}/resume`, worker)).toMatchObject({
      status: 409,
      body: { code: 'task_archived' },
    });
    expect((await world.call('DELETE', path, { token: worker })).body).toEqual({
      result: 'deleted',
    });
  });
});

describe('what the API says of itself', () => {
  it('H4: is one OpenAPI document of every route, each with its answer, its scope and its problems', async () => {
    const { status, text } = await world.get('/api/v1/openapi.json', reader);
    expect(status).toBe(200);
    const document = JSON.parse(text) as ReturnType<typeof openApi>;
    expect(document).toEqual(
      JSON.parse(JSON.stringify(openApi([...openRoutes, ...ROUTES], '9.8.7'))),
    );
    const paths = document['paths'] as Record<string, Record<string, Record<string, unknown>>>;
    const described = Object.entries(paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`),
    );
    const served = [...openRoutes, ...ROUTES].map(({ method, path }) => `${method} ${path}`);
    expect(described.toSorted()).toEqual(served.toSorted());
    const operations = Object.values(paths).flatMap((item) => Object.values(item));
    expect(new Set(operations.map((one) => one['operationId'])).size).toBe(operations.length);
    for (const operation of operations) {
      const open = (operation['security'] as unknown[]).length === 0;
      const statuses = Object.keys(operation['responses'] as object);
      expect(statuses).toEqual(
        expect.arrayContaining(['400', '500', ...(open ? [] : ['401', '403'])]),
      );
    }
  });

  it('H5: gives Prometheus its figures, of the installation and of the process', async () => {
    const task = await world.core.task('count me');
    await world.core.request(task, 'host:b', 'systemctl restart sshd');
    await world.core.database.read.pass.updateMany({
      where: { sessionId: task.sessionId },
      data: { modelCalls: 3, tokensIn: 1_200, tokensOut: 80 },
    });
    const { status, headers, text } = await world.get('/metrics', reader);
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    const value = (name: string): number =>
      Number(
        text
          .split('\n')
          .find((line) => line.startsWith(`${name} `))
          ?.split(' ')[1],
      );
    expect(value('nomos_database_up')).toBe(1);
    expect(value('nomos_info{version="9.8.7"}')).toBe(1);
    expect(value('nomos_tasks{status="awaiting_approval"}')).toBeGreaterThanOrEqual(1);
    expect(value('nomos_executions{status="pending_approval"}')).toBeGreaterThanOrEqual(1);
    expect(value('nomos_passes{state="queued"}')).toBeGreaterThanOrEqual(1);
    expect(value('nomos_pass_oldest_seconds')).toBeGreaterThan(0);
    expect(value('nomos_model_calls_total')).toBe(3);
    expect(value('nomos_tokens_in_total')).toBe(1_200);
    expect(value('nomos_sync_age_seconds')).toBeNaN();
    expect(value('nomos_paused')).toBe(0);
    expect(value('process_resident_memory_bytes')).toBeGreaterThan(1e6);
    expect(text).toContain('nodejs_eventloop_lag_seconds');
    expect(text).toMatch(
      /nomos_http_request_seconds_count\{[^}]*route="\/api\/v1\/graph"[^}]*\} [1-9]/,
    );
    // Every line is a comment, a sample, or empty; and no metric is told twice.
    for (const line of text.split('\n')) expect(line).toMatch(/^(#.*|[a-z0-9_]+(\{.*\})? \S+|)$/);
    const types = text.match(/^# TYPE \S+/gm) ?? [];
    expect(new Set(types).size).toBe(types.length);
  });
});
