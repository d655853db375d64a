import { afterEach, expect, test } from 'vitest';
import { expireDueApprovals } from '../../core/approvals/expire.ts';
import { waitingApprovals } from '../../core/approvals/waiting.ts';
import { withdraw } from '../../core/approvals/withdraw.ts';
import { BATCH_WIDTH } from '../../core/executions/batch/gate.ts';
import { requestBatch } from '../../core/executions/batch/request.ts';
import { requestCancel } from '../../core/executions/cancel.ts';
import { claimExecution } from '../../core/executions/claim.ts';
import { finishExecution } from '../../core/executions/finish.ts';
import { subjectHash } from '../../core/executions/hash.ts';
import { coveredHash } from '../../core/executions/preview.ts';
import { parseInventory } from '../../core/graph/inventory-file.ts';
import { loadGraph } from '../../core/graph/load.ts';
import { loadOntology } from '../../core/graph/ontology-file.ts';
import { selectTargets } from '../../core/graph/select-targets.ts';
import { asId, type ApprovalId, type ExecutionId, type SessionId } from '../../core/ids.ts';
import { NO_RULES, parseRules } from '../../core/policy/rules-file.ts';
import { setRules } from '../../core/policy/rule-store.ts';
import { agentBench, ANN, type AgentBench, type Target } from '../support/agent-bench.ts';
import type { AskedRequest, Reply, Step } from '../support/scripted-model.ts';

let bench: AgentBench;
afterEach(async () => {
  setRules(NO_RULES);
  await bench.close();
});

const HOSTS = Array.from({ length: 8 }, (_, index) => `host:n${index}`);

/** A bench with eight more hosts; `target` is in the place of every machine. */
async function fleet(target: Target, ...steps: Step[]): Promise<void> {
  bench = await agentBench(target, ...steps);
  const ontology = loadOntology('seeds/ontology.yaml');
  const entities = HOSTS.map(
    (slug, index) =>
      `  - { slug: '${slug}', type: host, attributes: { address: 192.0.2.${index + 10}, tags: [${index < 3 ? 'core' : 'edge'}] } }`,
  );
  await loadGraph(
    bench.database,
    ontology,
    parseInventory(`version: 1\nentities:\n${entities.join('\n')}\n`, 'more.yaml', ontology),
  );
}

const fan = (target: unknown, command: string, more: object = {}): Reply => ({
  toolCalls: [{ name: 'run', arguments: { target, command, purpose: 'the same on all', ...more } }],
});
const result = (request: AskedRequest): Record<string, unknown> =>
  JSON.parse(request.messages.findLast(({ role }) => role === 'tool')?.content ?? '{}') as Record<
    string,
    unknown
  >;

test('X13: a list and a selector are one call each, with one table back', async () => {
  await fleet((_command, { target }) => ({
    stdout: `I am ${target.host.slug}`,
    exitCode: target.host.slug === 'host:n1' ? 4 : 0,
  }));
  bench.model.script(
    fan(['host:n0', 'host:n1', 'host:n0'], 'uptime'),
    (request) => {
      expect(result(request)).toMatchObject({
        summary: '1 completed, 1 failed.',
        results: [
          { target: 'host:n0', status: 'completed', stdout: 'I am host:n0' },
          { target: 'host:n1', status: 'failed', exit_code: 4 },
        ],
      });
      return fan({ type: 'host', tag: 'core' }, 'uptime');
    },
    (request) => {
      const { results } = result(request) as { results: Array<{ target: string }> };
      expect(results.map(({ target }) => target)).toEqual(['host:n0', 'host:n1', 'host:n2']);
      return { text: 'All looked at.' };
    },
  );
  const { sessionId } = await bench.open('look at all of them');
  await bench.pass(sessionId);
  bench.model.verify();
});

