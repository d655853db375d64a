import { afterEach, expect, test } from 'vitest';
import { runPass } from '../../core/agent/pass.ts';
import { armFault, disarmFaults } from '../../core/faults.ts';
import {
  asId,
  type ExecutionId,
  type MatrixEventId,
  type PassId,
  type QuestionId,
  type SessionId,
} from '../../core/ids.ts';
import { archiveTask } from '../../core/tasks/archive.ts';
import { sweepIdle } from '../../core/tasks/idle.ts';
import { addNote, receiveMessage } from '../../core/tasks/messages.ts';
import { redactMessage } from '../../core/tasks/redact.ts';
import { requeueLostPasses } from '../../core/tasks/passes.ts';
import { MAX_PASS_ATTEMPTS } from '../../core/tasks/turns.ts';
import { requestStop } from '../../core/tasks/stop.ts';
import { openTurn } from '../../core/tasks/turns.ts';
import { claimExecution } from '../../core/executions/claim.ts';
import { answerQuestion } from '../../core/tasks/questions.ts';
import { expireDueApprovals } from '../../core/approvals/expire.ts';
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

test('T11, R4: what an operator says while the last call of the task is on its way opens the task again', async () => {
  bench = await agentBench(NOTHING);
  const { sessionId, turnId } = await bench.open('go');
  bench.model.script(
    goal(),
    async () => {
      await bench.database.write((unit) =>
        receiveMessage(unit, { sessionId, turnId, text: 'and web-2 too', sender: ANN }),
      );
      return complete('All done.');
    },
    (request) => {
      expect(wordsOf(request)).toContain('and web-2 too');
      return run('touch /x');
    },
    { text: 'I proposed it.' },
  );
  await bench.pass(sessionId);
  await bench.pass(sessionId);
  expect(await bench.database.read.approval.count({ where: { status: 'pending' } })).toBe(1);
  expect(await session(sessionId)).toMatchObject({ endedAt: null, status: 'awaiting_approval' });
});

test('T9, J6: the answer of one turn does not end a task in whose other turn work was cut off and rests', async () => {
  bench = await agentBench(NOTHING, run('ls /a'), { text: 'That is so.' });
  const { sessionId } = await bench.open('look closely');
  armFault('agent.tool_ended', () => {
    throw new Error('the database went away');
  });
  const first = await bench.claim(sessionId);
  await expect(
    runPass(bench.deps, asId<PassId>(first?.id ?? ''), { signal: FOREVER }),
  ).rejects.toThrow();
  disarmFaults();
  // As the worker puts it back: it rests a while before it is taken up.
  await bench.database.read.pass.updateMany({
    data: {
      state: 'queued',
      leaseOwner: null,
      leaseUntil: null,
      notBefore: new Date(Date.now() + 8_000),
    },
  });
  await bench.database.write(async (unit) => {
    const turnId = await openTurn(unit, { sessionId, cause: 'operator' });
    await receiveMessage(unit, { sessionId, turnId, text: 'is it so?', sender: ANN });
  });
  expect(await bench.pass(sessionId)).toMatchObject({ answer: 'That is so.' });
  expect(await session(sessionId)).toMatchObject({ endedAt: null });
});

test('T5: after a stop that came when the last answer was there, what Nomos had to tell does not go on by itself', async () => {
  bench = await agentBench(NOTHING, goal(), { text: 'I have looked.' });
  const { sessionId, turnId } = await bench.open('look around');
  let answers = 0;
  armFault('agent.before_answer_stored', async () => {
    answers += 1;
    if (answers < 2) return;
    await bench.database.write(async (unit) => {
      await unit.db.$queryRaw`SELECT id FROM sessions WHERE id = ${sessionId}::uuid FOR UPDATE`;
      await addNote(unit, {
        sessionId,
        turnId,
        text: 'A command has ended.',
        wake: 'continuation',
      });
    });
    await bench.database.write((unit) => requestStop(unit, { sessionId, turnId, by: ANN }));
  });
  await bench.pass(sessionId);
  expect(await session(sessionId)).toMatchObject({ pausedReason: `stopped by ${ANN}` });
  expect(await bench.claim(sessionId)).toBeNull();
});

