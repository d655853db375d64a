import { afterAll, afterEach, beforeAll, describe, expect, it, test } from 'vitest';
import { cardKey } from '../../bot/projector/keys.ts';
import { decide } from '../../core/approvals/decide.ts';
import { outputTail } from '../../core/executions/finish.ts';
import { requestBatch } from '../../core/executions/batch/request.ts';
import { requestExecution } from '../../core/executions/request.ts';
import { subjectHash } from '../../core/executions/hash.ts';
import { claimExecution } from '../../core/executions/claim.ts';
import { coveredHash, previewFrom, type Preview } from '../../core/executions/preview.ts';
import { createMasker } from '../../core/executions/masking/masker.ts';
import { asId, type ExecutionId, type SessionId } from '../../core/ids.ts';
import { proposePlan } from '../../core/tasks/plan.ts';
import { askQuestion } from '../../core/tasks/questions.ts';
import { setGoal } from '../../core/tasks/status.ts';
import { setPaused } from '../../core/policy/pause.ts';
import { agentBench, type AgentBench } from '../support/agent-bench.ts';
import { ANN, type BotWorld, LOBBY } from '../support/bot-world.ts';
import type { Step } from '../support/scripted-model.ts';
import { askFor, notesIn, openRooms, openRoomTask, saidIn } from '../support/task-room.ts';

const SECRET = 'hunter2hunter2';

