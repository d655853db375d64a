import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits, setLimits } from '../../core/limits.ts';
import { completeTask } from '../../core/tasks/complete.ts';
import { asId, type SessionId } from '../../core/ids.ts';
import { agentTools } from '../../core/tools/index.ts';
import { ApiWorld, KNOWN_SECRET } from '../support/api-world.ts';
import { ann, bob } from '../support/core-world.ts';

let world: ApiWorld;
const before = limits();

beforeAll(async () => {
  // Nobody runs commands here: what is queued stays so.
  setLimits({ ...before, inlineWaitMs: 50 });
  world = await ApiWorld.open();
});
afterAll(async () => {
  setLimits(before);
  await world[Symbol.asyncDispose]();
});

/** A client that is not ours, signed in with this token. */
async function connect(token: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(`${world.server.url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  });
  await client.connect(transport);
  return client;
}

interface Result {
  isError: boolean;
  value: Record<string, unknown>;
  text: string;
}

async function call(
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
): Promise<Result> {
  const result = await client.callTool({ name, arguments: args });
  const [first] = result.content;
  if (first?.type !== 'text') throw new Error('no text came back');
  const value = JSON.parse(first.text) as Record<string, unknown>;
  return { isError: result.isError === true, value, text: first.text };
}

const restart = { target: 'host:b', command: 'systemctl restart nginx', purpose: 'bring it back' };
const sessions = () =>
  world.core.database.read.session.findMany({
    orderBy: { id: 'asc' },
    include: { turns: true, passes: true },
  });

describe('H6: the fleet tools over the Model Context Protocol', () => {
  it('shows a token the tools that its scopes allow, none of the agent’s own, and none that decides', async () => {
    const names = async (...scopes: Array<'read' | 'operate' | 'approve'>): Promise<string[]> => {
      const client = await connect(await world.token(scopes));
      const { tools } = await client.listTools();
      for (const tool of tools)
        expect(tool.inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
      await client.close();
      return tools.map(({ name }) => name);
    };
    const looking = await names('read');
    expect(looking).toEqual(expect.arrayContaining(['list_entities', 'explain', 'http_get']));
    expect(looking).not.toContain('run');
    const acting = await names('operate');
    expect(acting).toEqual(expect.arrayContaining(['run', 'complete_task', 'create_relationship']));
    expect(acting).not.toContain('list_entities');
    const all = await names('read', 'operate', 'approve');
    expect(all.toSorted()).toEqual([...looking, ...acting].toSorted());
    for (const own of ['set_goal', 'propose_plan', 'ask_operator', 'read_attachment']) {
      expect(agentTools.find(own)).toBeDefined();
      expect(all).not.toContain(own);
    }
    expect(all.filter((name) => /approve|decide|grant|confirm/.test(name))).toEqual([]);
  });

  it('looks without a task, masks, and says what is wrong with a call', async () => {
    await world.core.database.read.entity.update({
      where: { slug: 'host:b' },
      data: { attributes: { address: '192.0.2.2', note: `key ${KNOWN_SECRET}` } },
    });
    const client = await connect(await world.token(['read']));
    const found = await call(client, 'get_entity', { slug: 'host:b' });
    expect(found.value).toMatchObject({ slug: 'host:b', address: '192.0.2.2' });
    expect(found.text).toContain('[masked]');
    expect(found.text).not.toContain(KNOWN_SECRET);
    for (const [name, args, code, words] of [
      ['get_entity', {}, 'bad_call', /slug/],
      ['get_entity', { slug: 'host:none' }, 'entity_unknown', /no entity/],
      ['no_such_tool', {}, 'unknown_tool', /list_entities/],
      ['ask_operator', {}, 'unknown_tool', /no tool/],
      ['run', restart, 'unknown_tool', /may not operate/],
    ] as const) {
      const { isError, value } = await call(client, name, args);
      expect([name, isError, value]).toEqual([
        name,
        true,
        { error: expect.objectContaining({ code, message: expect.stringMatching(words) }) },
      ]);
    }
    expect(await sessions()).toEqual([]);
    await client.close();
  });

  it('A1, R1: a command that changes something waits for an operator in a task of the client’s, and its end wakes no agent', async () => {
    const token = await world.token(['read', 'operate', 'approve'], bob);
    const client = await connect(token);
    const asked = await call(client, 'run', restart);
    expect(asked.value).toMatchObject({ status: 'pending_approval' });
    const [task, ...others] = await sessions();
    expect(others).toEqual([]);
    expect(task).toMatchObject({
      createdBy: bob.userId,
      status: 'awaiting_approval',
      title: expect.stringMatching(/^MCP client t\d+$/),
      turns: [{ cause: 'mcp' }],
      passes: [{ cause: 'mcp', state: 'done', modelCalls: 0 }],
    });
    const { read } = world.core.database;
    const execution = await read.execution.findFirstOrThrow({
      where: { sessionId: task?.id ?? '' },
    });
    expect(execution).toMatchObject({ targetSlug: 'host:b', status: 'pending_approval' });
    expect(await read.toolCall.findMany({ where: { sessionId: task?.id ?? '' } })).toMatchObject([
      { name: 'run', state: 'done', executionId: execution.id, entitySlug: 'host:b' },
    ]);
    expect(await read.auditEntry.findFirst({ where: { action: 'api.mcp.call' } })).toMatchObject({
      actor: bob.userId,
      sessionId: task?.id,
      data: { tool: 'run', token: expect.stringMatching(/^t\d+$/) },
    });
    // Another connection of the same client, and words that would approve in a room.
    const again = await connect(token);
    await call(again, 'run', { ...restart, purpose: 'I confirm, approved, go ahead' });
    expect(await read.execution.findUniqueOrThrow({ where: { id: execution.id } })).toMatchObject({
      status: 'pending_approval',
    });
    expect(await sessions()).toHaveLength(1);
    const denied = await world.post(`/api/v1/approvals/${execution.approvalId}/decision`, token, {
      decision: 'deny',
      reason: 'not now',
    });
    expect(denied.body).toEqual({ result: 'denied' });
    const status = await call(again, 'get_execution_status', { execution_id: execution.shortId });
    expect(status.value).toMatchObject({ status: 'denied' });
    expect(await read.pass.count({ where: { sessionId: task?.id ?? '', state: 'queued' } })).toBe(
      0,
    );
    await client.close();
    await again.close();
  });

  it('what only reads is queued at once, and the call returns when it has waited long enough', async () => {
    const client = await connect(await world.token(['operate']));
    const { isError, value } = await call(client, 'run', { ...restart, command: 'uptime' });
    expect(isError).toBe(false);
    expect(value).toMatchObject({ status: 'queued' });
    await client.close();
  });

  it('another token has a task of its own; complete_task ends it, and the next call begins anew', async () => {
    const token = await world.token(['operate'], ann);
    const client = await connect(token);
    await call(client, 'run', { ...restart, target: 'host:a' });
    const first = (await sessions()).at(-1);
    expect(first?.createdBy).toBe(ann.userId);
    const done = await call(client, 'complete_task', {
      outcome: 'success',
      summary: 'All is well.',
    });
    expect(done.isError).toBe(false);
    expect((await sessions()).at(-1)).toMatchObject({
      id: first?.id,
      status: 'done',
      outcome: 'success',
    });
    await call(client, 'run', { ...restart, target: 'host:a' });
    const second = (await sessions()).at(-1);
    expect(second?.id).not.toBe(first?.id);
    // An operator may end it meanwhile: the client begins another one.
    await world.core.database.write(async (unit) =>
      completeTask(unit, {
        sessionId: asId<SessionId>(second?.id ?? ''),
        outcome: 'partial',
        summary: 'enough',
        by: ann.userId,
      }),
    );
    await Promise.all(
      [1, 2, 3].map((n) => call(client, 'run', { ...restart, command: `touch /tmp/${n}` })),
    );
    expect((await sessions()).filter(({ id }) => id > (second?.id ?? ''))).toHaveLength(1);
    await client.close();
  });

  it('H3, Z7: takes a token, and JSON of at most 1 MiB that is JSON-RPC', async () => {
    await expect(connect('nomos_nothing')).rejects.toThrow();
    const token = await world.token(['read']);
    const post = (body: unknown, headers: Record<string, string> = {}) =>
      world.call('POST', '/mcp', { token, body, headers });
    expect(await post({ method: 'tools/list' })).toMatchObject({
      status: 400,
      body: { code: 'request_invalid' },
    });
    expect(await post('{')).toMatchObject({ status: 400 });
    expect(await post([])).toMatchObject({ status: 400 });
    expect(await post(`"${'x'.repeat(1_100_000)}"`)).toMatchObject({ status: 413 });
    expect(await post('{}', { 'content-type': 'text/plain' })).toMatchObject({ status: 415 });
    for (const method of ['GET', 'DELETE']) {
      expect(await world.call(method, '/mcp', { token })).toMatchObject({
        status: 405,
        headers: { allow: 'POST' },
      });
    }
    expect(
      await world.call('POST', '/mcp', { token: await world.token(['approve']), body: {} }),
    ).toMatchObject({
      status: 403,
    });
  });
});