test('A19, X13: a dry run goes first on each target, and the one approval covers what all of them said', async () => {
  const said = (slug: string): string => (slug === 'host:n1' ? 'Inst nginx\n' : 'nothing to do\n');
  await fleet(
    (_command, { target }) => ({ stdout: said(target.host.slug) }),
    fan(['host:n0', 'host:n1'], 'apt-get -y upgrade', { preview: 'apt-get -s upgrade' }),
    { text: 'I asked for it.' },
  );
  const { sessionId } = await bench.open('upgrade them');
  await bench.pass(sessionId);
  expect(bench.ran.map(({ command }) => command)).toEqual([
    'apt-get -s upgrade',
    'apt-get -s upgrade',
  ]);
  const approval = await bench.database.read.approval.findFirstOrThrow({
    where: { sessionId },
    include: { executions: { orderBy: { batchIndex: 'asc' } } },
  });
  expect(approval.executions.map(({ targetSlug, preview }) => [targetSlug, preview])).toEqual([
    ['host:n0', expect.objectContaining({ tail: 'nothing to do', exitCode: 0 })],
    ['host:n1', expect.objectContaining({ tail: 'Inst nginx', exitCode: 0 })],
  ]);
  expect(approval.subjectHash).toBe(subjectHash(approval.executions.map(coveredHash)));
  expect(approval.subjectHash).not.toBe(
    subjectHash(approval.executions.map(({ commandHash }) => commandHash)),
  );
  await bench.decide(sessionId, 'approve');
  await bench.until(async () => (bench.ran.length === 4 ? true : undefined));
  expect(new Set(bench.ran.slice(2).map(({ command }) => command))).toEqual(
    new Set(['apt-get -y upgrade']),
  );
});

test('A19, X13: a dry run that changes something is refused for all targets, and nothing waits', async () => {
  await fleet(
    () => ({}),
    fan(['host:n0', 'host:n1'], 'apt-get -y upgrade', { preview: 'apt-get -y update' }),
    (request) => {
      expect(JSON.stringify(request.messages)).toContain('preview_not_read_only');
      return { text: 'I see.' };
    },
  );
  const { sessionId } = await bench.open('upgrade them');
  await bench.pass(sessionId);
  expect(bench.ran).toEqual([]);
  expect(await bench.database.read.execution.count({ where: { sessionId } })).toBe(0);
});

test('X13, A16: one approval covers exactly the list; its ends are told together, once', async () => {
  await fleet(() => ({}), fan(HOSTS.slice(0, 3), 'touch /x'), { text: 'I asked for it.' });
  const { sessionId } = await bench.open('touch them');
  await bench.pass(sessionId);
  const waiting = await waitingApprovals(bench.database.read, { sessionId });
  expect(waiting.map(({ executions }) => executions.map(({ targetSlug }) => targetSlug))).toEqual([
    HOSTS.slice(0, 3),
  ]);
  await bench.decide(sessionId, 'approve');
  await bench.until(async () =>
    (await bench.database.read.execution.count({
      where: { sessionId, continuation: 'woken', status: 'completed' },
    })) === 3
      ? true
      : undefined,
  );
  const notes = await bench.database.read.message.findMany({ where: { sessionId, role: 'note' } });
  expect(notes.map(({ text }) => text.split('\n')[0])).toEqual([
    expect.stringMatching(/^The commands on 3 targets .* have ended: 3 completed\./),
  ]);
  bench.model.script({ text: 'Done on all.' });
  await bench.pass(sessionId);
  expect(bench.ran.map(({ target }) => target).toSorted()).toEqual(HOSTS.slice(0, 3));
});

test('X13, A13: what waits on a target already is not asked for twice there', async () => {
  await fleet(
    () => ({}),
    fan(['host:n0'], 'touch /x'),
    fan(['host:n0', 'host:n1'], 'touch /x'),
    (request) => {
      expect(result(request)).toMatchObject({
        targets: [{ target: 'host:n1' }],
        already_waiting: [{ target: 'host:n0' }],
      });
      return { text: 'I asked for it.' };
    },
  );
  const { sessionId } = await bench.open('touch them');
  await bench.pass(sessionId);
  expect(await bench.database.read.execution.count({ where: { sessionId } })).toBe(2);
  bench.model.verify();
});

