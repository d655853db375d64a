import { afterEach, expect, test } from 'vitest';
import { disarmFaults } from '../../core/faults.ts';
import type { SessionId } from '../../core/ids.ts';
import { sweepIdle } from '../../core/tasks/idle.ts';
import { addNote, receiveMessage } from '../../core/tasks/messages.ts';
import { askQuestion, answerQuestion } from '../../core/tasks/questions.ts';
import { requestStop } from '../../core/tasks/stop.ts';
import { openTurn } from '../../core/tasks/turns.ts';
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
const run = (command: string): Reply => runs(command, 'for the test');
const session = (id: SessionId) => bench.database.read.session.findUniqueOrThrow({ where: { id } });
const ended = async (command: string) =>
  bench.until(
    async () =>
      (await bench.database.read.execution.findFirst({
        where: { command, status: { in: ['completed', 'failed'] } },
      })) ?? undefined,
  );

test('T5: words that were said before the stop, and not read yet, do not begin the work again by themselves', async () => {
  bench = await agentBench(NOTHING, goal(), { hang: true });
  const { sessionId, turnId } = await bench.open('go');
  const done = bench.pass(sessionId);
  await bench.model.request(2);
  await bench.database.write((unit) =>
    receiveMessage(unit, { sessionId, turnId, text: 'also look at the disks', sender: ANN }),
  );
  await bench.database.write((unit) => requestStop(unit, { sessionId, by: ANN }));
  expect(await done).toMatchObject({ state: 'cancelled' });
  expect(await session(sessionId)).toMatchObject({ pausedReason: `stopped by ${ANN}` });
  expect(await bench.claim(sessionId)).toBeNull();
});

test('T5: a second stop holds also for what was said since the first, while the stopped pass is still ending', async () => {
  bench = await agentBench(NOTHING, goal(), { hang: true });
  const { sessionId, turnId } = await bench.open('go');
  const done = bench.pass(sessionId);
  await bench.model.request(2);
  await bench.database.write(async (unit) => {
    await requestStop(unit, { sessionId, by: ANN });
    await receiveMessage(unit, { sessionId, turnId, text: 'no, the other one', sender: ANN });
    await requestStop(unit, { sessionId, by: ANN });
  });
  expect(await done).toMatchObject({ state: 'cancelled' });
  expect(await bench.claim(sessionId)).toBeNull();
  // What they say then goes on, with all of it read.
  await bench.database.write((unit) =>
    receiveMessage(unit, { sessionId, turnId, text: 'now go on', sender: ANN }),
  );
  bench.model.script({ text: 'I do.' });
  await bench.pass(sessionId);
  expect(wordsOf(bench.model.requests.at(-1))).toContain('no, the other one');
});

test('T5, T14, J5: a run by the clock whose model is away does not undo the stop of the task', async () => {
  bench = await agentBench(NOTHING, goal(), { hang: true });
  const { sessionId } = await bench.open('go');
  const done = bench.pass(sessionId);
  await bench.model.request(2);
  await bench.database.write((unit) => requestStop(unit, { sessionId, by: ANN }));
  await done;
  const byClock = async (): Promise<void> =>
    bench.database.write(async (unit) => {
      const turnId = await openTurn(unit, { sessionId, cause: 'schedule' });
      const said = { sessionId, turnId, text: 'check', sender: ANN };
      await receiveMessage(unit, { ...said, byClock: true });
    });
  await byClock();
  bench.model.script({ text: '' }, { text: '' }, { text: '' });
  expect(await bench.pass(sessionId)).toMatchObject({ state: 'failed' });
  await byClock();
  bench.model.script({ text: 'All is well.' });
  expect(await bench.pass(sessionId)).toMatchObject({ state: 'done' });
  await anHourAgo(bench, sessionId);
  expect(await sweepIdle(bench.database, { close: true })).toEqual({ nudged: 0, closed: 0 });
});

test('R7, T5: what an operator says while a continuation is at work listens for what a stopped pass had left running', async () => {
  const gate = Promise.withResolvers<{ stdout: string }>();
  const started = Promise.withResolvers<void>();
  bench = await agentBench(
    (command) => {
      if (command !== 'ls -R /') return {};
      started.resolve();
      return gate.promise;
    },
    goal(),
    run('touch /x'),
    run('ls -R /'),
  );
  const { sessionId, turnId } = await bench.open('go');
  const done = bench.pass(sessionId);
  await started.promise;
  await bench.database.write((unit) => requestStop(unit, { sessionId, by: ANN }));
  await done;
  // An old card is approved; its end wakes the agent, and the operator writes just then.
  await bench.decide(sessionId, 'approve');
  await ended('touch /x');
  await bench.database.write((unit) =>
    receiveMessage(unit, { sessionId, turnId, text: 'wait for the list and tell me', sender: ANN }),
  );
  bench.model.script({ text: 'I wait for it.' });
  await bench.pass(sessionId);
  expect(wordsOf(bench.model.requests.at(-1))).toContain('wait for the list');
  gate.resolve({ stdout: 'seen there' });
  await ended('ls -R /');
  bench.model.script({ text: 'I have seen it.' });
  await bench.pass(sessionId);
  expect(wordsOf(bench.model.requests.at(-1))).toContain('seen there');
});