test('J1, T5: a change that the operator approves after a stop wakes the agent with its end', async () => {
  bench = await agentBench(NOTHING, goal(), run('touch /x'), { hang: true });
  const { sessionId, turnId } = await bench.open('go');
  const done = bench.pass(sessionId);
  await bench.model.request(3);
  await bench.database.write((unit) => requestStop(unit, { sessionId, turnId, by: ANN }));
  await done;
  await bench.decide(sessionId, 'approve');
  await bench.until(
    async () =>
      (await bench.database.read.execution.findFirst({ where: { continuation: 'woken' } })) ??
      undefined,
  );
  expect(await session(sessionId)).toMatchObject({ pausedReason: null });
  bench.model.script({ text: 'It is there.' });
  expect(await bench.pass(sessionId)).toMatchObject({ answer: 'It is there.' });
});

test('R11, J6: a pass that takes its process down before it has read anything is given up for good, not begun anew', async () => {
  bench = await agentBench(NOTHING);
  const { sessionId } = await bench.open('go');
  await bench.claim(sessionId);
  await bench.database.read.pass.updateMany({
    where: { sessionId },
    data: { attempt: MAX_PASS_ATTEMPTS, leaseUntil: new Date(0) },
  });
  await requeueLostPasses(bench.database);
  expect(await bench.database.read.pass.findMany({ where: { sessionId } })).toMatchObject([
    { state: 'failed' },
  ]);
});

test('J4, J5: a task whose pass was given up waits for the operator, as its card says, and is not closed', async () => {
  bench = await agentBench(NOTHING, goal(), run('ls /a'));
  const { sessionId } = await bench.open('go');
  armFault('agent.tool_ended', async () => {
    if ((await session(sessionId)).goal === null) return;
    if ((await bench.database.read.execution.count()) === 0) return;
    throw new Error('the process ended here');
  });
  const pass = await bench.claim(sessionId);
  await expect(
    runPass(bench.deps, asId<PassId>(pass?.id ?? ''), { signal: FOREVER }),
  ).rejects.toThrow();
  disarmFaults();
  await bench.database.read.pass.updateMany({
    where: { sessionId },
    data: { attempt: MAX_PASS_ATTEMPTS, leaseUntil: new Date(0) },
  });
  await requeueLostPasses(bench.database);
  await anHourAgo(bench, sessionId);
  expect(await sweepIdle(bench.database, { close: true })).toEqual({ nudged: 0, closed: 0 });
  expect(await session(sessionId)).toMatchObject({ endedAt: null });
});

test('R7: what a call had brought is told by a note when its pass is given up for an error of ours', async () => {
  bench = await agentBench(() => ({ stdout: 'seen there' }), run('ls /a'));
  const { sessionId, turnId } = await bench.open('go');
  armFault('agent.before_tool_result', () => {
    throw new Error('something went wrong');
  });
  await bench.database.read.pass.updateMany({ data: { attempt: MAX_PASS_ATTEMPTS - 1 } });
  const { id } = await bench.database.read.pass.findFirstOrThrow({ where: { sessionId } });
  await workOnPasses(
    {
      database: bench.database,
      owner: 'worker',
      shutdown: FOREVER,
      runPass: (passId, signal) => runPass(bench.deps, passId, { signal }),
    },
    id,
  );
  disarmFaults();
  expect(await bench.database.read.pass.findFirst()).toMatchObject({ state: 'failed' });
  await wakeUntaken(bench.database);
  bench.model.script({ text: 'I see.' });
  await bench.database.write((unit) =>
    receiveMessage(unit, { sessionId, turnId, text: 'go on', sender: ANN }),
  );
  await bench.pass(sessionId);
  expect(wordsOf(bench.model.requests.at(-1)).split('seen there')).toHaveLength(2);
});