test('X13: an empty selector picks nothing, and not the whole fleet', async () => {
  await fleet(
    () => ({}),
    fan({}, 'uptime'),
    (request) => {
      expect(result(request)).toMatchObject({ error: { code: 'selector_empty' } });
      return { text: 'I see.' };
    },
  );
  const { sessionId } = await bench.open('look');
  await bench.pass(sessionId);
  bench.model.verify();
  expect(bench.ran).toEqual([]);
});

test('P9, R12: a host whose description cannot be read is told to the agent, and the pass goes on', async () => {
  await fleet(
    () => ({}),
    fan('host:n0', 'uptime'),
    (request) => {
      expect(result(request)).toMatchObject({ error: { code: 'target_misdescribed' } });
      return { text: 'I see.' };
    },
  );
  await bench.database.read.entity.update({
    where: { slug: 'host:n0' },
    data: { attributes: { address: '192.0.2.10', ssh_port: 'twenty-two' } },
  });
  const { sessionId } = await bench.open('look');
  expect(await bench.pass(sessionId)).toMatchObject({ state: 'done' });
  bench.model.verify();
});

test('X13, P9: one target that no command is sent to refuses the list, and nothing of it is stored', async () => {
  await fleet(
    () => ({}),
    fan(['host:n0', 'host:nowhere'], 'touch /x'),
    (request) => {
      expect(result(request)).toMatchObject({ error: { code: 'target_unknown' } });
      return { text: 'There is no such host.' };
    },
  );
  const { sessionId } = await bench.open('touch them');
  await bench.pass(sessionId);
  expect(await bench.database.read.execution.count({ where: { sessionId } })).toBe(0);
  await expect(selectTargets(bench.database.read, { tag: 'none' })).rejects.toMatchObject({
    code: 'no_targets',
  });
});

/** A batch of changes that an operator has approved and no worker has claimed. */
async function approved(canary: boolean): Promise<{ sessionId: SessionId; ids: ExecutionId[] }> {
  const { promise: held } = Promise.withResolvers<object>();
  await fleet(() => held);
  const task = await bench.open('touch them');
  const { executions } = await bench.database.write((unit) =>
    requestBatch(unit, {
      ...task,
      passId: null,
      toolCallId: null,
      targets: HOSTS,
      command: 'touch /x',
      purpose: 'the same on all',
      canary,
    }),
  );
  // Decided without the bench's own worker hearing of it.
  await bench.feed.close();
  await bench.decide(task.sessionId, 'approve');
  return { sessionId: task.sessionId, ids: executions };
}

const nothing = { bytes: new Uint8Array(), totalBytes: 0, droppedBytes: 0, gapAt: undefined };
async function finish(id: ExecutionId, exitCode: number): Promise<void> {
  await finishExecution(bench.database, {
    id,
    owner: 'worker',
    mask: (text) => text,
    end: { kind: 'exited', exitCode, stdout: nothing, stderr: nothing, durationMs: 1, shell: 'sh' },
  });
}
const claims = async (ids: readonly ExecutionId[]): Promise<string[]> => {
  const kinds: string[] = [];
  for (const id of ids) kinds.push((await claimExecution(bench.database, id, 'worker')).kind);
  return kinds;
};

test('X13: at most five run at a time, whoever claims', async () => {
  const { ids } = await approved(false);
  const all = await Promise.all(ids.map((id) => claimExecution(bench.database, id, 'worker')));
  const running = ids.filter((_, index) => all[index]?.kind === 'claimed');
  expect(running).toHaveLength(BATCH_WIDTH);
  await finish(asId<ExecutionId>(running[0] ?? ''), 0);
  const rest = ids.filter((id) => !running.includes(id));
  expect(await claims(rest)).toEqual(['claimed', 'not_due', 'not_due']);
});

test('X13: the canary goes alone; when it succeeds the rest may go', async () => {
  const { ids } = await approved(true);
  const [canary, ...rest] = ids;
  expect(await claims(rest.slice(0, 2))).toEqual(['not_due', 'not_due']);
  expect(await claims([canary ?? asId<ExecutionId>('')])).toEqual(['claimed']);
  expect(await claims(rest.slice(0, 1))).toEqual(['not_due']);
  await finish(canary ?? asId<ExecutionId>(''), 0);
  expect(await claims(rest.slice(0, 2))).toEqual(['claimed', 'claimed']);
});

