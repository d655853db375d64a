import { afterEach, expect, test } from 'vitest';
import { decide } from '../../core/approvals/decide.ts';
import { waitingApprovals } from '../../core/approvals/waiting.ts';
import { updatePlanStep } from '../../core/tasks/plan.ts';
import { sweepIdle } from '../../core/tasks/idle.ts';
import { lockSession } from '../../core/tasks/lock.ts';
import { addNote, receiveMessage } from '../../core/tasks/messages.ts';
import { finishExecution } from '../../core/executions/finish.ts';
import { requestExecution } from '../../core/executions/request.ts';
import { DEFAULT_LIMITS, setLimits } from '../../core/limits.ts';
import { asId, type ApprovalId, type ExecutionId, type SessionId } from '../../core/ids.ts';
import {
  agentBench,
  anHourAgo,
  ANN,
  type AgentBench,
  type Target,
} from '../support/agent-bench.ts';
import type { AskedRequest, Step } from '../support/scripted-model.ts';

let bench: AgentBench;
afterEach(async () => {
  setLimits(DEFAULT_LIMITS);
  await bench.close();
});

const NOTHING: Target = () => ({});
const NOW = { resumeDelaysMs: [0] };
const words = (request: AskedRequest | undefined): string =>
  (request?.messages ?? []).map((message) => message.content ?? '').join('\n');
const goal: Step = {
  toolCalls: [{ name: 'set_goal', arguments: { goal: 'Bring the web server up to date' } }],
};
const session = (id: SessionId) => bench.database.read.session.findUniqueOrThrow({ where: { id } });

async function wake(task: Parameters<typeof addNote>[1]): Promise<void> {
  await bench.database.write(async (unit) => {
    await lockSession(unit, task.sessionId);
    await addNote(unit, task);
  });
}

async function errors(sessionId: SessionId): Promise<unknown[]> {
  const rows = await bench.database.read.event.findMany({
    where: { sessionId, type: 'error.raised' },
    orderBy: { id: 'asc' },
  });
  return rows.map((row) => row.data);
}

test('T9: a queued pass that has nothing left to read does not keep a task open that has ended', async () => {
  bench = await agentBench(NOTHING);
  const task = await bench.open('how are things?');
  bench.model.script(
    async () => {
      await wake({ ...task, text: 'Something ended.', wake: 'continuation' });
      return { toolCalls: [{ name: 'list_lxcs', arguments: {} }] };
    },
    (request) => {
      expect(words(request)).toContain('Something ended.');
      return { text: 'All is well.' };
    },
  );
  await bench.pass(task.sessionId);
  expect(await session(task.sessionId)).toMatchObject({ status: 'done', outcome: 'success' });
  expect(await bench.claim(task.sessionId)).toBeNull();
});

test('T9, A19: a dry run that was given up does not keep a task open, since its end wakes nobody', async () => {
  setLimits({ ...DEFAULT_LIMITS, inlineWaitMs: 50 });
  const held = Promise.withResolvers<object>();
  bench = await agentBench(() => held.promise);
  const task = await bench.open('upgrade it');
  bench.model.script(
    {
      toolCalls: [
        {
          name: 'run',
          arguments: {
            ...{ target: 'host:web-1', command: 'apt-get -y upgrade', purpose: 'Upgrade' },
            preview: 'apt-get -s upgrade',
          },
        },
      ],
    },
    (request) => {
      expect(words(request)).toContain('preview_failed');
      return { text: 'I could not look at it first.' };
    },
  );
  await bench.pass(task.sessionId);
  expect(await session(task.sessionId)).toMatchObject({ status: 'done' });
  const [dryRun] = await bench.database.read.execution.findMany();
  expect(dryRun).toMatchObject({ status: 'running', continuation: 'suppressed' });
  held.resolve({});
});

/** A task without a goal in which a stopped pass has left a change in the queue: its end wakes nobody. */
async function leftInTheQueue() {
  bench = await agentBench(NOTHING);
  const task = await bench.open('restart it');
  await bench.database.write((unit) =>
    requestExecution(unit, {
      ...{ ...task, passId: null, toolCallId: null },
      ...{ target: 'host:web-1', command: 'systemctl restart nginx', purpose: 'Restart' },
    }),
  );
  const { read } = bench.database;
  await read.approval.updateMany({ data: { status: 'approved' } });
  await read.execution.updateMany({ data: { status: 'queued', continuation: 'suppressed' } });
  bench.model.script({ text: 'It waits for its turn.' });
  await bench.pass(task.sessionId);
  expect(await session(task.sessionId)).toMatchObject({ endedAt: null });
  expect(await read.execution.findFirst()).toMatchObject({ status: 'queued' });
  await read.execution.updateMany({ data: { status: 'running', leaseOwner: 'worker' } });
  return task;
}