test.each([
  ['question', { name: 'ask_operator', arguments: { prompt: 'Which one?' } }],
  [
    'change',
    {
      name: 'run',
      arguments: { target: 'host:web-1', command: 'touch /x', purpose: 'for the test' },
    },
  ],
])(
  'T11: a task that is put away in the moment in which its agent makes a %s is left with nothing that waits',
  async (_what, call) => {
    bench = await agentBench(NOTHING, { toolCalls: [call] });
    const { sessionId } = await bench.open('go');
    armFault('agent.tool_started', async () => {
      disarmFaults();
      await bench.database.write((unit) => archiveTask(unit, { sessionId, by: ANN }));
    });
    await bench.pass(sessionId).catch(() => undefined);
    const { read } = bench.database;
    expect(await read.question.count({ where: { status: 'open' } })).toBe(0);
    expect(await read.approval.count({ where: { status: 'pending' } })).toBe(0);
  },
);

test('T5: a change that has not been asked for when the operator stops the pass does not start', async () => {
  bench = await agentBench(NOTHING, run('touch /x'), { text: 'I wait.' });
  const { sessionId, turnId } = await bench.open('go');
  await bench.pass(sessionId);
  await bench.decide(sessionId, 'approve');
  await bench.until(
    async () =>
      (await bench.database.read.execution.findFirst({ where: { continuation: 'woken' } })) ??
      undefined,
  );
  bench.model.script(run('touch /y'));
  armFault('agent.tool_started', async () => {
    disarmFaults();
    await bench.database.write((unit) => requestStop(unit, { sessionId, turnId, by: ANN }));
  });
  expect(await bench.pass(sessionId)).toMatchObject({ state: 'cancelled' });
  expect(await bench.database.read.execution.count()).toBe(1);
  expect(bench.ran.map(({ command }) => command)).toEqual(['touch /x']);
});

test('T5, T9, C8: a turn that was stopped before it began does not keep a task without a goal open without a word', async () => {
  bench = await agentBench(NOTHING);
  const { sessionId } = await bench.open('how are things?');
  bench.model.script(async () => {
    await bench.database.write(async (unit) => {
      const other = await openTurn(unit, { sessionId, cause: 'operator' });
      await receiveMessage(unit, { sessionId, turnId: other, text: 'and that?', sender: ANN });
      await requestStop(unit, { sessionId, turnId: other, by: ANN });
    });
    return { text: 'All is well.' };
  });
  await bench.pass(sessionId);
  expect(await bench.claim(sessionId)).toBeNull();
  const after = await session(sessionId);
  expect(after.endedAt !== null || after.pausedReason !== null).toBe(true);
});

test('T11, T13: a message that opened a finished task again and is taken back in time leaves it finished', async () => {
  bench = await agentBench(NOTHING, goal(), complete('All done.'));
  const { sessionId, turnId } = await bench.open('go');
  await bench.pass(sessionId);
  expect(await session(sessionId)).toMatchObject({ outcome: 'success' });
  const eventId = asId<MatrixEventId>('$slip');
  await bench.database.write((unit) =>
    receiveMessage(unit, { sessionId, turnId, text: 'a slip', sender: ANN, eventId }),
  );
  await bench.database.write((unit) => redactMessage(unit, { eventId, sender: ANN }));
  await anHourAgo(bench, sessionId);
  expect(await sweepIdle(bench.database, { close: true })).toEqual({ nudged: 0, closed: 0 });
});

