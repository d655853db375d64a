import { afterEach, expect, test } from 'vitest';
import { digestCard } from '../../bot/cards/digest.ts';
import { digestState } from '../../bot/projector/load-digest.ts';
import type { SessionId } from '../../core/ids.ts';
import { agentBench, type AgentBench } from '../support/agent-bench.ts';
import type { AskedRequest, Step } from '../support/scripted-model.ts';

let bench: AgentBench;
afterEach(() => bench.close());

type Call = [name: string, args: Record<string, unknown>];

function calls(...list: Call[]): Step {
  return { toolCalls: list.map(([name, args]) => ({ name, arguments: args })) };
}

const note = (slug: string, attributes: Record<string, unknown>): Call => [
  'update_entity_attributes',
  { slug, attributes },
];
const relate = (source: string, type: string, target: string): Call => [
  'create_relationship',
  { source, type, target },
];

function results(request: AskedRequest | undefined): Array<Record<string, unknown>> {
  return (request?.messages ?? [])
    .filter((message) => message.role === 'tool')
    .map((message) => JSON.parse(message.content ?? '') as Record<string, unknown>);
}

/** Runs one pass that makes these calls in order, and gives what the model got for each. */
async function make(...list: Call[]): Promise<Array<Record<string, unknown>>> {
  bench = await agentBench(() => ({}), calls(...list), { text: 'Noted.' });
  const { sessionId } = await bench.open('write it down');
  await bench.pass(sessionId);
  return results(bench.model.requests[1]);
}

async function attributes(slug: string): Promise<unknown> {
  const entity = await bench.database.read.entity.findUniqueOrThrow({ where: { slug } });
  return entity.attributes;
}

const audited = async (action: string) =>
  bench.database.read.auditEntry.findMany({ where: { action }, orderBy: { id: 'asc' } });

test('K8: facts are merged into an entity without an approval; each change is an event and an audit entry', async () => {
  const told = await make(
    note('web-1', { nginx_version: '1.26.2', role: 'proxy' }),
    note('host:web-1', { nginx_version: '1.26.2' }),
    note('host:web-1', { role: null, ports: [80, 443] }),
  );
  expect(told).toEqual([
    { slug: 'host:web-1', changed: ['nginx_version', 'role'] },
    { slug: 'host:web-1', changed: [], note: expect.any(String) as string },
    { slug: 'host:web-1', changed: ['ports', 'role'] },
  ]);
  const now = await attributes('host:web-1');
  expect(now).toMatchObject({
    address: '192.0.2.1',
    nginx_version: '1.26.2',
    ports: [80, 443],
  });
  expect(now).not.toHaveProperty('role');
  expect(await bench.database.read.approval.count()).toBe(0);
  expect((await audited('graph.attributes_changed')).map(({ data }) => data)).toEqual([
    {
      before: { nginx_version: null, role: 'web' },
      after: { nginx_version: '1.26.2', role: 'proxy' },
    },
    { before: { role: 'proxy', ports: null }, after: { role: null, ports: [80, 443] } },
  ]);
  expect(
    await bench.database.read.event.count({
      where: { type: 'graph.changed', sessionId: { not: null } },
    }),
  ).toBe(2);
});

test('K8, X12, P6: what decides where commands go or which rules hold cannot be written; a bad one writes nothing', async () => {
  const told = await make(
    note('host:web-1', { address: '198.51.100.66', note: 'mine now' }),
    note('lxc:dns', { host: 'host:web-1' }),
    note('host:web-1', { tags: [] }),
    note('host:web-1', { url: 'http://169.254.169.254/' }),
    note('host:web-1', { _file_state: 'retired' }),
    note('host:web-1', { 'Nginx Version': '1' }),
    note('host:web-1', { log: 'x'.repeat(20_000) }),
    note('host:web-9', { a: 1 }),
    note('host:web-1', {}),
  );
  expect(told.map((one) => (one['error'] as { code: string }).code)).toEqual([
    'attribute_reserved',
    'attribute_reserved',
    'attribute_reserved',
    'attribute_reserved',
    'attribute_key_invalid',
    'attribute_key_invalid',
    'attributes_too_large',
    'entity_unknown',
    'bad_call',
  ]);
  expect(await attributes('host:web-1')).not.toHaveProperty('note');
  expect(await attributes('lxc:dns')).toMatchObject({ host: 'host:db-1' });
  expect(await audited('graph.attributes_changed')).toEqual([]);
});