test('T5, T9: what a stopped pass left in the queue keeps its task open and is not cancelled; what it left running holds nothing up', async () => {
  const task = await leftInTheQueue();
  bench.model.script({ text: 'It runs.' });
  await bench.database.write((unit) =>
    receiveMessage(unit, { ...task, text: 'and now?', sender: ANN }),
  );
  await bench.pass(task.sessionId);
  expect(await session(task.sessionId)).toMatchObject({ status: 'done', summary: 'It runs.' });
  expect(await bench.database.read.execution.findFirst()).toMatchObject({ status: 'running' });
});

test('T5, T9: the end of what a stopped pass had left ends the task that was open for it alone', async () => {
  const task = await leftInTheQueue();
  const { id } = await bench.database.read.execution.findFirstOrThrow();
  const nothing = { bytes: new Uint8Array(), totalBytes: 0, droppedBytes: 0, gapAt: undefined };
  const output = { stdout: nothing, stderr: nothing };
  await finishExecution(bench.database, {
    id: asId<ExecutionId>(id),
    owner: 'worker',
    mask: (text) => text,
    end: { kind: 'exited', exitCode: 0, ...output, durationMs: 1, shell: undefined },
  });
  expect(await session(task.sessionId)).toMatchObject({
    status: 'done',
    summary: 'It waits for its turn.',
  });
});

test('J5, C7: a continuation that fails is tried in three passes, each told so; then the task is paused with a card', async () => {
  bench = await agentBench(NOTHING, goal, { text: 'Waiting.' });
  const task = await bench.open('bring it up to date');
  await bench.pass(task.sessionId);
  await wake({ ...task, text: 'The command ended.', wake: 'continuation' });
  bench.model.script(...Array.from({ length: 9 }, (): Step => ({ text: '' })));
  for (let pass = 1; pass <= 3; pass++) {
    expect(await bench.pass(task.sessionId, NOW)).toMatchObject({ state: 'failed' });
    expect(await errors(task.sessionId)).toHaveLength(pass < 3 ? 0 : 1);
  }
  expect(words(bench.model.requests.at(-1))).toMatch(/last answer in this task could not be used/);
  expect(await bench.claim(task.sessionId)).toBeNull();
  expect(await session(task.sessionId)).toMatchObject({
    endedAt: null,
    failedResumes: 3,
    pausedReason: expect.stringContaining('no usable answer'),
  });
  expect(await errors(task.sessionId)).toEqual([expect.objectContaining({ retry: true })]);

  await bench.database.write((unit) =>
    receiveMessage(unit, { ...task, text: 'Go on.', sender: ANN }),
  );
  bench.model.script({ text: 'I go on.' });
  expect(await bench.pass(task.sessionId)).toMatchObject({ state: 'done' });
  expect(await session(task.sessionId)).toMatchObject({ pausedReason: null, failedResumes: 0 });
});

test('J5: a pass that comes to its end ends a row of failures', async () => {
  bench = await agentBench(NOTHING, goal, { text: 'Waiting.' });
  const task = await bench.open('bring it up to date');
  await bench.pass(task.sessionId);
  await wake({ ...task, text: 'The command ended.', wake: 'continuation' });
  bench.model.script({ text: '' }, { text: '' }, { text: '' }, { text: 'It is done now.' });
  expect(await bench.pass(task.sessionId, NOW)).toMatchObject({ state: 'failed' });
  expect(await bench.pass(task.sessionId, NOW)).toMatchObject({ state: 'done' });
  expect(await session(task.sessionId)).toMatchObject({ pausedReason: null, failedResumes: 0 });
  expect(await errors(task.sessionId)).toEqual([]);
});

test('J5, L1: a refused key is not tried again by itself: the task is paused at once', async () => {
  bench = await agentBench(NOTHING, goal, { text: 'Waiting.' });
  const task = await bench.open('bring it up to date');
  await bench.pass(task.sessionId);
  await wake({ ...task, text: 'The command ended.', wake: 'continuation' });
  bench.model.script({ status: 401 });
  await bench.pass(task.sessionId, NOW);
  expect(await bench.claim(task.sessionId)).toBeNull();
  expect((await session(task.sessionId)).pausedReason).not.toBeNull();
});