describe('in the room', () => {
  let world: BotWorld;
  beforeAll(async () => {
    world = await openRooms({ mask: createMasker([SECRET]).mask });
  });
  afterAll(() => world.close());

  it('A16: words and commands approve nothing whose card is not in the room yet; the API, which shows it itself, does; a no always counts', async () => {
    const task = await openRoomTask(world);
    const held = await askFor(world, task, 'systemctl restart nginx', { unseen: true });
    await world.say(task.roomId, 'yes', { thread: task.root });
    expect(world.shown.some(({ body }) => body.includes('Not decided: all that it covers'))).toBe(
      true,
    );
    expect((await held.approval()).status).toBe('pending');
    const second = await askFor(world, task, 'systemctl stop nginx', { unseen: true });
    await world.say(task.roomId, `!approve ${second.shortId}`);
    expect((await second.approval()).status).toBe('pending');
    const api = await world.write((unit) =>
      decide(unit, {
        approvalId: second.approvalId,
        verdict: 'approve',
        operator: { userId: ANN, role: 'admin' },
        means: 'api',
      }),
    );
    expect(api.kind).toBe('approved');
    const third = await askFor(world, task, 'rm -rf /srv/x', { unseen: true });
    await world.say(task.roomId, `!deny ${third.shortId}`);
    expect((await third.approval()).status).toBe('denied');
    await world.say(task.roomId, 'yes', { replyTo: held.card.eventId });
    expect((await held.approval()).status).toBe('approved');
  });

  it('A16: a card whose file did not arrive decides nothing until it has', async () => {
    const task = await openRoomTask(world);
    const held = await askFor(world, task, `echo ${'x'.repeat(3000)} > /srv/long`);
    expect(held.card.body).toContain('attached whole as a file');
    const fileKey = cardKey.commandFile(`execution:${held.id}`);
    const file = world.card(fileKey);
    expect(file.file?.text).toBe(`echo ${'x'.repeat(3000)} > /srv/long`);
    const setEvent = async (eventId: string | null): Promise<unknown> =>
      world.database.read.matrixCard.update({ where: { cardKey: fileKey }, data: { eventId } });
    await setEvent(null);
    await world.tap(task.roomId, held.card.eventId, '✅');
    expect((await held.approval()).status).toBe('pending');
    expect(world.lastAnswer().body).toContain('has not reached this room yet');
    await setEvent(file.eventId);
    await world.tap(task.roomId, held.card.eventId, '✅');
    expect((await held.approval()).status).toBe('approved');
  });

  it('A16, R12: a card, or its file, that was given up is sent once more when somebody decides, and can be decided on then', async () => {
    const task = await openRoomTask(world);
    const held = await askFor(world, task, `echo ${'x'.repeat(3000)} > /srv/long`, {
      unseen: true,
    });
    while (await world.projector?.step());
    // The homeserver refuses both, and so what hangs on them.
    await world.database.read.matrixOutbox.updateMany({
      where: { state: 'pending', kind: { in: ['send', 'upload', 'react'] } },
      data: { state: 'failed' },
    });
    await world.say(task.roomId, 'yes', { thread: task.root });
    expect((await held.approval()).status).toBe('pending');
    expect(world.lastAnswer().body).toContain('could not be sent here. It is sent once more now');
    const file = world.card(cardKey.commandFile(`execution:${held.id}`));
    expect(file.file?.text).toContain('x'.repeat(3000));
    expect(held.card.reactions).toEqual(['✅', '❌']);
    await world.tap(task.roomId, held.card.eventId, '✅');
    expect((await held.approval()).status).toBe('approved');
  });

  it('X9, Z4: a secret in a purpose, a question, a goal or a step stands in no room, by whatever card', async () => {
    const token = `ghp_${'a1B2c3D4'.repeat(5)}`;
    const task = await openRoomTask(world);
    await world.write(async (unit) => {
      await setGoal(unit, task.sessionId, `Put ${token} in place`);
      await proposePlan(unit, task.sessionId, [{ title: `Write ${token}` }]);
      await askQuestion(unit, {
        ...task,
        prompt: `Is ${token} right?`,
        options: [token],
        entities: [],
      });
    });
    const held = await askFor(world, task, 'rm -rf /srv/x', { purpose: `Remove ${token}` });
    await world.tap(task.roomId, held.card.eventId, '✅');
    await world.say(task.roomId, 'I confirm zzzz9', { thread: task.root });
    await world.say(task.roomId, '!status');
    await world.say(LOBBY, '!tasks');
    const all = [
      ...world.shown.flatMap(({ body, html }) => [body, html]),
      ...world.roomNames.values(),
    ];
    expect(all.filter((text) => text.includes('a1B2c3D4'))).toEqual([]);
    expect(all.filter((text) => text.includes('[masked]')).length).toBeGreaterThan(5);
  });

  it('X9, A16: a secret in a command is not shown, the card says so, and the approval binds the real bytes', async () => {
    const task = await openRoomTask(world);
    const command = `curl -s -X POST -u deploy:${SECRET} https://app.example.org/restart`;
    const held = await askFor(world, task, command);
    expect(held.card.body).not.toContain(SECRET);
    expect(held.card.html).not.toContain(SECRET);
    expect(held.card.body).toContain('It contains a secret that is not shown');
    const row = await held.execution();
    expect(row.command).toBe(command);
    expect((await held.approval()).subjectHash).toBe(subjectHash([row.commandHash]));
    const plain = await askFor(world, task, 'systemctl restart nginx');
    expect(plain.card.body).not.toContain('secret');
  });

  it('A17: “no, …” as a reply to a card denies it, and the agent reads the words as the reason; any other text leaves it waiting and is read as a message', async () => {
    const task = await openRoomTask(world);
    const held = await askFor(world, task, 'systemctl restart nginx');
    await world.say(task.roomId, 'how long is it down?', { replyTo: held.card.eventId });
    expect((await held.approval()).status).toBe('pending');
    expect((await saidIn(world, task.turnId)).at(-1)).toBe('how long is it down?');
    await world.say(task.roomId, "don't, the backup is still running", {
      replyTo: held.card.eventId,
    });
    expect(await held.approval()).toMatchObject({
      status: 'denied',
      reason: "don't, the backup is still running",
    });
    expect((await held.execution()).status).toBe('denied');
    expect((await notesIn(world, task.turnId)).at(-1)).toMatch(
      /DENIED: .*The operator's words: "don't, the backup is still running"\. Stop this plan/,
    );
    const due = await world.database.read.pass.count({
      where: { turnId: task.turnId, state: 'queued' },
    });
    expect(due).toBe(1);
  });

  it('A19: what a dry run said stands on the card, whole as a file where it is long', async () => {
    const task = await openRoomTask(world);
    const lines = Array.from({ length: 30 }, (_, at) => `Inst package-${at}`).join('\n');
    const { executionId } = await world.write((unit) =>
      requestExecution(unit, {
        ...{ sessionId: task.sessionId, turnId: task.turnId, passId: task.passId },
        toolCallId: null,
        target: 'web-1',
        command: 'apt-get -s upgrade',
        purpose: 'Preview',
      }),
    );
    // A worker ran it.
    const dryRun = await world.database.read.execution.update({
      where: { id: executionId },
      data: { status: 'completed', exitCode: 0, stdout: lines, tail: outputTail(lines) },
    });
    const held = await askFor(world, task, 'apt-get -y upgrade', {
      preview: previewFrom(dryRun, 0),
    });
    expect(held.card.body).toContain('Preview: apt-get -s upgrade');
    expect(held.card.body).toContain('Inst package-29');
    expect(held.card.body).not.toContain('Inst package-3\n');
    const file = world.card(cardKey.previewFile(`execution:${held.id}`));
    expect(file.file?.text).toBe(lines);
  });

  it('A19, X13: what dry runs said stands on the card of a batch, and all of it goes before it as a file', async () => {
    const task = await openRoomTask(world);
    const ids = { sessionId: task.sessionId, turnId: task.turnId, passId: task.passId };
    const lines = (of: string): string =>
      Array.from({ length: 30 }, (_, at) => `Inst ${of}-${at}`).join('\n');
    const previews = new Map<string, Preview>();
    for (const target of ['web-1', 'db-1']) {
      const { executionId } = await world.write((unit) =>
        requestExecution(unit, {
          ...ids,
          toolCallId: null,
          target,
          command: 'apt-get -s upgrade',
          purpose: 'Preview',
        }),
      );
      const stdout = lines(target);
      const dryRun = await world.database.read.execution.update({
        where: { id: executionId },
        data: { status: 'completed', exitCode: 0, stdout, tail: outputTail(stdout) },
      });
      previews.set(target, previewFrom(dryRun, 0));
    }
    const { batchId } = await world.write((unit) =>
      requestBatch(unit, {
        ...ids,
        toolCallId: null,
        targets: ['web-1', 'db-1'],
        command: 'apt-get -y upgrade',
        purpose: 'Upgrade what is due',
        canary: false,
        previews,
      }),
    );
    await world.settle();
    const card = world.card(`batch:${batchId}`);
    expect(card.body).toContain('Preview on host:web-1: apt-get -s upgrade');
    expect(card.body).toContain('Inst web-1-29');
    expect(card.body).toContain('Inst db-1-29');
    expect(card.body).not.toContain('Inst db-1-3\n');
    const file = world.card(cardKey.previewFile(`batch:${batchId}`));
    expect(file.file?.text).toBe(`# host:web-1\n${lines('web-1')}\n# host:db-1\n${lines('db-1')}`);
  });
});