test('K8: a relation is noted once, and checked for types, direction and number', async () => {
  const told = await make(
    relate('service:nginx@web-1', 'depends_on', 'host:db-1'),
    relate('nginx', 'depends_on', 'db-1'),
    relate('host:web-1', 'runs_on', 'service:nginx@web-1'),
    relate('service:nginx@web-1', 'runs_on', 'host:db-1'),
    relate('host:web-1', 'hosts', 'lxc:dns'),
    relate('host:web-1', 'likes', 'host:db-1'),
    relate('host:web-1', 'depends_on', 'host:web-1'),
  );
  const relation = 'service:nginx@web-1 depends_on host:db-1';
  expect(told.slice(0, 2)).toEqual([
    { relation, added: true },
    { relation, added: false, note: expect.any(String) as string },
  ]);
  const errors = told.slice(2).map((one) => one['error'] as { code: string; message: string });
  expect(errors.map(({ code }) => code)).toEqual([
    'relation_not_allowed',
    'relation_too_many',
    'relation_too_many',
    'relation_type_unknown',
    'relation_to_itself',
  ]);
  expect(errors[0]?.message).toContain(
    'The other way round it is allowed: service:nginx@web-1 runs_on host:web-1.',
  );
  expect(errors[1]?.message).toContain('service:nginx@web-1 runs_on host:web-1 already');
  expect(errors[2]?.message).toContain('host:db-1 hosts lxc:dns already');
  const rows = await bench.database.read.relationship.findMany({ where: { origin: 'agent' } });
  expect(rows).toHaveLength(1);
  expect(await audited('graph.relation_added')).toHaveLength(1);
  expect(await bench.database.read.approval.count()).toBe(0);
});

test('P8, K8: a relation that was noted counts in the blast radius, and explain tells all in one call', async () => {
  const told = await make(
    note('host:db-1', { postgres: '16' }),
    relate('service:nginx@web-1', 'depends_on', 'host:db-1'),
    ['explain', { slug: 'db-1' }],
  );
  expect(told[2]).toMatchObject({
    slug: 'host:db-1',
    attributes: { postgres: '16' },
    blast_radius: {
      total: 3,
      names: [
        { slug: 'lxc:dns', depth: 1 },
        { slug: 'lxc:wiki', depth: 1 },
        { slug: 'service:nginx@web-1', depth: 1 },
      ],
    },
    recent_executions: [],
    knowledge: [],
  });
});

const plan = (last: string): Call => [
  'propose_plan',
  { ask_approval: false, steps: ['Look', last] },
];

test('F1: get_trend tells how commands ended by day, of the fleet or of one entity', async () => {
  const look = (slug?: string): Call => [
    'get_trend',
    { days: 7, ...(slug === undefined ? {} : { slug }) },
  ];
  bench = await agentBench(
    (command) => ({ exitCode: command === 'uptime' ? 0 : 1 }),
    calls(
      ['run', { target: 'host:web-1', command: 'uptime', purpose: 'look' }],
      ['run', { target: 'host:web-1', command: 'cat /gone', purpose: 'look' }],
      ['run', { target: 'host:db-1', command: 'uptime', purpose: 'look' }],
    ),
    calls(look(), look('web-1'), look('lxc:dns')),
    { text: 'Seen.' },
  );
  const { sessionId } = await bench.open('how did it go?');
  await bench.pass(sessionId);
  const [all, web, dns] = results(bench.model.requests[2]).slice(-3);
  expect(all).toMatchObject({ days: 7, succeeded: 2, failed: 1 });
  expect(web).toMatchObject({
    succeeded: 1,
    failed: 1,
    by_day: [{ succeeded: 1, failed: 1 }],
  });
  expect(dns).toEqual({ days: 7, succeeded: 0, failed: 0, by_day: [] });
});

test('K3: a plan whose last step names neither write-back tool is warned about', async () => {
  const told = await make(
    plan('Check'),
    plan('Check, then update_entity_attributes'),
    plan('create_relationship for what was found'),
  );
  expect(told.map((one) => 'warning' in one)).toEqual([true, false, false]);
  expect(told[0]?.['warning']).toMatch(/update_entity_attributes.*create_relationship/);
});

async function endTask(...before: Call[]): Promise<{ answer: unknown; digest: string }> {
  const complete: Call = ['complete_task', { outcome: 'success', summary: 'All is well.' }];
  bench = await agentBench(
    () => ({}),
    calls(['set_goal', { goal: 'all is well' }], ...before, complete),
  );
  const { sessionId } = await bench.open('make it well');
  await bench.pass(sessionId);
  const call = await bench.database.read.toolCall.findFirstOrThrow({
    where: { sessionId, name: 'complete_task' },
  });
  return { answer: JSON.parse(call.result ?? ''), digest: await digestOf(sessionId) };
}

async function digestOf(sessionId: SessionId): Promise<string> {
  const { read } = bench.database;
  const session = await read.session.findUniqueOrThrow({ where: { id: sessionId } });
  return digestCard(await digestState(read, session)).body;
}

test('K4: a task that ends without having written back is warned about, in the answer and in the digest', async () => {
  const { answer, digest } = await endTask();
  expect(answer).toMatchObject({
    outcome: 'success',
    warning: expect.stringContaining('Nothing was written back') as string,
  });
  expect(digest).toContain('⚠️ Nothing was written back');
});

test('K4: a call that was refused wrote nothing back', async () => {
  const { answer } = await endTask(note('host:web-1', { address: '198.51.100.66' }));
  expect(answer).toHaveProperty('warning');
});

test('K4: a task that wrote back ends without a warning', async () => {
  const { answer, digest } = await endTask(note('host:web-1', { checked: 'yes' }));
  expect(answer).not.toHaveProperty('warning');
  expect(digest).not.toContain('written back');
});

test('K4, T9: a question that was answered in plain words is not warned about', async () => {
  bench = await agentBench(() => ({}), { text: 'All disks are fine.' });
  const { sessionId } = await bench.open('how are the disks?');
  await bench.pass(sessionId);
  expect(await digestOf(sessionId)).not.toContain('written back');
});