test('L9, J5: used-up tokens stop a continuation at once, with the card; nothing is tried again', async () => {
  bench = await agentBench(NOTHING, goal, { text: 'Waiting.' });
  const task = await bench.open('bring it up to date');
  await bench.pass(task.sessionId);
  await wake({ ...task, text: 'The command ended.', wake: 'continuation' });
  const budgets = { taskTokens: 1, dayTokens: undefined };
  expect(await bench.pass(task.sessionId, { ...NOW, budgets })).toMatchObject({
    error: { code: 'token_limit' },
  });
  expect(await bench.claim(task.sessionId)).toBeNull();
  expect(await errors(task.sessionId)).toEqual([expect.objectContaining({ code: 'token_limit' })]);
});

test('J4: an idle task with a goal is nudged once, then closed as partial with a summary that says so', async () => {
  bench = await agentBench(NOTHING, goal, { text: 'I will see.' });
  const task = await bench.open('bring it up to date');
  await bench.pass(task.sessionId);
  expect(await sweepIdle(bench.database, { close: true })).toEqual({ nudged: 0, closed: 0 });

  await anHourAgo(bench, task.sessionId);
  expect(await sweepIdle(bench.database, { close: true })).toEqual({ nudged: 1, closed: 0 });
  expect(await sweepIdle(bench.database, { close: true })).toEqual({ nudged: 0, closed: 0 });
  bench.model.script((request) => {
    expect(words(request)).toMatch(/Nothing has happened in this task/);
    return { text: 'I still do not know.' };
  });
  await bench.pass(task.sessionId);

  await anHourAgo(bench, task.sessionId);
  expect(await sweepIdle(bench.database, { close: false })).toEqual({ nudged: 0, closed: 0 });
  expect(await sweepIdle(bench.database, { close: true })).toEqual({ nudged: 0, closed: 1 });
  const closed = await session(task.sessionId);
  expect(closed).toMatchObject({ outcome: 'partial', status: 'done' });
  expect(closed.summary).toMatch(/nothing happened for .*I still do not know/);
});

test('J4: what waits for a person or is paused is left alone; a change after the nudge earns another', async () => {
  bench = await agentBench(
    NOTHING,
    {
      text: 'x',
      toolCalls: [
        { name: 'set_goal', arguments: { goal: 'Bring it up' } },
        {
          name: 'run',
          arguments: { target: 'host:web-1', command: 'touch /x', purpose: 'a change' },
        },
      ],
    },
    { text: 'I asked for it.' },
  );
  const task = await bench.open('bring it up to date');
  await bench.pass(task.sessionId);
  await anHourAgo(bench, task.sessionId);
  expect(await sweepIdle(bench.database, { close: true })).toEqual({ nudged: 0, closed: 0 });

  await bench.decide(task.sessionId, 'deny');
  bench.model.script({ text: 'Then not.' });
  await bench.pass(task.sessionId);
  await bench.database.read.session.update({
    where: { id: task.sessionId },
    data: { pausedReason: 'the model is away' },
  });
  await anHourAgo(bench, task.sessionId);
  expect(await sweepIdle(bench.database, { close: true })).toEqual({ nudged: 0, closed: 0 });

  await bench.database.read.session.update({
    where: { id: task.sessionId },
    data: { pausedReason: null, nudgedAt: new Date(0) },
  });
  expect(await sweepIdle(bench.database, { close: true })).toEqual({ nudged: 1, closed: 0 });
});

test('J4, T9: a task without a goal that had its answer and is open all the same is ended as what it is, not nudged', async () => {
  bench = await agentBench(NOTHING, { text: 'All is well.' });
  const task = await bench.open('look at it');
  await bench.pass(task.sessionId);
  await bench.database.read.session.update({
    where: { id: task.sessionId },
    data: { endedAt: null, outcome: null, summary: null, status: 'active' },
  });
  expect(await sweepIdle(bench.database, { close: true })).toEqual({ nudged: 0, closed: 0 });
  await anHourAgo(bench, task.sessionId);
  expect(await sweepIdle(bench.database, { close: true })).toEqual({ nudged: 0, closed: 1 });
  expect(await session(task.sessionId)).toMatchObject({
    outcome: 'success',
    summary: 'All is well.',
  });
});

