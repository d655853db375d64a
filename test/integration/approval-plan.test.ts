import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { cardKey } from '../../bot/projector/keys.ts';
import { decide } from '../../core/approvals/decide.ts';
import { expireDueApprovals } from '../../core/approvals/expire.ts';
import { coveredSteps, offerPlan } from '../../core/approvals/plan.ts';
import type { Approval } from '../../core/db/rows.ts';
import { requestExecution } from '../../core/executions/request.ts';
import {
  asId,
  newId,
  type ApprovalId,
  type SessionId,
  type ToolCallId,
  type TurnId,
} from '../../core/ids.ts';
import { setPaused } from '../../core/policy/pause.ts';
import { completeTask } from '../../core/tasks/complete.ts';
import { proposePlan } from '../../core/tasks/plan.ts';
import { agentBench, type AgentBench } from '../support/agent-bench.ts';
import { ANN, EVE, type BotWorld } from '../support/bot-world.ts';
import type { Step } from '../support/scripted-model.ts';
import {
  endPassWith,
  openRooms,
  openRoomTask,
  saidIn,
  type RoomTask,
} from '../support/task-room.ts';

const call = (name: string, args: Record<string, unknown> = {}): Step => ({
  toolCalls: [{ name, arguments: args }],
});
const run = (command: string): Step =>
  call('run', { target: 'host:web-1', command, purpose: 'for the test' });
const PLAN = call('propose_plan', { steps: ['Stop nginx', 'Start nginx'] });