test('T5, R7: of a command that a stopped pass left running the agent is not told that its end wakes it', async () => {
  const gate = Promise.withResolvers<Record<string, never>>();
  const started = Promise.withResolvers<void>();
  bench = await agentBench(() => {
    started.resolve();
    return gate.promise;
  }, run('ls -R /'));
  const { sessionId, turnId } = await bench.open('go');
  const done = bench.pass(sessionId);
  await started.promise;
  await bench.database.write((unit) => requestStop(unit, { sessionId, by: ANN }));
  await done;
  const { shortId } = await bench.database.read.execution.findFirstOrThrow();
  bench.model.script(
    { toolCalls: [{ name: 'get_execution_status', arguments: { execution_id: shortId } }] },
    { text: 'I wait for its end.' },
  );
  await bench.database.write((unit) =>
    receiveMessage(unit, { sessionId, turnId, text: 'go on', sender: ANN }),
  );
  await bench.pass(sessionId);
  const told = wordsOf(bench.model.requests.at(-1)).includes('you will be woken when it ends');
  gate.resolve({});
  await bench.until(
    async () =>
      (await bench.database.read.execution.findFirst({ where: { status: 'completed' } })) ??
      undefined,
  );
  const woken = (await bench.claim(sessionId)) !== null;
  expect({ told, woken }).not.toEqual({ told: true, woken: false });
});

test('J5, C8: what an operator says while a failed continuation rests is worked on at once', async () => {
  bench = await agentBench(NOTHING, goal(), { text: 'I wait.' });
  const { sessionId, turnId } = await bench.open('go');
  await bench.pass(sessionId);
  await bench.database.write(async (unit) => {
    await unit.db.$queryRaw`SELECT id FROM sessions WHERE id = ${sessionId}::uuid FOR UPDATE`;
    await addNote(unit, { sessionId, turnId, text: 'A command has ended.', wake: 'continuation' });
  });
  bench.model.script({ status: 429, headers: { 'retry-after': '600' } });
  expect(await bench.pass(sessionId)).toMatchObject({ state: 'failed' });
  expect(await bench.claim(sessionId)).toBeNull();
  await bench.database.write((unit) =>
    receiveMessage(unit, { sessionId, turnId, text: 'then do it so', sender: ANN }),
  );
  expect(await bench.claim(sessionId)).not.toBeNull();
});

test('T5, A14: an approval that expires in a turn that was stopped does not set it going by itself', async () => {
  bench = await agentBench(NOTHING, goal(), run('touch /x'), { hang: true });
  const { sessionId, turnId } = await bench.open('go');
  const done = bench.pass(sessionId);
  await bench.model.request(3);
  await bench.database.write((unit) => requestStop(unit, { sessionId, turnId, by: ANN }));
  await done;
  await bench.database.read.approval.updateMany({ data: { expiresAt: new Date(0) } });
  expect(await expireDueApprovals(bench.database)).toBe(1);
  expect(await bench.claim(sessionId)).toBeNull();
});

test('J8: a step that is linked to an execution which has ended already closes all the same', async () => {
  bench = await agentBench(NOTHING);
  const { sessionId } = await bench.open('go');
  bench.model.script(
    { toolCalls: [{ name: 'propose_plan', arguments: { steps: ['Look'], ask_approval: false } }] },
    run('ls /a'),
    async () => {
      const { shortId } = await bench.database.read.execution.findFirstOrThrow();
      return {
        toolCalls: [
          {
            name: 'update_plan_step',
            arguments: { step: 1, status: 'running', execution_id: shortId },
          },
        ],
      };
    },
    { text: 'Done.' },
  );
  await bench.pass(sessionId);
  expect(await bench.database.read.planStep.findMany()).toMatchObject([{ status: 'done' }]);
});

test('C13: words that came before a call and were shown in part do not stay as a cut-off answer', async () => {
  const preamble = `${Array.from({ length: 120 }, (_, i) => `word${i}`).join(' ')}.`;
  bench = await agentBench(
    NOTHING,
    { ...goal(), text: preamble, pauseMs: 20 },
    complete('All done.'),
  );
  const { sessionId } = await bench.open('go');
  const pass = await bench.pass(sessionId);
  expect([null, preamble]).toContain(pass.answer);
});