/** A task whose approved change ends after its grant did. */
async function outlivingItsGrant(withGoal: boolean): Promise<SessionId> {
  const { promise: held, resolve: release } = Promise.withResolvers<object>();
  bench = await agentBench(
    () => held,
    ...(withGoal ? [goal] : []),
    {
      toolCalls: [
        {
          name: 'run',
          arguments: { target: 'host:web-1', command: 'touch /x', purpose: 'a change' },
        },
      ],
    },
    { text: 'I asked for it.' },
  );
  setLimits({ ...DEFAULT_LIMITS, grantTtlMs: 400 });
  const { sessionId } = await bench.open('change it');
  await bench.pass(sessionId);
  await bench.decide(sessionId, 'approve');
  await bench.until(async () =>
    (await bench.database.read.execution.count({ where: { sessionId, status: 'running' } })) > 0
      ? true
      : undefined,
  );
  const grant = await bench.database.read.grant.findFirstOrThrow({ where: { sessionId } });
  await bench.database.read.$executeRaw`
    SELECT pg_sleep(greatest(0, extract(epoch FROM ${grant.expiresAt} - clock_timestamp()) + 0.05))`;
  release({});
  await bench.until(async () =>
    (await bench.database.read.execution.count({ where: { sessionId, status: 'completed' } })) > 0
      ? true
      : undefined,
  );
  return sessionId;
}

test('J3, R1, R14: a grant that ran out while its command ran is opened again for the same approval, and the agent goes on', async () => {
  const sessionId = await outlivingItsGrant(true);
  const [old, fresh] = await bench.database.read.grant.findMany({
    where: { sessionId },
    orderBy: { createdAt: 'asc' },
  });
  expect(fresh).toMatchObject({ kind: 'task', approvalId: old?.approvalId, closedAt: null });
  expect(fresh?.expiresAt.getTime()).toBeGreaterThan(old?.expiresAt.getTime() ?? 0);
  const [entry] = await bench.database.read.auditEntry.findMany({
    where: { action: 'grant.reopened' },
  });
  expect(entry).toMatchObject({
    subject: fresh?.id,
    data: expect.objectContaining({ approval: old?.approvalId, ranOut: old?.id }),
  });
  bench.model.script((request) => {
    expect(words(request)).toContain('was opened again');
    return { text: 'I go on.' };
  });
  await bench.pass(sessionId);
  expect(await errors(sessionId)).toEqual([]);
});

test('J3: without a goal the grant stays closed; the agent gets the result and the room is told what to do', async () => {
  const sessionId = await outlivingItsGrant(false);
  expect(await bench.database.read.grant.count({ where: { sessionId } })).toBe(1);
  expect(await errors(sessionId)).toEqual([
    expect.objectContaining({ code: 'grant_ran_out', hint: expect.stringContaining('go ahead') }),
  ]);
  bench.model.script((request) => {
    expect(words(request)).toMatch(/ended: completed.*ran out while it ran/s);
    return { text: 'It is done.' };
  });
  await bench.pass(sessionId);
});

test.each([
  ['is approved and completes', 'approve', 0, 'done'],
  ['is approved and fails', 'approve', 3, 'failed'],
  ['is denied', 'deny', 0, 'failed'],
] as const)(
  'J8: a plan step closes with its execution, though the agent says nothing: it %s',
  async (_how, verdict, exitCode, status) => {
    bench = await agentBench(
      () => ({ exitCode }),
      {
        toolCalls: [
          { name: 'propose_plan', arguments: { steps: [{ title: 'Change it' }] } },
          {
            name: 'run',
            arguments: { target: 'host:web-1', command: 'touch /x', purpose: 'a change' },
          },
        ],
      },
      { text: 'I asked for it.' },
    );
    const { sessionId } = await bench.open('change it');
    await bench.pass(sessionId);
    const execution = await bench.database.read.execution.findFirstOrThrow({
      where: { sessionId },
    });
    await bench.database.write((unit) =>
      updatePlanStep(unit, {
        sessionId,
        seq: 1,
        status: 'running',
        executionId: asId<ExecutionId>(execution.id),
      }),
    );
    const waiting = await waitingApprovals(bench.database.read, { sessionId });
    await bench.database.write((unit) =>
      decide(unit, {
        approvalId: asId<ApprovalId>(
          waiting.find(({ executions }) => executions.length > 0)?.id ?? '',
        ),
        verdict,
        operator: { userId: ANN, role: 'admin' },
        means: 'tap',
      }),
    );
    const step = await bench.until(async () => {
      const row = await bench.database.read.planStep.findFirstOrThrow({ where: { sessionId } });
      return row.status === 'running' ? undefined : row;
    });
    expect(step.status).toBe(status);
  },
);