test('R7, T5: likewise what they say while a continuation runs, which reads it', async () => {
  const gate = Promise.withResolvers<{ stdout: string }>();
  const started = Promise.withResolvers<void>();
  bench = await agentBench(
    (command) => {
      if (command !== 'ls -R /') return {};
      started.resolve();
      return gate.promise;
    },
    goal(),
    run('touch /x'),
    run('ls -R /'),
  );
  const { sessionId, turnId } = await bench.open('go');
  const done = bench.pass(sessionId);
  await started.promise;
  await bench.database.write((unit) => requestStop(unit, { sessionId, by: ANN }));
  await done;
  await bench.decide(sessionId, 'approve');
  await ended('touch /x');
  bench.model.script(
    async () => {
      await bench.database.write((unit) =>
        receiveMessage(unit, { sessionId, turnId, text: 'wait for the list', sender: ANN }),
      );
      return run('cat /y');
    },
    { text: 'I wait for it.' },
  );
  await bench.pass(sessionId);
  expect(wordsOf(bench.model.requests.at(-1))).toContain('wait for the list');
  expect(await bench.claim(sessionId)).toBeNull();
  gate.resolve({ stdout: 'seen there' });
  await ended('ls -R /');
  expect(await bench.claim(sessionId)).not.toBeNull();
});

test('J5, C8: what an operator says while a continuation is failing is worked on at once, also where a result came before it', async () => {
  bench = await agentBench(NOTHING, goal(), run('touch /x'), { text: 'I wait for your word.' });
  const { sessionId, turnId } = await bench.open('go');
  await bench.pass(sessionId);
  await bench.decide(sessionId, 'approve');
  await ended('touch /x');
  bench.model.script(async () => {
    await bench.database.write(async (unit) => {
      await addNote(unit, { sessionId, turnId, text: 'Another has ended.', wake: 'continuation' });
      await receiveMessage(unit, { sessionId, turnId, text: 'how far is it?', sender: ANN });
    });
    return { status: 429, headers: { 'retry-after': '600' } };
  });
  expect(await bench.pass(sessionId)).toMatchObject({ state: 'failed' });
  expect(await bench.claim(sessionId)).not.toBeNull();
});

test('K5, T11: an answer that was given just before another turn ended the task is read', async () => {
  bench = await agentBench(NOTHING, goal());
  const { sessionId } = await bench.open('go');
  bench.model.script(async () => {
    await bench.database.write(async (unit) => {
      const other = await openTurn(unit, { sessionId, cause: 'operator' });
      const first = await unit.db.pass.findFirstOrThrow();
      const questionId = await askQuestion(unit, {
        ...{ sessionId, turnId: other, passId: first.id as never, prompt: 'Which disk?' },
        options: ['sda', 'sdb'],
        entities: [],
      });
      await answerQuestion(unit, { questionId, answer: 'sdb', by: ANN, via: 'tap' });
    });
    return complete('All done.');
  });
  await bench.pass(sessionId);
  expect(await session(sessionId)).toMatchObject({ outcome: 'success' });
  expect(await bench.claim(sessionId)).not.toBeNull();
});

test('J5: after an approval a continuation that fails is tried again as often as any', async () => {
  bench = await agentBench(NOTHING, goal(), run('touch /x'), run('touch /y'), {
    text: 'I wait for your word.',
  });
  const { sessionId } = await bench.open('go');
  await bench.pass(sessionId);
  const fails = async (): Promise<void> => {
    bench.model.script({ text: '' }, { text: '' }, { text: '' });
    expect(await bench.pass(sessionId, { resumeDelaysMs: [0] })).toMatchObject({ state: 'failed' });
  };
  await bench.decide(sessionId, 'approve');
  await ended('touch /x');
  await fails();
  await fails();
  await fails();
  expect((await session(sessionId)).pausedReason).not.toBeNull();
  await bench.decide(sessionId, 'approve');
  await ended('touch /y');
  await fails();
  expect(await bench.claim(sessionId)).not.toBeNull();
});

test('T9, T5: a task without a goal ends with the last command that another, stopped turn had left running', async () => {
  const gate = Promise.withResolvers<{ stdout: string }>();
  const started = Promise.withResolvers<void>();
  bench = await agentBench(() => {
    started.resolve();
    return gate.promise;
  }, run('ls -R /'));
  const { sessionId, turnId } = await bench.open('go');
  const done = bench.pass(sessionId);
  await started.promise;
  await bench.database.write((unit) => requestStop(unit, { sessionId, turnId, by: ANN }));
  await done;
  await bench.database.write(async (unit) => {
    const other = await openTurn(unit, { sessionId, cause: 'operator' });
    await receiveMessage(unit, { sessionId, turnId: other, text: 'how are things?', sender: ANN });
  });
  bench.model.script({ text: 'All is well.' });
  await bench.pass(sessionId);
  gate.resolve({ stdout: 'seen there' });
  await ended('ls -R /');
  expect(await bench.claim(sessionId)).toBeNull();
  expect((await session(sessionId)).endedAt).not.toBeNull();
});