test('K5, T5, J6: an answer that comes while a stopped pass waits to be taken up wakes the agent all the same', async () => {
  bench = await agentBench(NOTHING, {
    toolCalls: [{ name: 'ask_operator', arguments: { prompt: 'Which one?' } }],
  });
  const { sessionId, turnId } = await bench.open('go');
  await bench.pass(sessionId);
  // Instead of an answer the operator writes, and the pass that reads it dies and is stopped.
  await bench.database.write((unit) =>
    receiveMessage(unit, { sessionId, turnId, text: 'look first', sender: ANN }),
  );
  bench.model.script(run('ls /a'));
  armFault('agent.tool_ended', () => {
    throw new Error('the process ended here');
  });
  const pass = await bench.claim(sessionId);
  await expect(
    runPass(bench.deps, asId<PassId>(pass?.id ?? ''), { signal: FOREVER }),
  ).rejects.toThrow();
  disarmFaults();
  await bench.database.read.pass.updateMany({
    where: { state: 'running' },
    data: { state: 'queued', leaseOwner: null, leaseUntil: null },
  });
  await bench.database.write((unit) => requestStop(unit, { sessionId, by: ANN }));
  const question = await bench.database.read.question.findFirstOrThrow();
  await bench.database.write((unit) =>
    answerQuestion(unit, {
      questionId: asId<QuestionId>(question.id),
      answer: 'web-1',
      by: ANN,
      via: 'tap',
    }),
  );
  expect(await bench.pass(sessionId)).toMatchObject({ state: 'cancelled' });
  bench.model.script({ text: 'Then web-1.' });
  expect(await bench.pass(sessionId)).toMatchObject({ answer: 'Then web-1.' });
});

test('J1, H6: what the agent itself was asked for in the thread of an MCP client wakes it', async () => {
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
  bench.model.script({ text: 'It is there.' });
  expect(await bench.pass(sessionId)).toMatchObject({ answer: 'It is there.' });
});

test('L6, J6: no call of a pass that was given up stays on record as running', async () => {
  bench = await agentBench(NOTHING, run('ls /a'));
  const { sessionId } = await bench.open('go');
  armFault('agent.before_tool_result', () => {
    throw new Error('the process ended here');
  });
  const pass = await bench.claim(sessionId);
  await expect(
    runPass(bench.deps, asId<PassId>(pass?.id ?? ''), { signal: FOREVER }),
  ).rejects.toThrow();
  await bench.database.read.pass.updateMany({
    where: { sessionId },
    data: { attempt: MAX_PASS_ATTEMPTS, leaseUntil: new Date(0) },
  });
  await requeueLostPasses(bench.database);
  expect(
    await bench.database.read.toolCall.count({
      where: { state: { in: ['requested', 'running'] } },
    }),
  ).toBe(0);
});

test('R7: a worker that was taken for dead does not take a result away that it cannot tell any more', async () => {
  bench = await agentBench(() => ({ stdout: 'seen there' }), run('ls /a'));
  const { sessionId, turnId } = await bench.open('go');
  const pass = await bench.claim(sessionId, 'frozen');
  armFault('execution.before_finish', async () => {
    disarmFaults();
    // The worker is frozen for so long that its pass is given up, and wakes up before the end is told.
    await bench.database.read.pass.updateMany({
      where: { sessionId },
      data: { attempt: MAX_PASS_ATTEMPTS, leaseUntil: new Date(0) },
    });
    await requeueLostPasses(bench.database);
  });
  await runPass(bench.deps, asId<PassId>(pass?.id ?? ''), { signal: FOREVER }).catch(
    () => undefined,
  );
  await bench.database.read.execution.updateMany({ data: { endedAt: new Date(0) } });
  await wakeUntaken(bench.database);
  bench.model.script({ text: 'I see.' });
  await bench.database.write((unit) =>
    receiveMessage(unit, { sessionId, turnId, text: 'go on', sender: ANN }),
  );
  await bench.pass(sessionId);
  expect(wordsOf(bench.model.requests.at(-1)).split('seen there')).toHaveLength(2);
});

