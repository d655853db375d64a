import { afterEach, expect, test } from 'vitest';
import { OpenAiChatModel } from '../../core/agent/model/client.ts';
import { MAX_MODEL_CALLS, PassHandedOver, PassLost, runPass } from '../../core/agent/pass.ts';
import { armFault, disarmFaults } from '../../core/faults.ts';
import { asId, type MatrixEventId, type PassId, type SessionId } from '../../core/ids.ts';
import { archiveTask } from '../../core/tasks/archive.ts';
import { cancelOpen } from '../../core/tasks/complete.ts';
import { taskDigest } from '../../core/tasks/digest.ts';
import { sweepIdle } from '../../core/tasks/idle.ts';
import { addNote, receiveMessage } from '../../core/tasks/messages.ts';
import { redactMessage } from '../../core/tasks/redact.ts';
import { requeueLostPasses } from '../../core/tasks/passes.ts';
import { MAX_PASS_ATTEMPTS } from '../../core/tasks/turns.ts';
import { setGoal } from '../../core/tasks/status.ts';
import { requestStop } from '../../core/tasks/stop.ts';
import { MAX_CALLS_PER_ANSWER } from '../../core/agent/transcript.ts';
import { wakeUntaken } from '../../jobs/reconcile.ts';
import { agentBench, ANN, type AgentBench, type Target } from '../support/agent-bench.ts';
import type { AskedRequest, Step } from '../support/scripted-model.ts';

let bench: AgentBench;
afterEach(async () => {
  disarmFaults();
  await bench.close();
});

const NOTHING: Target = () => ({});
const FOREVER = new AbortController().signal;

function run(command: string): Step {
  return {
    toolCalls: [
      { name: 'run', arguments: { target: 'host:web-1', command, purpose: 'for the test' } },
    ],
  };
}

const words = (request: AskedRequest | undefined): string =>
  (request?.messages ?? []).map((message) => message.content ?? '').join('\n');

async function errors(sessionId: SessionId): Promise<Array<Record<string, unknown>>> {
  const rows = await bench.database.read.event.findMany({
    where: { sessionId, type: 'error.raised' },
  });
  return rows.map((row) => row.data as Record<string, unknown>);
}

/** The pass's process dies at a fault point; another worker takes it up from its rows. */
async function dieAt(point: string, sessionId: SessionId): Promise<void> {
  armFault(point, () => {
    disarmFaults(point);
    throw new Error('the process ended here');
  });
  const pass = await bench.claim(sessionId, 'first-worker');
  const id = asId<PassId>(pass?.id ?? '');
  await expect(runPass(bench.deps, id, { signal: FOREVER })).rejects.toThrow(
    'the process ended here',
  );
  await bench.database.read.pass.update({
    where: { id },
    data: { state: 'queued', leaseOwner: null, leaseUntil: null },
  });
}

/** A pass that has all but used up its model calls. */
async function nearTheLimit(sessionId: SessionId): Promise<void> {
  await bench.database.read.pass.updateMany({
    where: { sessionId },
    data: { modelCalls: MAX_MODEL_CALLS - 2 },
  });
}
const look: Step = { toolCalls: [{ name: 'list_lxcs', arguments: {} }] };

test('L2: at the limit one last call without tools writes the report', async () => {
  bench = await agentBench(
    NOTHING,
    (request) => {
      expect(request.tools?.length).toBeGreaterThan(0);
      return look;
    },
    (request) => {
      expect(request.tools).toBeUndefined();
      expect(request.messages.at(-1)?.content).toContain('reached its limit');
      return { text: 'So far I only looked.' };
    },
  );
  const { sessionId } = await bench.open('look for ever');
  await nearTheLimit(sessionId);
  expect(await bench.pass(sessionId)).toMatchObject({
    state: 'done',
    modelCalls: MAX_MODEL_CALLS,
    answer: 'So far I only looked.',
  });
  bench.model.verify();
});

test('L2: a pass does not end in silence even when the report is empty', async () => {
  bench = await agentBench(NOTHING, look, { text: '' }, { text: ' ' }, look);
  const { sessionId } = await bench.open('look for ever');
  await nearTheLimit(sessionId);
  const pass = await bench.pass(sessionId);
  expect(pass.state).toBe('done');
  expect(pass.answer).toMatch(/I stopped after 40 model calls[^]*list_lxcs: 1 done/);
});

