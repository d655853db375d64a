import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { verifyAudit } from '../../core/audit/verify.ts';
import { parseInventory } from '../../core/graph/inventory-file.ts';
import { loadOntology } from '../../core/graph/ontology-file.ts';
import type { SessionId } from '../../core/ids.ts';
import { ANN, benchOn, type OpenBench } from '../support/agent-bench.ts';
import { proxmoxMissing, TestProxmox } from '../support/proxmox.ts';
import { runnerFor } from '../support/remote.ts';
import { startScriptedModel, type ScriptedModel } from '../support/scripted-model.ts';
import { receiveMessage } from '../../core/tasks/messages.ts';

// The tools of the fleet over OpenSSH's sshd, with scripts in the place of Proxmox's programs.
const DEBIAN = 'local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst';
const UBUNTU = 'local:vztmpl/ubuntu-24.04-standard_24.04-2_amd64.tar.zst';

const why = proxmoxMissing();
describe.skipIf(why !== undefined)(`tools of the fleet ${why ?? ''}`, () => {
  let pve: TestProxmox;
  let model: ScriptedModel;
  let bench: OpenBench;
  let task: Awaited<ReturnType<OpenBench['open']>>;
  let sessionId: SessionId;

  beforeAll(async () => {
    [pve, model] = await Promise.all([
      TestProxmox.start('host:pve', {
        guests: [100, 101, 104],
        templates: [DEBIAN, UBUNTU],
        goodBridge: 'vmbr1',
      }),
      startScriptedModel(),
    ]);
    const { address, port, user } = pve.sshd.endpoint;
    bench = await benchOn({
      inventory: parseInventory(
        `version: 1
entities:
  - { slug: 'host:pve', type: host, attributes: { address: ${address}, ssh_port: ${port}, ssh_user: ${user} } }
  - { slug: 'lxc:dns', type: lxc, attributes: { pve_id: 101, host: 'host:pve' } }
  - { slug: 'lxc:off', type: lxc, state: stopped, attributes: { pve_id: 104, host: 'host:pve' } }
relations:
  - ['host:pve', hosts, 'lxc:dns']
`,
        'fleet.yaml',
        loadOntology('seeds/ontology.yaml'),
      ),
      runner: () => runnerFor(pve.sshd),
      modelUrl: model.baseUrl,
    });
  });
  afterAll(async () => {
    // R15: after every test.
    expect((await verifyAudit(bench.database)).broken).toBeNull();
    await bench.close();
    await Promise.all([model.stop(), pve[Symbol.asyncDispose]()]);
  });
  beforeEach(async () => {
    task = await bench.open('look after the fleet');
    ({ sessionId } = task);
  });

  type Result = Record<string, unknown>;
  const db = () => bench.database.read;

  /** One pass that makes this call; gives what the model got for it. */
  async function call(name: string, args: object): Promise<Result> {
    let result: Result = {};
    model.script({ toolCalls: [{ name, arguments: { ...args } }] }, (request) => {
      result = JSON.parse(
        request.messages.findLast(({ role }) => role === 'tool')?.content ?? '{}',
      ) as Result;
      return { text: 'Looked at.' };
    });
    await bench.database.write((unit) =>
      receiveMessage(unit, { ...task, text: 'Look again.', sender: ANN }),
    );
    await bench.pass(sessionId);
    return result;
  }

  const create = (container: object, more: object = {}): Promise<Result> =>
    call('request_execution', {
      ...{ action: 'pct_create', target: 'pve', purpose: 'a container for the test' },
      ...{ container, ...more },
    });
  const code = (result: Result): string => (result['error'] as { code: string }).code;
  const changes = () =>
    db().execution.findMany({ where: { sessionId, risk: { not: 'read_only' } } });
  /** The operator's ✅, and then the end of what it allowed. */
  async function approve(): Promise<void> {
    await bench.decide(sessionId, 'approve');
    await bench.until(async () =>
      (await changes()).every(({ endedAt }) => endedAt !== null) ? true : undefined,
    );
  }

  test('X11, A16: template and number are found on the host before the card; what is approved is what runs, and then it is in the graph', async () => {
    const result = await create({ hostname: 'cache-1', vmid: 101, unprivileged: 0, start: 'yes' });
    expect(result).toMatchObject({ status: 'pending_approval', risk: 'config_mutation' });
    const [row] = await changes();
    expect(row?.command).toBe(
      `pct create 102 ${DEBIAN} --hostname cache-1 --cores 1 --memory 512 --rootfs local-lvm:8 --net0 name=eth0,bridge=vmbr0,ip=dhcp --unprivileged 0 --start 1`,
    );
    expect(row?.reasons).toEqual(
      expect.arrayContaining([
        'number 101 is taken in the cluster: 102 is the next free one',
        'when it succeeded it stands in the graph as lxc:cache-1, state provisioning',
      ]),
    );
    expect(await db().entity.findUnique({ where: { slug: 'lxc:cache-1' } })).toBeNull();
    await approve();
    expect(pve.created).toEqual([row?.command.slice('pct '.length)]);
    const entity = await db().entity.findUniqueOrThrow({
      where: { slug: 'lxc:cache-1' },
      include: { incoming: { include: { source: true } } },
    });
    expect(entity).toMatchObject({
      ...{ type: 'lxc', name: 'cache-1', state: 'provisioning' },
      attributes: { pve_id: 102, host: 'host:pve' },
    });
    expect(entity.incoming.map(({ type, source }) => [source.slug, type])).toEqual([
      ['host:pve', 'hosts'],
    ]);
    const note = await db().message.findFirstOrThrow({ where: { sessionId, role: 'note' } });
    expect(note.text).toContain('"registered":"lxc:cache-1"');
    await expect(
      db().$executeRaw`UPDATE executions SET registers = NULL WHERE id = ${row?.id}::uuid`,
    ).rejects.toThrow('fixed at request time');
  });

  test('X11: a second container gets another number while the first one waits, and one of that name is not asked for twice', async () => {
    await create({ hostname: 'one', vmid: 150, template: 'ubuntu' });
    await create({ hostname: 'two', vmid: 150, template: 'fedora-42' });
    expect((await changes()).map(({ command }) => command.split(' ').slice(2, 4))).toEqual([
      ['150', UBUNTU],
      ['102', DEBIAN],
    ]);
    expect((await changes())[1]?.reasons).toContain(
      `no template "fedora-42" is on host:pve: ${DEBIAN} in its place`,
    );
    expect(code(await create({ hostname: 'One' }))).toBe('already_waiting');
    expect(code(await create({ hostname: 'dns' }))).toBe('container_exists');
    expect(await changes()).toHaveLength(2);
  });

  test('X11: the gateway of a static address must answer on that very bridge, else nothing is asked for', async () => {
    const address = { hostname: 'fixed', address: '192.0.2.20/24', gateway: '192.0.2.1' };
    const refused = await create({ ...address, bridge: 'vmbr0' });
    expect(code(refused)).toBe('gateway_unreachable');
    expect(JSON.stringify(refused)).toMatch(/100% packet loss.*Copy bridge and gateway/);
    expect(await changes()).toEqual([]);
    expect(await create({ ...address, bridge: 'vmbr1' })).toMatchObject({
      status: 'pending_approval',
    });
    await approve();
    const fixed = await db().entity.findUniqueOrThrow({ where: { slug: 'lxc:fixed' } });
    expect(fixed.attributes).toMatchObject({ address: '192.0.2.20' });
  });

  test('X11: a creation that failed puts nothing into the graph', async () => {
    await create({ hostname: 'broken' });
    pve.refuse();
    await approve();
    expect(await changes()).toMatchObject([{ status: 'failed', exitCode: 255 }]);
    expect(await db().entity.count({ where: { slug: 'lxc:broken' } })).toBe(0);
  });

  test('X11, L3: what is missing or cannot be is told by its field, and the host is not asked', async () => {
    expect(JSON.stringify(await create({ template: 'debian' }))).toContain('container.hostname');
    expect(code(await create({ hostname: 'x' }, { target: 'lxc:dns' }))).toBe('not_a_host');
    expect(await db().execution.count({ where: { sessionId } })).toBe(0);
  });

  test('F1: the state of one container comes from its host, with what the graph holds of it', async () => {
    expect(await call('get_lxc_state', { slug: 'dns' })).toMatchObject({
      ...{ slug: 'lxc:dns', host: 'host:pve', pve_id: 101, status: 'running', uptime: '4711' },
      config: { net0: expect.stringContaining('bridge=vmbr1') as string },
      in_graph: { state: 'active', health: 'unknown', checked: 'never' },
    });
    expect(code(await call('get_lxc_state', { slug: 'host:pve' }))).toBe('not_a_container');
  });

  test('F1: a listing of containers shows the active ones and counts the others', async () => {
    expect(await call('list_lxcs', { text: 'off' })).toMatchObject({
      count: 0,
      not_shown: expect.objectContaining({ stopped: 1 }) as object,
    });
    expect(await call('list_lxcs', { state: 'stopped' })).toMatchObject({
      containers: [{ slug: 'lxc:off', state: 'stopped' }],
    });
  });

  test('F1: tail_log gives the newest lines, those with a text in them, and says when there is no such file', async () => {
    const file = path.join(pve.sshd.home, "app's $(touch x).log");
    writeFileSync(
      file,
      Array.from({ length: 400 }, (_, n) => `line ${n} ${n % 7 === 0 ? 'ERROR $x' : 'ok'}\n`).join(
        '',
      ),
    );
    expect(await call('tail_log', { target: 'pve', file, lines: 2 })).toMatchObject({
      log: 'line 398 ok\nline 399 ERROR $x',
    });
    expect(
      await call('tail_log', { target: 'pve', file, lines: '3', grep: 'error $x' }),
    ).toMatchObject({ log: 'line 385 ERROR $x\nline 392 ERROR $x\nline 399 ERROR $x' });
    const long = await call('tail_log', { target: 'pve', file, lines: 1000 });
    expect(long['log']).toMatch(/line 399 ERROR \$x$/);
    expect(long['note']).toMatch(/bytes before these lines are left out/);
    const missing = await call('tail_log', { target: 'pve', file: '/nowhere.log', grep: 'x' });
    expect(missing).toMatchObject({
      log: '',
      stderr: expect.stringContaining('/nowhere.log') as string,
    });
    expect(await call('tail_log', { target: 'pve', file, grep: "'; touch y; '" })).toMatchObject({
      note: 'No line of it fits.',
    });
    expect(JSON.stringify(await call('tail_log', { target: 'pve' }))).toContain(
      'either unit or file',
    );
    expect(await changes()).toEqual([]);
  });

  test('P4, F1: the log of a file that holds keys waits for a typed confirmation like any other read of it', async () => {
    expect(await call('tail_log', { target: 'pve', file: '/etc/shadow' })).toMatchObject({
      ...{ status: 'pending_approval', risk: 'destructive' },
    });
  });

  test('F1: get_agent_activity counts the calls by tool, and gives the newest with their task', async () => {
    await call('get_entity', { slug: 'nothing-like-it' });
    await call('get_entity', { slug: 'lxc:dns' });
    const { shortId } = await db().session.findUniqueOrThrow({ where: { id: sessionId } });
    expect(await call('get_agent_activity', { this_task: 1 })).toEqual({
      hours: 24,
      calls: 2,
      by_tool: [{ tool: 'get_entity', calls: 2, failed: 1 }],
      newest: [
        expect.objectContaining({ task: shortId, entity: 'lxc:dns', ended: 'done' }),
        expect.objectContaining({ task: shortId, tool: 'get_entity', ended: 'failed' }),
      ],
    });
    const everywhere = await call('get_agent_activity', { slug: 'dns' });
    expect(everywhere['by_tool']).toContainEqual({ tool: 'get_entity', calls: 1, failed: 0 });
  });
});
