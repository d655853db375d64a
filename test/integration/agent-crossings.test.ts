import { afterEach, expect, test } from 'vitest';
import { runPass } from '../../core/agent/pass.ts';
import { armFault, disarmFaults } from '../../core/faults.ts';
import { asId, type MatrixEventId, type PassId, type SessionId } from '../../core/ids.ts';
import { sweepIdle } from '../../core/tasks/idle.ts';
import { receiveMessage } from '../../core/tasks/messages.ts';
import { redactMessage } from '../../core/tasks/redact.ts';
import { resumeTask } from '../../core/tasks/resume.ts';
import { requestStop } from '../../core/tasks/stop.ts';
import { MAX_PASS_ATTEMPTS, openTurn } from '../../core/tasks/turns.ts';
import { workOnPasses } from '../../jobs/passes.ts';
import { wakeUntaken } from '../../jobs/reconcile.ts';
import {
  agentBench,
  anHourAgo,
  ANN,
  type AgentBench,
  type Target,
} from '../support/agent-bench.ts';
import { complete, goal, runs, wordsOf } from '../support/replies.ts';
import type { Reply } from '../support/scripted-model.ts';

let bench: AgentBench;
afterEach(async () => {
  disarmFaults();
  await bench.close();
});

const NOTHING: Target = () => ({});
const FOREVER = new AbortController().signal;
const run = (command: string): Reply => runs(command, 'for the test');
const session = (id: SessionId) => bench.database.read.session.findUniqueOrThrow({ where: { id } });
const eventId = asId<MatrixEventId>('$slip');

/** As the worker's death leaves it: in the queue, begun. */
async function cutOff(sessionId: SessionId): Promise<void> {
  await bench.database.read.pass.updateMany({
    where: { sessionId, state: 'running' },
    data: { state: 'queued', leaseOwner: null, leaseUntil: null },
  });
}

test('R7, T5: what an operator says between a stop and the end of the stopped pass is answered with the end of what it had left running', async () => {
  const gate = Promise.withResolvers<{ stdout: string }>();
  const started = Promise.withResolvers<void>();
  bench = await agentBench(
    () => {
      started.resolve();
      return gate.promise;
    },
    goal(),
    run('ls -R /'),
  );
  const { sessionId, turnId } = await bench.open('go');
  const done = bench.pass(sessionId);
  await started.promise;
  // Both words are there before the pass looks: in a pass whose worker died this lasts for as long as its lease.
  await bench.database.write(async (unit) => {
    await requestStop(unit, { sessionId, by: ANN });
    await receiveMessage(unit, { sessionId, turnId, text: 'no, go on', sender: ANN });
  });
  expect(await done).toMatchObject({ state: 'cancelled' });
  bench.model.script({ text: 'I wait for its end.' });
  await bench.pass(sessionId);
  const told = wordsOf(bench.model.requests.at(-1));
  gate.resolve({ stdout: 'seen there' });
  await bench.until(
    async () =>
      (await bench.database.read.execution.findFirst({ where: { status: 'completed' } })) ??
      undefined,
  );
  expect(told).toContain('no, go on');
  bench.model.script({ text: 'I have seen it.' });
  await bench.pass(sessionId);
  expect(wordsOf(bench.model.requests.at(-1))).toContain('seen there');
});

test('J5, R11, H6: a continuation in the thread of an MCP client whose model fails is tried again', async () => {
  bench = await agentBench(NOTHING);
  const { sessionId } = await bench.open('go');
  await bench.database.read.turn.updateMany({ data: { cause: 'mcp' } });
  bench.model.script(run('touch /x'), { text: 'I wait for your word.' });
  await bench.pass(sessionId);
  await bench.decide(sessionId, 'approve');
  await bench.until(
    async () =>
      (await bench.database.read.execution.findFirst({ where: { continuation: 'woken' } })) ??
      undefined,
  );
  bench.model.script({ text: '' }, { text: '' }, { text: '' });
  expect(await bench.pass(sessionId, { resumeDelaysMs: [0] })).toMatchObject({ state: 'failed' });
  const goesOn = (await bench.claim(sessionId)) !== null;
  const waits = (await session(sessionId)).pausedReason !== null;
  expect({ goesOn, waits }).not.toEqual({ goesOn: false, waits: false });
});

test('T13, C8, J4: a word that is said and taken back between a stop and the end of the stopped pass leaves the task stopped', async () => {
  bench = await agentBench(NOTHING, goal(), { hang: true });
  const { sessionId, turnId } = await bench.open('go');
  const done = bench.pass(sessionId);
  await bench.model.request(2);
  await bench.database.write(async (unit) => {
    await requestStop(unit, { sessionId, by: ANN });
    await receiveMessage(unit, { sessionId, turnId, text: 'a slip', sender: ANN, eventId });
    await redactMessage(unit, { eventId, sender: ANN });
  });
  expect(await done).toMatchObject({ state: 'cancelled' });
  expect(await bench.claim(sessionId)).toBeNull();
  await anHourAgo(bench, sessionId);
  expect(await sweepIdle(bench.database, { close: true })).toEqual({ nudged: 0, closed: 0 });
  expect(await session(sessionId)).toMatchObject({ pausedReason: `stopped by ${ANN}` });
});