describe('A19: the agent’s preview', () => {
  let bench: AgentBench;
  afterEach(() => bench.close());

  const change = (command: string, preview: string): Step => ({
    toolCalls: [
      {
        name: 'run',
        arguments: { target: 'host:web-1', command, preview, purpose: 'Upgrade what is due' },
      },
    ],
  });
  const executions = (sessionId: SessionId) =>
    bench.database.read.execution.findMany({ where: { sessionId }, orderBy: { createdAt: 'asc' } });
  const result = (): string =>
    (bench.model.requests.at(-1)?.messages ?? []).map(({ content }) => content ?? '').join('\n');

  test('runs first on the same target as a read of its own, whatever its exit code, and is bound to the approval', async () => {
    bench = await agentBench(
      () => ({ exitCode: 1, stdout: 'Inst nginx\n' }),
      change('apt-get -y upgrade', 'apt-get -s upgrade'),
      { text: 'I propose the upgrade.' },
    );
    const { sessionId } = await bench.open('upgrade');
    await bench.pass(sessionId);
    expect(bench.ran).toEqual([{ target: 'host:web-1', command: 'apt-get -s upgrade' }]);
    const [dryRun, upgrade] = await executions(sessionId);
    expect(dryRun).toMatchObject({
      risk: 'read_only',
      allowedBy: 'class',
      status: 'failed',
      // Neither its end nor that of one whose pass died is told by a note of its own (R7).
      continuation: 'suppressed',
    });
    expect(upgrade).toMatchObject({ status: 'pending_approval' });
    expect(upgrade?.preview).toMatchObject({
      executionId: dryRun?.id,
      command: 'apt-get -s upgrade',
      exitCode: 1,
      tail: 'Inst nginx',
      longer: false,
    });
    const approval = await bench.database.read.approval.findFirstOrThrow({ where: { sessionId } });
    if (upgrade === undefined) throw new Error('nothing was asked for');
    expect(approval.subjectHash).toBe(subjectHash([coveredHash(upgrade)]));
    expect(approval.subjectHash).not.toBe(subjectHash([upgrade.commandHash]));
    // Nobody is woken for the dry run: the call itself has its result.
    expect(await bench.claim(sessionId)).toBeNull();
    await bench.decide(sessionId, 'approve');
    await bench.until(async () => (bench.ran.length === 2 ? true : undefined));
    expect(bench.ran[1]?.command).toBe('apt-get -y upgrade');
  });

  test('A16: a preview that is another than the one shown stops the approved command', async () => {
    bench = await agentBench(
      () => ({ stdout: 'Inst nginx\n' }),
      change('apt-get -y upgrade', 'apt-get -s upgrade'),
      { text: 'I propose the upgrade.' },
    );
    const { sessionId } = await bench.open('upgrade');
    await bench.pass(sessionId);
    const [, upgrade] = await executions(sessionId);
    const db = bench.database.read;
    await expect(
      db.$executeRaw`UPDATE executions SET preview = NULL WHERE id = ${upgrade?.id}::uuid`,
    ).rejects.toThrow(/fixed at request time/);
    await db.$executeRaw`ALTER TABLE executions DISABLE TRIGGER executions_keep`;
    await db.$executeRaw`
      UPDATE executions SET preview = jsonb_set(preview, '{outputHash}', '"other"') WHERE id = ${upgrade?.id}::uuid`;
    await bench.decide(sessionId, 'approve');
    await bench.until(async () => {
      const row = await bench.database.read.execution.findUniqueOrThrow({
        where: { id: upgrade?.id ?? '' },
      });
      return row.status === 'pending_approval' ? row : undefined;
    });
    expect(bench.ran).toHaveLength(1);
    const claim = await claimExecution(
      bench.database,
      asId<ExecutionId>(upgrade?.id ?? ''),
      'worker',
    );
    expect(claim.kind).toBe('not_due');
  });

  test.each([
    ['apt-get -y upgrade', 'config_mutation'],
    ['rm -rf /srv/x', 'destructive'],
    ['nginx -t; systemctl restart nginx', 'config_mutation'],
  ])(
    'one that is not read-only (%s) is refused, and nothing runs or waits',
    async (preview, risk) => {
      bench = await agentBench(() => ({}), change('apt-get -y dist-upgrade', preview), {
        text: 'I see.',
      });
      const { sessionId } = await bench.open('upgrade');
      await bench.pass(sessionId);
      expect(result()).toContain('preview_not_read_only');
      expect(result()).toContain(`it is ${risk}`);
      expect(bench.ran).toEqual([]);
      expect(await executions(sessionId)).toEqual([]);
      expect(await bench.database.read.approval.count()).toBe(0);
    },
  );

  test('P7: with the kill switch on no preview runs by itself', async () => {
    bench = await agentBench(() => ({}), change('apt-get -y upgrade', 'apt-get -s upgrade'), {
      text: 'I see.',
    });
    const { sessionId } = await bench.open('upgrade');
    await bench.database.write((unit) => setPaused(unit, true, ANN));
    await bench.pass(sessionId);
    expect(result()).toContain('would have to wait for a decision itself');
    expect(bench.ran).toEqual([]);
    expect(await executions(sessionId)).toEqual([]);
  });
});