test('X13, R7: when the canary fails nothing else runs, and the agent gets one table of it', async () => {
  const { ids, sessionId } = await approved(true);
  const [canary, ...rest] = ids;
  await claims([canary ?? asId<ExecutionId>('')]);
  await finish(canary ?? asId<ExecutionId>(''), 1);
  expect(new Set(await claims(rest))).toEqual(new Set(['dropped']));
  const rows = await bench.database.read.execution.findMany({ where: { sessionId } });
  expect(rows.map(({ continuation }) => continuation)).toEqual(rows.map(() => 'woken'));
  const notes = await bench.database.read.message.findMany({ where: { sessionId, role: 'note' } });
  expect(notes).toHaveLength(1);
  expect(notes[0]?.text).toMatch(/1 failed, 7 cancelled.*the canary, host:n0, ended as failed/s);
});

/** Ends, without their having run, all of a batch that waits or is queued. */
const ENDINGS: Record<string, (sessionId: SessionId, rest: ExecutionId[]) => Promise<unknown>> = {
  async denied(sessionId, rest) {
    await askedAgain(rest);
    await bench.decide(sessionId, 'deny');
  },
  async expired(sessionId, rest) {
    await askedAgain(rest);
    await bench.database.read.approval.updateMany({
      where: { sessionId, status: 'pending' },
      data: { expiresAt: new Date(Date.now() - 1_000) },
    });
    expect(await expireDueApprovals(bench.database)).toBe(1);
  },
  async revoked(sessionId) {
    const { id } = await bench.database.read.approval.findFirstOrThrow({ where: { sessionId } });
    await bench.database.read.approval.update({ where: { id }, data: { decidedEvent: '$yes' } });
    await bench.database.write((unit) =>
      withdraw(unit, {
        approvalId: asId<ApprovalId>(id),
        operator: { userId: ANN, role: 'admin' },
        eventId: '$yes',
      }),
    );
  },
  async cancelled(_sessionId, rest) {
    for (const executionId of rest)
      await bench.database.write((unit) => requestCancel(unit, { executionId, by: ANN }));
  },
};

/** The rules come to want two people, so that what did not start is asked for once more. */
async function askedAgain(rest: readonly ExecutionId[]): Promise<void> {
  const rules =
    'version: 1\nrules: [{ name: two, match: { type: host }, approval: { people: 2 } }]';
  setRules(parseRules(rules, 'policy.yaml', loadOntology('seeds/ontology.yaml')));
  expect(await claims(rest.slice(0, 1))).toEqual(['asked_again']);
}

test.each(Object.keys(ENDINGS))(
  'X13, R7: what ran of a batch is told in the moment in which the rest of it is %s',
  async (status) => {
    const { ids, sessionId } = await approved(false);
    const [first = asId<ExecutionId>(''), ...rest] = ids;
    expect(await claims([first])).toEqual(['claimed']);
    await finish(first, 0);
    const notes = (): Promise<string[]> =>
      bench.database.read.message
        .findMany({ where: { sessionId, role: 'note' }, orderBy: { seq: 'asc' } })
        .then((rows) => rows.map(({ text }) => text));
    expect((await notes()).join()).not.toContain('"results"');
    await ENDINGS[status]?.(sessionId, rest);
    const rows = await bench.database.read.execution.findMany({
      where: { sessionId },
      orderBy: { batchIndex: 'asc' },
      select: { id: true, shortId: true, status: true, continuation: true },
    });
    expect(rows.map((row) => row.status)).toEqual(['completed', ...rest.map(() => status)]);
    expect(new Set(rows.map((row) => row.continuation))).toEqual(new Set(['woken']));
    const told = (await notes()).filter((text) => text.includes('"results"'));
    expect(told).toHaveLength(1);
    expect(told[0]).toContain(rows[0]?.shortId);
  },
);