test('T13, T11: a word that is said and taken back before the pass that ended the task is taken up leaves it finished', async () => {
  bench = await agentBench(NOTHING, goal(), complete('All done.'));
  const { sessionId, turnId } = await bench.open('go');
  armFault('agent.tool_ended', async () => {
    if ((await session(sessionId)).endedAt !== null) throw new Error('the process ended here');
  });
  const pass = await bench.claim(sessionId);
  await expect(
    runPass(bench.deps, asId<PassId>(pass?.id ?? ''), { signal: FOREVER }),
  ).rejects.toThrow();
  disarmFaults();
  await cutOff(sessionId);
  expect(await session(sessionId)).toMatchObject({ outcome: 'success' });
  await bench.database.write((unit) =>
    receiveMessage(unit, { sessionId, turnId, text: 'a slip', sender: ANN, eventId }),
  );
  await bench.database.write((unit) => redactMessage(unit, { eventId, sender: ANN }));
  await bench.pass(sessionId);
  expect(await bench.claim(sessionId)).toBeNull();
  expect(await session(sessionId)).toMatchObject({ outcome: 'success' });
});

test('R7, J1, T13: an end that is told while words wait which are then taken back still wakes a task that its model had paused', async () => {
  const gate = Promise.withResolvers<{ stdout: string }>();
  bench = await agentBench(() => gate.promise, goal(), run('ls -R /'));
  const { sessionId, turnId } = await bench.open('go');
  const execution = await firstPassLeavesItRunning(sessionId);
  // The model breaks at the operator's next word: the task is paused, and waits for them.
  await bench.database.write((unit) =>
    receiveMessage(unit, { sessionId, turnId, text: 'and?', sender: ANN }),
  );
  bench.model.script({ status: 401 });
  expect(await bench.pass(sessionId)).toMatchObject({ state: 'failed' });
  expect((await session(sessionId)).pausedReason).not.toBeNull();
  await bench.database.write((unit) =>
    receiveMessage(unit, { sessionId, turnId, text: 'a slip', sender: ANN, eventId }),
  );
  gate.resolve({ stdout: 'seen there' });
  await bench.until(
    async () =>
      (await bench.database.read.execution.findFirst({
        where: { id: execution, continuation: 'woken' },
      })) ?? undefined,
  );
  await bench.database.write((unit) => redactMessage(unit, { eventId, sender: ANN }));
  expect(await bench.claim(sessionId)).not.toBeNull();
});

/** The first pass asks for a command that runs on, and says so. */
async function firstPassLeavesItRunning(sessionId: SessionId): Promise<string> {
  const pass = await bench.claim(sessionId);
  const handover = new AbortController();
  const done = runPass(bench.deps, asId<PassId>(pass?.id ?? ''), { signal: handover.signal });
  const row = await bench.until(
    async () =>
      (await bench.database.read.execution.findFirst({ where: { status: 'running' } })) ??
      undefined,
  );
  handover.abort();
  await done.catch(() => undefined);
  await cutOff(sessionId);
  bench.model.script({ text: 'It runs; I wait for its end.' });
  await bench.pass(sessionId);
  return row.id;
}

test('T9, J6: a sweep at a start closes nothing, also not a task without a goal', async () => {
  bench = await agentBench(NOTHING, { text: 'All is well.' });
  const { sessionId } = await bench.open('how are things?');
  await bench.database.write(async (unit) => {
    const other = await openTurn(unit, { sessionId, cause: 'operator' });
    await receiveMessage(unit, { sessionId, turnId: other, text: 'and that?', sender: ANN });
  });
  await bench.pass(sessionId);
  await bench.database.read.pass.updateMany({
    where: { state: 'queued' },
    data: { state: 'cancelled' },
  });
  await anHourAgo(bench, sessionId);
  expect(await sweepIdle(bench.database, { close: false })).toEqual({ nudged: 0, closed: 0 });
});

test('J4, H6: a reminder in the thread of an MCP client, in which the agent works, is given before the task is closed', async () => {
  bench = await agentBench(NOTHING, goal(), { text: 'I have looked.' });
  const { sessionId } = await bench.open('go');
  await bench.database.read.turn.updateMany({ data: { cause: 'mcp' } });
  await bench.pass(sessionId);
  await anHourAgo(bench, sessionId);
  expect(await sweepIdle(bench.database, { close: true })).toEqual({ nudged: 1, closed: 0 });
  expect(await bench.claim(sessionId)).not.toBeNull();
});

test('R11, J6: a call that takes its process down each time does not begin pass after pass by itself', async () => {
  bench = await agentBench(() => ({ stdout: 'poison' }));
  const { sessionId } = await bench.open('go');
  armFault('agent.before_tool_result', () => {
    throw new Error('the process ended here');
  });
  for (let round = 0; round < 3; round++) {
    const queued = await bench.database.read.pass.findFirst({ where: { state: 'queued' } });
    if (queued === null) break;
    // The last of its tries.
    await bench.database.read.pass.update({
      where: { id: queued.id },
      data: { attempt: MAX_PASS_ATTEMPTS - 1 },
    });
    bench.model.script(run(`ls /${round}`));
    await workOnPasses(
      {
        database: bench.database,
        owner: 'worker',
        shutdown: FOREVER,
        runPass: (passId, signal) => runPass(bench.deps, passId, { signal }),
      },
      queued.id,
    );
    await wakeUntaken(bench.database);
  }
  expect((await session(sessionId)).pausedReason).not.toBeNull();
  expect(await bench.database.read.pass.count({ where: { sessionId } })).toBe(1);
});

test('C7, C9, T5: ▶️ between a stop and the end of the stopped pass goes on', async () => {
  bench = await agentBench(NOTHING, goal(), { hang: true });
  const { sessionId } = await bench.open('go');
  const done = bench.pass(sessionId);
  await bench.model.request(2);
  const outcome = await bench.database.write(async (unit) => {
    await requestStop(unit, { sessionId, by: ANN });
    return resumeTask(unit, { sessionId, by: ANN });
  });
  await done;
  const goesOn = (await bench.claim(sessionId)) !== null;
  expect({ outcome, goesOn }).toEqual({ outcome: 'resumed', goesOn: true });
});
