import { afterEach, expect, test } from 'vitest';
import { expireDueApprovals } from '../../core/approvals/expire.ts';
import { claimExecution } from '../../core/executions/claim.ts';
import { armFault, disarmFaults } from '../../core/faults.ts';
import { asId, type ExecutionId, type SessionId } from '../../core/ids.ts';
import { closeGrants } from '../../core/policy/grants.ts';
import { receiveMessage } from '../../core/tasks/messages.ts';
import { setGoal } from '../../core/tasks/status.ts';
import { requestStop } from '../../core/tasks/stop.ts';
import { agentBench, ANN, type AgentBench } from '../support/agent-bench.ts';
import type { AskedRequest, Step } from '../support/scripted-model.ts';

let bench: AgentBench;
afterEach(() => bench.close());

const words = (request: AskedRequest | undefined): string =>
  (request?.messages ?? []).map(({ content }) => String(content)).join('\n');
const run = (command: string, more: Record<string, unknown> = {}): Step => ({
  toolCalls: [{ name: 'run', arguments: { target: 'web-1', command, purpose: 'a test', ...more } }],
});
const completed = async (command: string): Promise<void> => {
  await bench.until(
    async () =>
      (await bench.database.read.execution.findFirst({
        where: { status: 'completed', command },
      })) ?? undefined,
  );
};

test('T5, J1: what waited at a stop and is approved afterwards wakes the agent at its end, whether the task has a goal or not', async () => {
  bench = await agentBench(() => ({ stdout: 'seen there' }), run('touch /x'), { hang: true });
  const { sessionId, turnId } = await bench.open('go');
  const done = bench.pass(sessionId);
  await bench.model.request(2);
  await bench.database.write((unit) => requestStop(unit, { sessionId, turnId, by: ANN }));
  await done;
  await bench.decide(sessionId, 'approve');
  await completed('touch /x');
  bench.model.script({ text: 'I see.' });
  expect(await bench.pass(sessionId)).toMatchObject({ state: 'done', answer: 'I see.' });
  expect(words(bench.model.requests.at(-1)).split('seen there')).toHaveLength(2);
});

test('T5, J1, X13: what a stopped pass left in the queue, is asked for again and approved, is told when it has ended', async () => {
  const held = Promise.withResolvers<Record<string, never>>();
  bench = await agentBench(
    (command, { target }) =>
      command === 'touch /y' && target.host.slug === 'host:web-1'
        ? held.promise
        : { stdout: `seen on ${target.host.slug}` },
    run('touch /opener'),
    { text: 'I wait for you.' },
    run('touch /y', { target: ['web-1', 'db-1'], canary: true }),
  );
  const { sessionId } = await bench.open('go');
  await bench.database.write((unit) => setGoal(unit, sessionId, 'get it done'));
  await bench.pass(sessionId);
  await bench.decide(sessionId, 'approve');
  await completed('touch /opener');
  const done = bench.pass(sessionId);
  await bench.until(async () => (bench.ran.length === 2 ? true : undefined));
  await bench.database.write((unit) => requestStop(unit, { sessionId, by: ANN }));
  expect(await done).toMatchObject({ state: 'cancelled' });
  await bench.database.write((unit) =>
    closeGrants(unit, { sessionId, reason: 'revoked', by: ANN }),
  );
  held.resolve({});
  const rest = await bench.database.read.execution.findFirstOrThrow({ where: { batchIndex: 1 } });
  await bench.until(
    async () =>
      (await bench.database.read.execution.findFirst({
        where: { batchIndex: 0, status: 'completed' },
      })) ?? undefined,
  );
  expect((await claimExecution(bench.database, asId<ExecutionId>(rest.id), 'w')).kind).toBe(
    'asked_again',
  );
  await bench.decide(sessionId, 'approve');
  await bench.until(
    async () =>
      (await bench.database.read.execution.findFirst({
        where: { id: rest.id, status: 'completed' },
      })) ?? undefined,
  );
  bench.model.script({ text: 'I see.' });
  expect(await bench.pass(asId<SessionId>(sessionId))).toMatchObject({ answer: 'I see.' });
  expect(words(bench.model.requests.at(-1))).toContain('seen on host:db-1');
});

test('T5, J1: a change that is approved after the stop of a pass whose worker died is told when it has ended', async () => {
  const held = Promise.withResolvers<{ stdout: string }>();
  bench = await agentBench(() => held.promise, run('touch /x'));
  const { sessionId } = await bench.open('go');
  armFault('agent.tool_ended', () => {
    disarmFaults('agent.tool_ended');
    throw new Error('the process ended here');
  });
  await expect(bench.pass(sessionId)).rejects.toThrow('the process ended here');
  await bench.database.read.pass.updateMany({ data: { state: 'queued', leaseOwner: null } });
  await bench.database.write((unit) => requestStop(unit, { sessionId, by: ANN }));
  await bench.decide(sessionId, 'approve');
  await bench.until(async () => (bench.ran.length === 1 ? true : undefined));
  expect(await bench.pass(sessionId)).toMatchObject({ state: 'cancelled' });
  held.resolve({ stdout: 'seen there' });
  await completed('touch /x');
  bench.model.script({ text: 'I see.' });
  expect(await bench.pass(sessionId)).toMatchObject({ answer: 'I see.' });
  expect(words(bench.model.requests.at(-1))).toContain('seen there');
});

test('T5, A14: an approval that expires after a stop does not set the task going again; its next pass reads of it', async () => {
  bench = await agentBench(() => ({}), run('touch /x'), { hang: true });
  const { sessionId, turnId } = await bench.open('go');
  const done = bench.pass(sessionId);
  await bench.model.request(2);
  await bench.database.write((unit) => requestStop(unit, { sessionId, turnId, by: ANN }));
  await done;
  await bench.database.read
    .$executeRaw`UPDATE approvals SET expires_at = clock_timestamp() - interval '1 ms'`;
  expect(await expireDueApprovals(bench.database)).toBe(1);
  expect(await bench.claim(sessionId)).toBeNull();
  expect(
    await bench.database.read.session.findUniqueOrThrow({ where: { id: sessionId } }),
  ).toMatchObject({ pausedReason: `stopped by ${ANN}`, endedAt: null });
  bench.model.script({ text: 'I see.' });
  await bench.database.write((unit) =>
    receiveMessage(unit, { sessionId, turnId, text: 'go on', sender: ANN }),
  );
  await bench.pass(sessionId);
  expect(words(bench.model.requests.at(-1))).toContain('EXPIRED');
});