test('L4, L9, J5: an unusable answer is tried again, and the model is told why; it counts, and leaves no trace in the conversation', async () => {
  bench = await agentBench(
    NOTHING,
    { text: '', cost: 0.25 },
    { text: "I'm sorry, but I can't assist with that." },
    { text: 'All is well.', cost: 0.5 },
  );
  const { sessionId } = await bench.open('how are things?');
  expect(await bench.pass(sessionId)).toMatchObject({
    state: 'done',
    answer: 'All is well.',
    modelCalls: 3,
    tokensIn: 300,
    cost: 0.75,
  });
  expect((await taskDigest(bench.database.read, asId<SessionId>(sessionId))).cost).toBe(0.75);
  expect(bench.model.requests[1]?.messages.at(-1)?.content).toContain(
    'could not be used: it was empty',
  );
  expect(bench.model.requests[2]?.messages.at(-1)?.content).toContain('it was a refusal');
  expect(await bench.database.read.message.count({ where: { sessionId, role: 'assistant' } })).toBe(
    1,
  );
});

test('L4, J5, C7: after three unusable answers the pass fails with a card that offers to try again; the task stays open', async () => {
  bench = await agentBench(
    NOTHING,
    { text: '' },
    { text: '所有磁盘都正常，没有任何问题。' },
    { text: '' },
  );
  const { sessionId } = await bench.open('how are things?');
  expect(await bench.pass(sessionId)).toMatchObject({
    state: 'failed',
    modelCalls: 3,
    error: { code: 'answer_unusable' },
  });
  expect(await errors(sessionId)).toEqual([
    expect.objectContaining({ code: 'answer_unusable', fault: 'model', retry: true }),
  ]);
  expect(
    await bench.database.read.session.findUniqueOrThrow({ where: { id: sessionId } }),
  ).toMatchObject({ endedAt: null });
});

test('R11: 5xx, a cut stream and rubbish are tried again within the pass', async () => {
  bench = await agentBench(NOTHING, { status: 503 }, { cut: 'half an ans' }, { text: 'whole' });
  const { sessionId } = await bench.open('go');
  expect(await bench.pass(sessionId)).toMatchObject({
    state: 'done',
    answer: 'whole',
    modelCalls: 3,
  });
});

test('R11: a model that wants a long rest is not waited for; the card says what is wrong', async () => {
  bench = await agentBench(NOTHING, { status: 429, headers: { 'retry-after': '3600' } });
  const { sessionId } = await bench.open('go');
  expect(await bench.pass(sessionId)).toMatchObject({ state: 'failed', modelCalls: 1 });
  expect(await errors(sessionId)).toEqual([
    expect.objectContaining({ code: 'model_rate_limited', retry: true }),
  ]);
});

test('R11: a thousand calls in one answer: the first are made, the model is told, and the pass goes on within its window', async () => {
  const call = {
    name: 'run',
    arguments: { target: 'host:web-1', command: 'uptime', purpose: 'see how long it is up' },
  };
  bench = await agentBench(
    () => ({ stdout: 'up 3 days' }),
    { toolCalls: Array.from({ length: 1000 }, (_, i) => ({ ...call, id: `c${i}` })) },
    (request) => {
      const answer = request.messages.findLast(({ role }) => role === 'assistant');
      expect(answer?.tool_calls).toHaveLength(MAX_CALLS_PER_ANSWER);
      const results = request.messages.filter(({ role }) => role === 'tool');
      expect(results.map(({ tool_call_id }) => tool_call_id)).toEqual(
        answer?.tool_calls?.map(({ id }) => id),
      );
      expect(words(request)).toContain('asked for 1000 calls; only the first 64 were made');
      return { text: 'It is up.' };
    },
  );
  const { sessionId } = await bench.open('is it up?');
  expect(await bench.pass(sessionId)).toMatchObject({ state: 'done', answer: 'It is up.' });
  expect(bench.ran).toHaveLength(MAX_CALLS_PER_ANSWER);
  bench.model.verify();
});

test('R11: half a JSON in arguments, names of tools that there are not, and arguments of the wrong shape are told and cost only themselves', async () => {
  bench = await agentBench(
    NOTHING,
    {
      toolCalls: [
        { name: 'list_lxcs', arguments: '{"state": "act' },
        { name: 'rm_everything', arguments: {} },
        { name: '', arguments: '' },
        { name: 'run', arguments: '["host:web-1"]' },
        { name: 'list_lxcs', arguments: {} },
      ],
    },
    { text: 'One of them worked.' },
  );
  const { sessionId } = await bench.open('look');
  expect(await bench.pass(sessionId)).toMatchObject({ state: 'done' });
  const calls = await bench.database.read.toolCall.findMany({ orderBy: { seq: 'asc' } });
  expect(calls.map(({ state }) => state)).toEqual(['failed', 'failed', 'failed', 'failed', 'done']);
  expect(words(bench.model.requests[1])).toContain('rm_everything');
});