describe('A11, A12: the agent and its plan', () => {
  let bench: AgentBench;
  afterEach(() => bench.close());

  const approvals = (sessionId: SessionId): Promise<Approval[]> =>
    bench.database.read.approval.findMany({ where: { sessionId }, orderBy: { createdAt: 'asc' } });
  const lastWords = (): string =>
    (bench.model.requests.at(-1)?.messages ?? []).map(({ content }) => content ?? '').join('\n');

  it('one tap opens the grant and wakes the agent, which runs it to its end without asking; what is destructive still asks', async () => {
    bench = await agentBench(
      () => ({}),
      PLAN,
      { text: 'I propose this plan.' },
      run('systemctl stop nginx'),
      run('systemctl start nginx'),
      run('rm -rf /srv/old'),
      { text: 'The deletion waits.' },
    );
    const { sessionId } = await bench.open('bounce nginx');
    await bench.pass(sessionId);
    expect(lastWords()).toContain('The plan waits for the operator');
    const [plan] = await approvals(sessionId);
    expect(plan).toMatchObject({ kind: 'plan', status: 'pending', needsTyped: false });
    // The task has no goal, and yet its plain answer does not end it: the plan waits.
    expect(
      await bench.database.read.session.findUniqueOrThrow({ where: { id: sessionId } }),
    ).toMatchObject({ status: 'awaiting_approval', endedAt: null });
    expect(await bench.claim(sessionId)).toBeNull();
    await bench.decide(sessionId, 'approve');
    await bench.pass(sessionId);
    expect(lastWords()).toMatch(
      /APPROVED the plan .*: 1\. "Stop nginx"; 2\. "Start nginx".*Act now/,
    );
    expect(bench.ran.map(({ command }) => command)).toEqual([
      'systemctl stop nginx',
      'systemctl start nginx',
    ]);
    const [, deletion] = await approvals(sessionId);
    expect(deletion).toMatchObject({ kind: 'execution', status: 'pending', needsTyped: true });
    bench.model.verify();
  });

  it('a denial tells the agent with the reason, and opens nothing', async () => {
    bench = await agentBench(
      () => ({}),
      PLAN,
      { text: 'I propose this plan.' },
      { text: 'Nothing was changed.' },
    );
    const { sessionId } = await bench.open('bounce nginx');
    await bench.pass(sessionId);
    await bench.decide(sessionId, 'deny', 'no, not before noon');
    await bench.pass(sessionId);
    expect(lastWords()).toMatch(/DENIED the plan[^\n]*"no, not before noon"[^\n]*Do none of it/);
    expect(await bench.database.read.grant.count({ where: { sessionId } })).toBe(0);
  });

  it('A14: an expiry tells the agent', async () => {
    bench = await agentBench(
      () => ({}),
      PLAN,
      { text: 'I propose this plan.' },
      { text: 'So be it.' },
    );
    const { sessionId } = await bench.open('bounce nginx');
    await bench.pass(sessionId);
    await bench.database.read
      .$executeRaw`UPDATE approvals SET expires_at = clock_timestamp() - interval '1 ms' WHERE session_id = ${sessionId}::uuid`;
    expect(await expireDueApprovals(bench.database)).toBe(1);
    await bench.pass(sessionId);
    expect(lastWords()).toMatch(/approval of the plan \w+ EXPIRED/);
  });

  it('K1: a new plan ends the offer of the old one; a plan that is not to be asked for ends it too', async () => {
    bench = await agentBench(
      () => ({}),
      PLAN,
      call('propose_plan', { steps: ['Reload nginx'] }),
      call('propose_plan', { steps: ['Only look'], ask_approval: false }),
      { text: 'I only look.' },
    );
    const { sessionId } = await bench.open('bounce nginx');
    await bench.pass(sessionId);
    expect((await approvals(sessionId)).map(({ status }) => status)).toEqual([
      'cancelled',
      'cancelled',
    ]);
  });

  it('with the grant open a plan is not asked for again, and the agent is told to act', async () => {
    bench = await agentBench(() => ({}), run('systemctl stop nginx'), { text: 'It waits.' }, PLAN, {
      text: 'Done.',
    });
    const { sessionId } = await bench.open('bounce nginx');
    await bench.pass(sessionId);
    await bench.decide(sessionId, 'approve');
    await bench.until(async () =>
      (await bench.database.read.pass.count({ where: { sessionId, state: 'queued' } })) > 0
        ? true
        : undefined,
    );
    await bench.pass(sessionId);
    expect(lastWords()).toContain('Not needed: this task may change things without asking');
    expect((await approvals(sessionId)).map(({ kind }) => kind)).toEqual(['execution']);
  });

  it('what the same pass left waiting starts with the plan, by means of the plan; what is destructive does not', async () => {
    bench = await agentBench(
      () => ({}),
      PLAN,
      run('systemctl stop nginx'),
      run('rm -rf /srv/old'),
      { text: 'I propose this.' },
    );
    const { sessionId } = await bench.open('bounce nginx');
    await bench.pass(sessionId);
    await bench.decide(sessionId, 'approve');
    const [plan, stop, deletion] = await approvals(sessionId);
    expect(plan).toMatchObject({ status: 'approved', decidedMeans: 'tap' });
    expect(stop).toMatchObject({
      status: 'approved',
      decidedMeans: 'plan',
      decidedBy: '@ann:test',
    });
    expect(deletion).toMatchObject({ status: 'pending' });
  });

  it('the approval of a change that the same pass asked for makes the plan’s own needless', async () => {
    bench = await agentBench(() => ({}), PLAN, run('systemctl stop nginx'), { text: 'I propose.' });
    const { sessionId } = await bench.open('bounce nginx');
    await bench.pass(sessionId);
    const [plan, stop] = await approvals(sessionId);
    await bench.database.write((unit) =>
      decide(unit, {
        approvalId: asId<ApprovalId>(stop?.id ?? ''),
        verdict: 'approve',
        operator: { userId: ANN, role: 'admin' },
        means: 'tap',
      }),
    );
    expect((await approvals(sessionId)).map(({ status }) => status)).toEqual([
      'cancelled',
      'approved',
    ]);
    expect(plan?.kind).toBe('plan');
  });

  it('P7: with the kill switch on, an approved plan opens no grant and starts nothing', async () => {
    bench = await agentBench(() => ({}), PLAN, run('systemctl stop nginx'), { text: 'I propose.' });
    const { sessionId } = await bench.open('bounce nginx');
    await bench.pass(sessionId);
    await bench.database.write((unit) => setPaused(unit, true, ANN));
    await bench.decide(sessionId, 'approve');
    expect(await bench.database.read.grant.count({ where: { sessionId } })).toBe(0);
    expect((await approvals(sessionId)).map(({ status }) => status)).toEqual([
      'approved',
      'pending',
    ]);
    const note = await bench.database.read.message.findFirstOrThrow({
      where: { sessionId, role: 'note' },
    });
    expect(note.text).toContain('The kill switch is on');
  });
});