test('T5, R7: what a stopped pass had left running is told when the operator goes on, also if it has ended by then', async () => {
  const gate = Promise.withResolvers<{ stdout: string }>();
  const started = Promise.withResolvers<void>();
  bench = await agentBench(() => {
    started.resolve();
    return gate.promise;
  }, run('ls -R /'));
  const { sessionId, turnId } = await bench.open('go');
  const done = bench.pass(sessionId);
  await started.promise;
  await bench.database.write((unit) => requestStop(unit, { sessionId, by: ANN }));
  await done;
  gate.resolve({ stdout: 'seen there' });
  await bench.until(
    async () =>
      (await bench.database.read.execution.findFirst({ where: { status: 'completed' } })) ??
      undefined,
  );
  expect(await bench.claim(sessionId)).toBeNull();
  await bench.database.write((unit) =>
    receiveMessage(unit, { sessionId, turnId, text: 'go on', sender: ANN }),
  );
  bench.model.script({ text: 'I go on.' });
  await bench.pass(sessionId);
  expect(wordsOf(bench.model.requests.at(-1)).split('seen there')).toHaveLength(2);
});

test('J1, T5, A9: what a stopped pass had left in the queue, and what is asked for again and approved, wakes the agent with its end', async () => {
  bench = await agentBench(NOTHING, run('touch /x'), { hang: true });
  const { sessionId, turnId } = await bench.open('go');
  const done = bench.pass(sessionId);
  await bench.model.request(2);
  // In the queue by a grant when the stop came; then the grant ended before it started.
  const execution = await bench.database.read.execution.findFirstOrThrow();
  await bench.database.read.execution.update({
    where: { id: execution.id },
    data: { status: 'queued', continuation: 'due', allowedBy: 'grant', approvalId: null },
  });
  await bench.database.read.approval.deleteMany();
  await bench.database.write((unit) => requestStop(unit, { sessionId, turnId, by: ANN }));
  await done;
  expect(
    await claimExecution(bench.database, asId<ExecutionId>(execution.id), 'worker'),
  ).toMatchObject({ kind: 'asked_again' });
  await bench.decide(sessionId, 'approve');
  await bench.until(
    async () =>
      (await bench.database.read.execution.findFirst({ where: { status: 'completed' } })) ??
      undefined,
  );
  bench.model.script({ text: 'It is there.' });
  expect(await bench.pass(sessionId)).toMatchObject({ answer: 'It is there.' });
});

test('J4: a task is not closed after a reminder that nobody was given', async () => {
  bench = await agentBench(NOTHING, goal(), run('ls /a'), { text: 'I have looked.' });
  const { sessionId } = await bench.open('go');
  armFault('agent.before_tool_result', () => {
    throw new Error('the database went away');
  });
  const first = await bench.claim(sessionId);
  await expect(
    runPass(bench.deps, asId<PassId>(first?.id ?? ''), { signal: FOREVER }),
  ).rejects.toThrow();
  disarmFaults();
  // It rests, and in another turn a pass is stopped meanwhile.
  await bench.database.read.pass.updateMany({
    data: { state: 'queued', leaseOwner: null, leaseUntil: null },
  });
  await bench.database.write(async (unit) => {
    const turnId = await openTurn(unit, { sessionId, cause: 'operator' });
    await receiveMessage(unit, { sessionId, turnId, text: 'and that?', sender: ANN });
    await requestStop(unit, { sessionId, turnId, by: ANN });
  });
  expect(await bench.pass(sessionId)).toMatchObject({ answer: 'I have looked.' });
  await anHourAgo(bench, sessionId);
  expect(await sweepIdle(bench.database, { close: true })).toEqual({ nudged: 1, closed: 0 });
  expect(await bench.claim(sessionId)).not.toBeNull();
});