test('R11, C7: an answer that does not end is tried three times; the card says so, and the task stays open', async () => {
  const chunk = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'x'.repeat(256 * 1024) } }] })}\n\n`;
  const endless: Step = { raw: chunk.repeat(20) };
  bench = await agentBench(NOTHING, endless, endless, endless);
  const { sessionId } = await bench.open('go');
  expect(await bench.pass(sessionId)).toMatchObject({
    state: 'failed',
    error: { code: 'model_answer_too_long' },
  });
  expect(await errors(sessionId)).toEqual([
    expect.objectContaining({ code: 'model_answer_too_long', retry: true }),
  ]);
  const session = await bench.database.read.session.findUniqueOrThrow({ where: { id: sessionId } });
  expect(session.endedAt).toBeNull();
});

test('R11, T4: a model that hangs for one task blocks no other; given up after its silence, it is asked again', async () => {
  bench = await agentBench(NOTHING);
  const of = (word: string) => (request: AskedRequest) => words(request).includes(word);
  bench.model.lane(of('the slow one'), { hang: true }, { text: 'There at last.' });
  bench.model.lane(of('the quick one'), { text: 'Done.' });
  const slow = await bench.open('the slow one');
  const quick = await bench.open('the quick one');
  const model = new OpenAiChatModel({
    baseUrl: bench.model.baseUrl,
    models: ['scripted'],
    idleTimeoutMs: 3_000,
  });
  const hanging = bench.pass(slow.sessionId, { model });
  await bench.model.request(1);
  expect(await bench.pass(quick.sessionId)).toMatchObject({ state: 'done', answer: 'Done.' });
  expect(await hanging).toMatchObject({ state: 'done', answer: 'There at last.', modelCalls: 2 });
});

test('R11: 429 with Retry-After is waited for as long as it says, then asked again', async () => {
  const asked: number[] = [];
  const at = (): void => void asked.push(performance.now());
  bench = await agentBench(
    NOTHING,
    () => (at(), { status: 429, headers: { 'retry-after': '1' } }),
    () => (at(), { text: 'There you are.' }),
  );
  const { sessionId } = await bench.open('go');
  expect(await bench.pass(sessionId)).toMatchObject({ state: 'done', modelCalls: 2 });
  expect((asked[1] ?? 0) - (asked[0] ?? 0)).toBeGreaterThanOrEqual(1_000);
});

test('L1: a refused key fails at once, by name, with what to do', async () => {
  bench = await agentBench(NOTHING, { status: 401 });
  const { sessionId } = await bench.open('go');
  await bench.pass(sessionId);
  const [error] = await errors(sessionId);
  expect(error).toMatchObject({ code: 'model_unauthorized', fault: 'operator' });
  expect(error?.['hint']).toContain('OPENAI_API_KEY');
  bench.model.verify();
});

test('L5: a conversation that is too long for the model is narrowed and asked again', async () => {
  const long = 'x'.repeat(4000);
  bench = await agentBench(
    () => ({ stdout: long }),
    run('cat /etc/services'),
    run('cat /etc/protocols'),
    { status: 400, body: { error: { message: 'too long', code: 'context_length_exceeded' } } },
    { text: 'ok' },
  );
  const { sessionId } = await bench.open('read both');
  await bench.pass(sessionId, { contextTokens: 3000 });
  const size = (request: AskedRequest | undefined): number => words(request).length;
  expect(size(bench.model.requests[3])).toBeLessThan(size(bench.model.requests[2]));
  expect(words(bench.model.requests[3])).toContain('get_execution_status');
});

test('L5: the next pass gets old results as a line, and is told what is left out', async () => {
  bench = await agentBench(
    () => ({ stdout: 'y'.repeat(2000) }),
    run('cat /etc/services'),
    { text: 'read' },
    { text: 'yes' },
  );
  const { sessionId, turnId } = await bench.open('read it');
  await bench.pass(sessionId);
  for (let i = 0; i < 40; i++) {
    await bench.database.write((unit) =>
      receiveMessage(unit, { sessionId, turnId, text: `line ${i}`, sender: ANN }),
    );
  }
  await bench.pass(sessionId);
  expect(words(bench.model.requests[2])).not.toContain('yyyy');
  expect(words(bench.model.requests[2])).toContain('shortened');
  bench.model.script({ text: 'again' });
  await bench.database.write((unit) =>
    receiveMessage(unit, { sessionId, turnId, text: 'and now?', sender: ANN }),
  );
  await bench.pass(sessionId);
  const last = bench.model.requests[3];
  expect(last?.messages[1]?.content).toMatch(
    /^<note from="nomos">\nThe first \d+ messages of this task are left out and summed up here/,
  );
  expect(last?.messages.filter((message) => message.content?.startsWith('line '))).toHaveLength(29);
});

test('T5: 🛑 ends a pass in the middle of a model call; what waits for a decision still waits', async () => {
  bench = await agentBench(NOTHING, run('touch /x'), { hang: true });
  const { sessionId, turnId } = await bench.open('go');
  const done = bench.pass(sessionId);
  await bench.model.request(2);
  await bench.database.write((unit) => requestStop(unit, { sessionId, turnId, by: ANN }));
  expect(await done).toMatchObject({ state: 'cancelled', error: null });
  expect(await errors(sessionId)).toEqual([]);
  expect(
    await bench.database.read.execution.findFirstOrThrow({ where: { sessionId } }),
  ).toMatchObject({ status: 'pending_approval' });
});

test('T5, C8: 🛑 that comes when the last answer is there already ends nothing, and the task says that it waits for the operator', async () => {
  bench = await agentBench(
    NOTHING,
    { toolCalls: [{ name: 'set_goal', arguments: { goal: 'Look around' } }] },
    { text: 'I have looked.' },
  );
  const { sessionId, turnId } = await bench.open('look around');
  let answers = 0;
  armFault('agent.before_answer_stored', async () => {
    answers += 1;
    if (answers < 2) return;
    await bench.database.write((unit) => requestStop(unit, { sessionId, turnId, by: ANN }));
  });
  expect(await bench.pass(sessionId)).toMatchObject({ state: 'done' });
  expect(
    await bench.database.read.session.findUniqueOrThrow({ where: { id: sessionId } }),
  ).toMatchObject({ endedAt: null, pausedReason: `stopped by ${ANN}` });
});

test('T5: 🛑 while a command runs: calls that were to follow are not made, and its end wakes nobody', async () => {
  const gate = Promise.withResolvers<Record<string, never>>();
  const started = Promise.withResolvers<void>();
  bench = await agentBench(
    () => {
      started.resolve();
      return gate.promise;
    },
    {
      toolCalls: [
        { name: 'run', arguments: { target: 'web-1', command: 'ls -R /', purpose: 'look' } },
        { name: 'set_goal', arguments: { goal: 'never set' } },
      ],
    },
  );
  const { sessionId } = await bench.open('go');
  const done = bench.pass(sessionId);
  await started.promise;
  await bench.database.write((unit) => requestStop(unit, { sessionId, by: ANN }));
  expect(await done).toMatchObject({ state: 'cancelled' });
  expect(
    await bench.database.read.toolCall.findFirstOrThrow({ where: { name: 'set_goal' } }),
  ).toMatchObject({ state: 'failed' });
  gate.resolve({});
  await bench.until(
    async () =>
      (await bench.database.read.execution.findFirst({ where: { status: 'completed' } })) ??
      undefined,
  );
  expect(await bench.claim(sessionId)).toBeNull();
});

test('T5, J4: a task that was stopped stays so: neither what Nomos has to tell nor a sweep sets it going, an operator’s word does', async () => {
  bench = await agentBench(NOTHING, run('touch /x'), { hang: true });
  const { sessionId, turnId } = await bench.open('go');
  const done = bench.pass(sessionId);
  await bench.model.request(2);
  await bench.database.write(async (unit) => {
    await setGoal(unit, sessionId, 'get it done');
    await requestStop(unit, { sessionId, turnId, by: ANN });
    // Something that the pass has not read when it ends.
    await addNote(unit, { sessionId, turnId, text: 'A command has ended.', wake: 'continuation' });
  });
  expect(await done).toMatchObject({ state: 'cancelled' });
  await bench.database.write(async (unit) => {
    await cancelOpen(unit, sessionId, ANN, 'the test');
    await unit.db.session.update({
      where: { id: sessionId },
      data: { lastActivityAt: new Date(Date.now() - 3_600_000) },
    });
  });
  expect(await bench.claim(sessionId)).toBeNull();
  expect(await sweepIdle(bench.database, { close: true })).toEqual({ nudged: 0, closed: 0 });
  expect(
    await bench.database.read.session.findUniqueOrThrow({ where: { id: sessionId } }),
  ).toMatchObject({ pausedReason: `stopped by ${ANN}`, endedAt: null });
  bench.model.script({ text: 'I go on.' });
  await bench.database.write((unit) =>
    receiveMessage(unit, { sessionId, turnId, text: 'go on', sender: ANN }),
  );
  await bench.pass(sessionId);
  expect(words(bench.model.requests.at(-1))).toContain('A command has ended.');
  expect(
    await bench.database.read.session.findUniqueOrThrow({ where: { id: sessionId } }),
  ).toMatchObject({ pausedReason: null });
});

test('J7: a handover stops between two steps and leaves the row to be taken up', async () => {
  bench = await agentBench(NOTHING, { hang: true }, { text: 'done by the other' });
  const { sessionId } = await bench.open('go');
  const pass = await bench.claim(sessionId, 'leaving');
  const leave = new AbortController();
  const id = asId<PassId>(pass?.id ?? '');
  const running = runPass(bench.deps, id, { signal: leave.signal });
  await bench.model.request(1);
  leave.abort();
  await expect(running).rejects.toBeInstanceOf(PassHandedOver);
  const row = await bench.database.read.pass.findUniqueOrThrow({ where: { id } });
  expect(row).toMatchObject({ state: 'running', error: null });
  await bench.database.read.pass.update({
    where: { id },
    data: { state: 'queued', leaseOwner: null },
  });
  expect(await bench.pass(sessionId)).toMatchObject({
    id,
    state: 'done',
    answer: 'done by the other',
    attempt: 2,
  });
});

test('T4: a worker that lost its pass writes nothing more', async () => {
  bench = await agentBench(NOTHING, async () => {
    // Another worker took the pass up while this one's model was thinking.
    await bench.database.read.pass.updateMany({
      where: { sessionId },
      data: { leaseOwner: 'successor', attempt: 2 },
    });
    return { text: 'too late' };
  });
  const { sessionId } = await bench.open('go');
  const pass = await bench.claim(sessionId, 'slow');
  await expect(
    runPass(bench.deps, asId<PassId>(pass?.id ?? ''), { signal: FOREVER }),
  ).rejects.toBeInstanceOf(PassLost);
  expect(await bench.database.read.message.count({ where: { sessionId, role: 'assistant' } })).toBe(
    0,
  );
  expect(
    (await bench.database.read.pass.findFirstOrThrow({ where: { sessionId } })).answer,
  ).toBeNull();
});

test.each([
  ['agent.before_model_call', 2],
  ['agent.before_answer_stored', 3],
  ['agent.answer_stored', 2],
  ['agent.tool_started', 2],
  ['agent.before_tool_result', 2],
  ['agent.tool_ended', 2],
])(
  'L6: a pass that died at %s is taken up: finished calls are not made again, the command runs once',
  async (point, asked) => {
    bench = await agentBench(NOTHING);
    bench.model.lane(
      (request) => !request.messages.some((message) => message.role === 'tool'),
      ...(asked === 3 ? [run('ls /a')] : []),
      run('ls /a'),
    );
    bench.model.lane((request) => request.messages.some((message) => message.role === 'tool'), {
      text: 'there',
    });
    const { sessionId } = await bench.open('go');
    await dieAt(point, sessionId);
    expect(await bench.pass(sessionId)).toMatchObject({ state: 'done', answer: 'there' });
    expect(bench.ran).toHaveLength(1);
    expect(bench.model.requests).toHaveLength(asked);
    expect(await bench.database.read.execution.count({ where: { sessionId } })).toBe(1);
    const calls = await bench.database.read.toolCall.findMany({ where: { sessionId } });
    expect(calls.map((call) => call.state)).toEqual(['done']);
    expect(await bench.claim(sessionId)).toBeNull();
    bench.model.verify();
  },
);

test('T5, J6: what an operator said while no worker was there is read when the pass is taken up, before the model is asked again', async () => {
  bench = await agentBench(NOTHING, run('ls /a'), { text: 'I see.' });
  const { sessionId, turnId } = await bench.open('go');
  await dieAt('agent.tool_ended', sessionId);
  await bench.database.write((unit) =>
    receiveMessage(unit, { sessionId, turnId, text: 'Leave the rest alone.', sender: ANN }),
  );
  await bench.pass(sessionId);
  expect(bench.model.requests).toHaveLength(2);
  expect(words(bench.model.requests[1])).toContain('Leave the rest alone.');
  expect(await bench.claim(sessionId)).toBeNull();
});

test('T13, J6: a message that is said and taken back while no worker was there does not end the work on what was read before', async () => {
  bench = await agentBench(NOTHING, run('ls /a'), { text: 'I see.' });
  const { sessionId, turnId } = await bench.open('go');
  await dieAt('agent.tool_ended', sessionId);
  const eventId = asId<MatrixEventId>('$slip');
  await bench.database.write(async (unit) => {
    await receiveMessage(unit, { sessionId, turnId, text: 'a slip', sender: ANN, eventId });
    await redactMessage(unit, { eventId, sender: ANN });
  });
  expect(await bench.pass(sessionId)).toMatchObject({ state: 'done', answer: 'I see.' });
  expect(words(bench.model.requests[1])).not.toContain('a slip');
});

test('T9, T13: a task without a goal that was kept open by a message ends when that is taken back', async () => {
  bench = await agentBench(NOTHING, { text: 'All is well.' });
  const { sessionId, turnId } = await bench.open('look at it');
  const eventId = asId<MatrixEventId>('$slip');
  // Said after the model was asked for the last time, taken back before the next pass.
  armFault('agent.before_answer_stored', async () => {
    await bench.database.write((unit) =>
      receiveMessage(unit, { sessionId, turnId, text: 'a slip', sender: ANN, eventId }),
    );
  });
  await bench.pass(sessionId);
  const task = () => bench.database.read.session.findUniqueOrThrow({ where: { id: sessionId } });
  expect(await task()).toMatchObject({ endedAt: null });
  await bench.database.write((unit) => redactMessage(unit, { eventId, sender: ANN }));
  expect(await bench.claim(sessionId)).toBeNull();
  expect(await task()).toMatchObject({ status: 'done', summary: 'All is well.' });
});

test('T11, T13: words in a finished task that are taken back unread leave it finished as it was; others that came since are worked on', async () => {
  bench = await agentBench(NOTHING, {
    toolCalls: [{ name: 'complete_task', arguments: { outcome: 'success', summary: 'All done.' } }],
  });
  const { sessionId, turnId } = await bench.open('go');
  await bench.pass(sessionId);
  const task = () => bench.database.read.session.findUniqueOrThrow({ where: { id: sessionId } });
  const { endedAt } = await task();
  const say = async (id: string) => {
    const eventId = asId<MatrixEventId>(id);
    await bench.database.write((unit) =>
      receiveMessage(unit, { sessionId, turnId, text: id, sender: ANN, eventId }),
    );
    return () => bench.database.write((unit) => redactMessage(unit, { eventId, sender: ANN }));
  };
  for (const order of [1, -1]) {
    const slips = [await say(`$one${order}`), await say(`$two${order}`)];
    expect(await task()).toMatchObject({ endedAt: null });
    for (const takeBack of order === 1 ? slips : slips.toReversed()) await takeBack();
    expect(await task()).toMatchObject({ endedAt, outcome: 'success', summary: 'All done.' });
    expect(await bench.claim(sessionId)).toBeNull();
  }
  const slip = await say('$three');
  await say('$four');
  await slip();
  bench.model.script({ text: 'What else?' });
  await bench.pass(sessionId);
  expect(words(bench.model.requests.at(-1))).toContain('$four');
  expect(words(bench.model.requests.at(-1))).not.toContain('$three');
});

test('T5, T13: words in a stopped task that are taken back unread leave it stopped, and what it has to tell unread', async () => {
  bench = await agentBench(NOTHING, { hang: true });
  const { sessionId, turnId } = await bench.open('go');
  const done = bench.pass(sessionId);
  await bench.model.request(1);
  await bench.database.write(async (unit) => {
    await setGoal(unit, sessionId, 'get it done');
    await requestStop(unit, { sessionId, by: ANN });
    await addNote(unit, { sessionId, turnId, text: 'A command has ended.', wake: 'continuation' });
  });
  await done;
  const eventId = asId<MatrixEventId>('$slip');
  await bench.database.write((unit) =>
    receiveMessage(unit, { sessionId, turnId, text: 'a slip', sender: ANN, eventId }),
  );
  await bench.database.write((unit) => redactMessage(unit, { eventId, sender: ANN }));
  expect(await bench.claim(sessionId)).toBeNull();
  expect(
    await bench.database.read.session.findUniqueOrThrow({ where: { id: sessionId } }),
  ).toMatchObject({ pausedReason: `stopped by ${ANN}`, endedAt: null });
});

test('T5, J6: a stop that came while no worker was there ends the pass when it is taken up: the model is not asked, nothing more is done', async () => {
  bench = await agentBench(NOTHING, run('touch /x'));
  const { sessionId } = await bench.open('go');
  await dieAt('agent.answer_stored', sessionId);
  // As the rows stand when nobody has noticed yet that the worker is gone.
  await bench.database.read.pass.updateMany({
    where: { sessionId },
    data: { state: 'running', leaseOwner: 'first-worker', leaseUntil: new Date(0) },
  });
  await bench.database.write((unit) => requestStop(unit, { sessionId, by: ANN }));
  expect(await requeueLostPasses(bench.database)).toEqual([sessionId]);
  expect(await bench.pass(sessionId)).toMatchObject({ state: 'cancelled' });
  expect(bench.model.requests).toHaveLength(1);
  expect(await bench.database.read.execution.count({ where: { sessionId } })).toBe(0);
  expect(
    await bench.database.read.session.findUniqueOrThrow({ where: { id: sessionId } }),
  ).toMatchObject({ pausedReason: `stopped by ${ANN}`, endedAt: null });
});

test.each([
  ['nobody has noticed yet', 'running'],
  ['it waits for another worker', 'queued'],
] as const)(
  'T5, R7: a stop of a pass that died in the middle of a call, while %s, ends it; what the call had brought is told once, and not as a call that was not made',
  async (_when, state) => {
    bench = await agentBench(() => ({ stdout: 'seen there' }), run('ls /a'));
    const { sessionId, turnId } = await bench.open('go');
    await dieAt('agent.before_tool_result', sessionId);
    await bench.database.read.pass.updateMany({
      where: { sessionId },
      data: { state, leaseUntil: state === 'running' ? new Date(0) : null },
    });
    await bench.database.write((unit) => requestStop(unit, { sessionId, by: ANN }));
    await requeueLostPasses(bench.database);
    expect(await bench.pass(sessionId)).toMatchObject({ state: 'cancelled' });
    expect(bench.model.requests).toHaveLength(1);
    const call = await bench.database.read.toolCall.findFirstOrThrow({ where: { sessionId } });
    expect(call.state).toBe('done');
    bench.model.script({ text: 'I go on.' });
    await bench.database.write((unit) =>
      receiveMessage(unit, { sessionId, turnId, text: 'go on', sender: ANN }),
    );
    await bench.pass(sessionId);
    expect(words(bench.model.requests.at(-1)).split('seen there')).toHaveLength(2);
  },
);

test('R7: a pass that took its process down again and again is given up; what its last call had brought is told by a note', async () => {
  bench = await agentBench(() => ({ stdout: 'seen there' }), run('ls /a'));
  const { sessionId, turnId } = await bench.open('go');
  await dieAt('agent.before_tool_result', sessionId);
  await bench.database.read.pass.updateMany({
    where: { sessionId },
    data: { state: 'running', attempt: MAX_PASS_ATTEMPTS, leaseUntil: new Date(0) },
  });
  expect(await requeueLostPasses(bench.database)).toEqual([]);
  await wakeUntaken(bench.database);
  bench.model.script({ text: 'I see.' });
  await bench.database.write((unit) =>
    receiveMessage(unit, { sessionId, turnId, text: 'go on', sender: ANN }),
  );
  await bench.pass(sessionId);
  expect(words(bench.model.requests.at(-1)).split('seen there')).toHaveLength(2);
});

test('T11, J6: a pass whose worker died before its task was put away does not wait in the queue for ever', async () => {
  bench = await agentBench(NOTHING, run('ls /a'));
  const { sessionId } = await bench.open('go');
  await dieAt('agent.tool_ended', sessionId);
  await bench.database.write((unit) => archiveTask(unit, { sessionId, by: ANN }));
  expect(await bench.claim(sessionId)).toBeNull();
  expect(await bench.database.read.pass.findMany({ where: { sessionId } })).toMatchObject([
    { state: 'cancelled' },
  ]);
});

test('L6, R2: a pass that died after a change was requested does not ask for it twice', async () => {
  bench = await agentBench(NOTHING, run('touch /x'), { text: 'I wait for you.' });
  const { sessionId } = await bench.open('go');
  await dieAt('agent.before_tool_result', sessionId);
  await bench.pass(sessionId);
  expect(await bench.database.read.approval.count({ where: { sessionId } })).toBe(1);
  expect(words(bench.model.requests[1])).toContain('pending_approval');
});

test('L6: a pass that died after complete_task only ends', async () => {
  bench = await agentBench(NOTHING, {
    toolCalls: [{ name: 'complete_task', arguments: { outcome: 'success', summary: 'All done.' } }],
  });
  const { sessionId } = await bench.open('go');
  await dieAt('agent.tool_ended', sessionId);
  expect(await bench.pass(sessionId)).toMatchObject({ state: 'done' });
  expect(bench.model.requests).toHaveLength(1);
  expect(
    await bench.database.read.session.findUniqueOrThrow({ where: { id: sessionId } }),
  ).toMatchObject({ status: 'done', summary: 'All done.' });
});

test('C13: a long answer shows while it is being written, at most once a second, and is whole at the end', async () => {
  const text = Array.from({ length: 60 }, (_, i) => `word${i}`).join(' ');
  bench = await agentBench(NOTHING, { text, pauseMs: 40 });
  const { sessionId } = await bench.open('tell me');
  const seen: string[] = [];
  bench.feed.subscribe((event) => {
    if (event.type !== 'pass.answering') return;
    void bench.database.read.pass
      .findUniqueOrThrow({ where: { id: event.refId ?? '' } })
      .then((pass) => seen.push(pass.answer ?? ''));
  });
  const pass = await bench.pass(sessionId);
  expect(pass.answer).toBe(text);
  const shown = (await bench.events(sessionId)).filter((type) => type === 'pass.answering').length;
  expect(shown).toBeGreaterThanOrEqual(1);
  expect(shown).toBeLessThanOrEqual(4);
  expect(seen.every((part) => text.startsWith(part))).toBe(true);
});

test('C13: with streaming off nothing shows before the answer is whole', async () => {
  const text = Array.from({ length: 60 }, (_, i) => `word${i}`).join(' ');
  bench = await agentBench(NOTHING, { text, pauseMs: 5 });
  const { sessionId } = await bench.open('tell me');
  await bench.pass(sessionId, { streaming: false });
  expect(await bench.events(sessionId)).not.toContain('pass.answering');
});

test('R12, X4: any bytes in an answer, in arguments or in an output are stored and go on', async () => {
  bench = await agentBench(
    () => ({ stdout: 'a\0b\ud800' }),
    {
      text: 'nul \0 here',
      toolCalls: [
        {
          name: 'run',
          arguments: { target: 'web-1', command: 'cat /bin/true', purpose: 'nul \0 too' },
        },
      ],
    },
    { text: 'fine \0' },
  );
  const { sessionId } = await bench.open('go');
  expect(await bench.pass(sessionId)).toMatchObject({ state: 'done', answer: 'fine ␀' });
});

test('T13: a message that was redacted in time is not part of what the model reads', async () => {
  bench = await agentBench(NOTHING, { text: 'ok' });
  const { sessionId, turnId } = await bench.open('first');
  const { messageId } = await bench.database.write((unit) =>
    receiveMessage(unit, { sessionId, turnId, text: 'a slip', sender: ANN }),
  );
  await bench.database.read.message.update({
    where: { id: messageId },
    data: { redactedAt: new Date(), takenInAt: new Date() },
  });
  await bench.pass(sessionId);
  expect(words(bench.model.requests[0])).not.toContain('a slip');
});

test.each([
  ['task', { taskTokens: 250, dayTokens: undefined }, 'NOMOS_TASK_TOKENS'],
  ['day', { taskTokens: undefined, dayTokens: 250 }, 'NOMOS_DAY_TOKENS'],
])(
  'L9: tokens of a %s that are used up stop the work with a card that says which limit, and keep what was done',
  async (_of, budgets, option) => {
    bench = await agentBench(NOTHING, look, look, look);
    const { sessionId } = await bench.open('look for ever');
    const pass = await bench.pass(sessionId, { budgets });
    expect(pass).toMatchObject({ state: 'failed', error: { code: 'token_limit' } });
    expect(pass.tokensIn + pass.tokensOut).toBeGreaterThanOrEqual(250);
    expect(bench.model.requests.length).toBeLessThanOrEqual(3);
    const [error] = await errors(sessionId);
    expect(error).toMatchObject({ code: 'token_limit', fault: 'operator', retry: true });
    expect(String(error?.['hint'])).toContain(option);
    const calls = await bench.database.read.toolCall.count({
      where: { sessionId, state: 'done' },
    });
    expect(calls).toBe(bench.model.requests.length);
  },
);