describe('A11: the plan’s card', () => {
  let world: BotWorld;
  beforeAll(async () => {
    world = await openRooms();
  });
  afterAll(() => world.close());

  const task = (): Promise<RoomTask> => openRoomTask(world, 'bounce nginx');
  const endWith = (place: RoomTask, answer: string): Promise<void> =>
    endPassWith(world, place, answer);
  const messages = (turnId: TurnId): Promise<string[]> => saidIn(world, turnId);

  /** The agent's side: the plan is stored as the tool does it, and the pass ends with words. */
  async function propose(
    place: RoomTask,
    steps: ReadonlyArray<{ title: string; detail?: string }>,
    options: { offered?: boolean } = {},
  ): Promise<ApprovalId | null> {
    return world.write(async (unit) => {
      const rows = await proposePlan(unit, place.sessionId, steps);
      const offer = options.offered === false ? null : await offerPlan(unit, place, rows);
      await unit.db.toolCall.create({
        data: {
          id: newId<ToolCallId>(),
          ...{ sessionId: place.sessionId, turnId: place.turnId, passId: place.passId },
          callId: newId<ToolCallId>(),
          name: 'propose_plan',
          arguments: {},
          state: 'done',
        },
      });
      return offer?.kind === 'waiting' ? offer.approvalId : null;
    });
  }

  async function offered(
    steps: ReadonlyArray<{ title: string; detail?: string }> = [
      { title: 'Stop nginx' },
      { title: 'Start nginx' },
    ],
  ): Promise<RoomTask & { id: ApprovalId }> {
    const place = await task();
    const id = await propose(place, steps);
    if (id === null) throw new Error('the plan should wait');
    await endWith(place, 'That is what I propose.');
    return { ...place, id };
  }

  const approval = (id: ApprovalId): Promise<Approval> =>
    world.database.read.approval.findUniqueOrThrow({ where: { id } });
  const grants = (sessionId: SessionId): Promise<number> =>
    world.database.read.grant.count({ where: { sessionId, closedAt: null } });
  it('stands in the thread with ✅ and ❌; a tap approves it, and its card says so', async () => {
    const one = await offered();
    const card = world.card(cardKey.plan(one.id));
    expect(card.body).toContain('Approve the plan? 2 steps');
    expect(card.body).toContain('1. Stop nginx');
    expect(card.reactions).toEqual(['✅', '❌']);
    expect(card.thread).toBe(one.root);
    expect(card.mentions).toEqual([ANN]);
    await world.tap(one.roomId, card.eventId, '✅');
    expect(await approval(one.id)).toMatchObject({ status: 'approved', decidedMeans: 'tap' });
    expect(card.body).toContain('Approved by ann with a tap');
    expect(await grants(one.sessionId)).toBe(1);
  });

  it.each(['proceed', 'yes', 'go ahead with the plan', 'do it'])(
    'A4: “%s” in the thread approves it',
    async (text) => {
      const one = await offered();
      await world.say(one.roomId, text, { thread: one.root });
      expect(await approval(one.id)).toMatchObject({ status: 'approved', decidedMeans: 'word' });
    },
  );

  it('A17: “no, …” as a reply to it denies it; any other text leaves it waiting', async () => {
    const one = await offered();
    const card = world.card(cardKey.plan(one.id));
    await world.say(one.roomId, 'why both?', { replyTo: card.eventId });
    expect((await approval(one.id)).status).toBe('pending');
    expect((await messages(one.turnId)).at(-1)).toBe('why both?');
    await world.say(one.roomId, 'no, not today', { replyTo: card.eventId });
    expect(await approval(one.id)).toMatchObject({ status: 'denied', reason: 'no, not today' });
  });

  it('A15: a viewer’s tap decides nothing and is answered', async () => {
    const one = await offered();
    await world.tap(one.roomId, world.card(cardKey.plan(one.id)).eventId, '✅', EVE);
    expect((await approval(one.id)).status).toBe('pending');
    expect(world.lastAnswer().body).toContain('You are a viewer');
  });

  it('A7: taking the ✅ back closes the grant and takes back what started with it and has not run', async () => {
    const place = await task();
    const id = await propose(place, [{ title: 'Restart nginx' }]);
    const waiting = await world.write((unit) =>
      requestExecution(unit, {
        ...{ sessionId: place.sessionId, turnId: place.turnId, passId: place.passId },
        toolCallId: null,
        target: 'web-1',
        command: 'systemctl restart nginx',
        purpose: 'Restart nginx',
      }),
    );
    await endWith(place, 'That is what I propose.');
    const card = world.card(cardKey.plan(asId<ApprovalId>(id ?? '')));
    const tap = await world.tap(place.roomId, card.eventId, '✅');
    const execution = (): Promise<{ status: string }> =>
      world.database.read.execution.findUniqueOrThrow({ where: { id: waiting.executionId } });
    expect((await execution()).status).toBe('queued');
    await world.redact(place.roomId, tap);
    expect((await approval(asId<ApprovalId>(id ?? ''))).status).toBe('withdrawn');
    expect((await execution()).status).toBe('revoked');
    expect(await grants(place.sessionId)).toBe(0);
  });

  it('A16: what its card cannot show whole is attached whole, before the card', async () => {
    const detail = `Step by step. ${'x'.repeat(800)} the end`;
    const one = await offered([{ title: 'Move the data', detail }]);
    const card = world.card(cardKey.plan(one.id));
    expect(card.body).toContain('attached whole as a file');
    const file = world.card(cardKey.commandFile(cardKey.plan(one.id)));
    expect(file.file?.text).toContain(detail);
    expect(world.shown.indexOf(file)).toBeLessThan(world.shown.indexOf(card));
  });

  it('a plan that was told in words alone is approved by “proceed”, with its grant and on record', async () => {
    const place = await task();
    await propose(place, [{ title: 'Stop nginx' }], { offered: false });
    await endWith(place, 'I would stop nginx. Shall I?');
    await world.say(place.roomId, 'proceed', { thread: place.root });
    const [record] = await world.database.read.approval.findMany({
      where: { sessionId: place.sessionId },
    });
    expect(record).toMatchObject({
      kind: 'plan',
      status: 'approved',
      decidedBy: ANN,
      decidedMeans: 'word',
      decidedWords: 'proceed',
    });
    expect(await grants(place.sessionId)).toBe(1);
    const note = await world.database.read.message.findFirstOrThrow({
      where: { turnId: place.turnId, role: 'note' },
    });
    expect(note.text).toMatch(/Their words: "proceed"\. Act now/);
    const pass = await world.database.read.pass.count({
      where: { turnId: place.turnId, state: 'queued', cause: 'decision' },
    });
    expect(pass).toBe(1);
  });

  const IN_WORDS = [
    'nginx on web-1 is down: its log volume is full. This is what I would do:',
    '1. Stop nginx\n2. Move the old logs to /srv/old\n3. Start nginx',
    'Shall I proceed?',
  ].join('\n\n');

  it.each([true, false])(
    'A11: “proceed” to a plan that stands only in the answer (in its thread: %s) opens the grant, with the steps on record, and the agent acts',
    async (inThread) => {
      const place = await task();
      await endWith(place, IN_WORDS);
      // As a task without a goal ends with its answer (T9): the word for its plan opens it again.
      await world.write((unit) =>
        completeTask(unit, {
          sessionId: place.sessionId,
          outcome: 'success',
          summary: 'Told a plan.',
          by: 'system',
        }),
      );
      await world.say(place.roomId, 'yes, go ahead', inThread ? { thread: place.root } : {});
      const record = await world.database.read.approval.findFirstOrThrow({
        where: { sessionId: place.sessionId },
      });
      expect(record).toMatchObject({
        kind: 'plan',
        status: 'approved',
        decidedBy: ANN,
        decidedMeans: 'word',
        decidedWords: 'yes, go ahead',
      });
      expect(coveredSteps(record).map(({ title }) => title)).toEqual([
        'Stop nginx',
        'Move the old logs to /srv/old',
        'Start nginx',
      ]);
      expect(await grants(place.sessionId)).toBe(1);
      expect(
        await world.database.read.planStep.count({
          where: { sessionId: place.sessionId, status: 'pending' },
        }),
      ).toBe(3);
      const session = await world.database.read.session.findUniqueOrThrow({
        where: { id: place.sessionId },
      });
      expect(session).toMatchObject({ endedAt: null, outcome: null });
      const note = await world.database.read.message.findFirstOrThrow({
        where: { turnId: place.turnId, role: 'note' },
      });
      expect(note.text).toMatch(/APPROVED the plan .*Their words: "yes, go ahead"\. Act now/);
      expect(
        await world.database.read.pass.count({
          where: { turnId: place.turnId, state: 'queued', cause: 'decision' },
        }),
      ).toBe(1);
      // Once: a second word finds nothing more to approve.
      await world.say(place.roomId, 'yes', { thread: place.root });
      expect(
        await world.database.read.approval.count({ where: { sessionId: place.sessionId } }),
      ).toBe(1);
    },
  );

  it('A5, A11: less than assent to a plan in words, or a yes to another answer, opens nothing', async () => {
    const place = await task();
    await endWith(place, IN_WORDS);
    await world.say(place.roomId, 'proceed with the first one only', { thread: place.root });
    expect(await grants(place.sessionId)).toBe(0);
    const other = await task();
    await endWith(other, 'I found:\n\n1. a full disk\n2. a stopped nginx\n\nShall I look further?');
    await world.say(other.roomId, 'yes', { thread: other.root });
    expect(await grants(other.sessionId)).toBe(0);
  });

  it.each([
    ['a question', 'proceed?', true],
    ['more than assent', 'proceed, but leave db-1 alone', true],
    ['an answer that followed no plan', 'proceed', false],
  ])('%s after words is a message and opens nothing', async (_what, text, planned) => {
    const place = await task();
    if (planned) await propose(place, [{ title: 'Stop nginx' }], { offered: false });
    await endWith(place, 'I would stop nginx.');
    await world.say(place.roomId, text, { thread: place.root });
    expect(await grants(place.sessionId)).toBe(0);
    expect(
      await world.database.read.approval.count({ where: { sessionId: place.sessionId } }),
    ).toBe(0);
    expect((await messages(place.turnId)).at(-1)).toBe(text);
  });

  it('T12, A15: a viewer’s “proceed” after words is a message and opens nothing', async () => {
    const place = await task();
    await propose(place, [{ title: 'Stop nginx' }], { offered: false });
    await endWith(place, 'I would stop nginx.');
    await world.say(place.roomId, 'proceed', { thread: place.root, by: EVE });
    expect(await grants(place.sessionId)).toBe(0);
  });

  it('T15: “proceed” on the main timeline counts for the turn whose plan it is', async () => {
    const place = await task();
    await propose(place, [{ title: 'Stop nginx' }], { offered: false });
    await endWith(place, 'I would stop nginx.');
    await world.say(place.roomId, 'proceed');
    expect(await grants(place.sessionId)).toBe(1);
    expect(await world.database.read.turn.count({ where: { sessionId: place.sessionId } })).toBe(1);
  });
});
