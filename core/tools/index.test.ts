import { expect, test } from 'vitest';
import { agentTools } from './index.ts';

const names = agentTools.forModel.map((tool) => tool.name);

test('F1: the first tools are there, each described, each with a closed schema', () => {
  expect(names).toEqual([
    'list_entities',
    'list_lxcs',
    'get_lxc_state',
    'get_entity',
    'explain',
    'get_relations',
    'get_blast_radius',
    'get_trend',
    'search_knowledge',
    'get_entity_knowledge',
    'list_runbooks',
    'get_runbook',
    'http_get',
    'get_health_summary',
    'get_state_snapshot',
    'list_checks',
    'get_signal_history',
    'query_metrics',
    'run',
    'request_execution',
    'tail_log',
    'get_execution_status',
    'read_attachment',
    'list_pending_approvals',
    'get_agent_activity',
    'set_goal',
    'propose_plan',
    'update_plan_step',
    'update_entity_attributes',
    'create_relationship',
    'upsert_knowledge',
    'ask_operator',
    'complete_task',
  ]);
  for (const tool of agentTools.forModel) {
    expect(tool.description.length).toBeGreaterThan(40);
    expect(tool.parameters).toMatchObject({ type: 'object', additionalProperties: false });
    expect(tool.parameters).not.toHaveProperty('$schema');
  }
});

test('L5: what the model is told about the tools is the same bytes every time', () => {
  expect(JSON.stringify(agentTools.forModel)).toBe(JSON.stringify(agentTools.forModel));
  // A field with a default is optional for the model.
  const listLxcs = agentTools.forModel.find((tool) => tool.name === 'list_lxcs');
  expect(listLxcs?.parameters['required'] ?? []).toEqual([]);
});

test('L7: a command that only reads may run beside others; one that changes may not', () => {
  const parallel = (command: string, declared?: string): boolean => {
    const call = agentTools.prepare(
      'run',
      JSON.stringify({ target: 'host:a', command, purpose: 'look at it', declared_risk: declared }),
    );
    return call.ok && call.parallel;
  };
  expect(parallel('ls /var/log')).toBe(true);
  expect(parallel('systemctl restart nginx')).toBe(false);
  expect(parallel('ls /var/log', 'config_mutation')).toBe(false);
});

test('T6: complete_task takes any word for the outcome', () => {
  expect(
    agentTools.prepare('complete_task', '{"outcome":"mostly fine","summary":"It is done."}'),
  ).toMatchObject({
    ok: true,
  });
});

test('X10, L3: an action without what it needs is told which field', async () => {
  const call = agentTools.prepare(
    'request_execution',
    JSON.stringify({ action: 'restart', target: 'host:a', purpose: 'restart it' }),
  );
  if (!call.ok || call.kind !== 'change') throw new Error('the call should be ready');
  // Nothing of the context is touched before the fields are there.
  const outcome = await call.run(undefined as never);
  expect(outcome).toEqual({ ok: false, value: { error: 'restart needs the field "unit".' } });
  expect(
    agentTools.prepare(
      'request_execution',
      JSON.stringify({ action: 'reboot', target: 'host:a', purpose: 'x y z' }),
    ),
  ).toMatchObject({ ok: false, problem: expect.stringContaining('restart') });
});
