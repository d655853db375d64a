import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { answerTo } from '../../bot/cards/replies.ts';
import { rich } from '../../bot/cards/rich.ts';
import { putCard } from '../../bot/outbox/enqueue.ts';
import { cardKey } from '../../bot/projector/keys.ts';
import { Projector } from '../../bot/projector/projector.ts';
import { clientTask } from '../../core/api/mcp/task.ts';
import { settleTrouble } from '../../core/events/settle.ts';
import { requestExecution } from '../../core/executions/request.ts';
import { newId } from '../../core/ids.ts';
import { completeTask } from '../../core/tasks/complete.ts';
import { proposePlan, updatePlanStep } from '../../core/tasks/plan.ts';
import { askQuestion } from '../../core/tasks/questions.ts';
import { setGoal } from '../../core/tasks/status.ts';
import { ANN, BOB, type BotWorld, LOBBY } from '../support/bot-world.ts';
import { drawnTasks, openDrawing } from '../support/drawn-task.ts';

let world: BotWorld;
const clock = { now: new Date() };
const { task, request, finish } = drawnTasks(() => world, clock);

beforeAll(async () => {
  world = await openDrawing(clock);
});
afterAll(async () => world.close());
beforeEach(() => {
  clock.now = new Date();
});

describe('a new task', () => {
  it('T2, T3: gets a room, a quoted request at the root of its first turn, a pinned card, and a link in the lobby', async () => {
    const one = await task('check the disks');
    const inRoom = world.shown.filter((shown) => shown.roomId === one.roomId);
    expect(inRoom.map((shown) => shown.cardKey)).toEqual([
      cardKey.turn(one.turnId),
      cardKey.task(one.sessionId),
    ]);
    expect(world.card(cardKey.turn(one.turnId)).body).toBe(
      'ann asked in the lobby:\n> check the disks',
    );
    expect(world.pins.get(one.roomId)).toEqual([cardKey.task(one.sessionId)]);
    const link = world.card(cardKey.lobby(one.sessionId));
    expect(link.roomId).toBe(LOBBY);
    expect(link.replyTo).toMatch(/^\$asked/);
    expect(link.html).toContain(encodeURIComponent(one.roomId));
    const turn = await world.database.read.turn.findUniqueOrThrow({ where: { id: one.turnId } });
    expect(turn.rootEvent).toBe(world.card(cardKey.turn(one.turnId)).eventId);
  });

  it('H6: that of an MCP client says whose it is, and shows what the client asks for with all that decides', async () => {
    const actor = { operator: { userId: ANN, role: 'approver' as const }, token: 'desktop' };
    const { sessionId, turnId } = await clientTask(world.database, actor, newId());
    await world.settle();
    expect(world.card(cardKey.turn(turnId)).body).toContain(
      'The client “desktop” works here over MCP',
    );
    const { roomId } = world.card(cardKey.task(sessionId));
    expect(world.roomNames.get(roomId)).toContain('MCP client desktop');
    const asked = await world.write(async (unit) =>
      requestExecution(unit, {
        ...{ sessionId, turnId, passId: null, toolCallId: null },
        ...{ target: 'host:web-1', command: 'systemctl restart nginx', purpose: 'bring it back' },
      }),
    );
    await world.settle();
    const card = world.card(cardKey.execution({ id: asked.executionId, batchId: null }));
    expect(card.roomId).toBe(roomId);
    expect(card.body).toContain('systemctl restart nginx');
  });

  it('T7, T8: its room is named by mark and goal, never by the raw request, and renamed only when one of them changes', async () => {
    const one = await task('please do check the disks');
    const session = await world.database.read.session.findUniqueOrThrow({
      where: { id: one.sessionId },
    });
    expect(world.roomNames.get(one.roomId)).toBe(`⏳ Task ${session.shortId}`);
    await world.write(async (unit) => setGoal(unit, one.sessionId, 'Check the disks'));
    await world.settle();
    expect(world.roomNames.get(one.roomId)).toBe('⏳ Check the disks');
    const names = (): Promise<number> =>
      world.database.read.matrixOutbox.count({
        where: { lane: `session:${one.sessionId}`, eventType: 'm.room.name' },
      });
    const before = await names();
    await world.write(async (unit) => proposePlan(unit, one.sessionId, [{ title: 'look' }]));
    await world.settle();
    expect(await names()).toBe(before);
  });
});

describe('C1: the task card', () => {
  it('follows plan, approvals and questions, and links to their cards', async () => {
    const one = await task();
    await world.write(async (unit) =>
      proposePlan(unit, one.sessionId, [{ title: 'Look' }, { title: 'Act' }]),
    );
    await world.write(async (unit) =>
      updatePlanStep(unit, { sessionId: one.sessionId, seq: 1, status: 'done' }),
    );
    const { executionId } = await request(one, 'systemctl restart nginx', 'Restart nginx');
    await world.projector?.tick();
    await world.write(async (unit) =>
      unit.emit({ type: 'plan.changed', sessionId: one.sessionId, refId: one.sessionId }),
    );
    await world.settle();
    const card = world.card(cardKey.task(one.sessionId));
    expect(card.body).toContain('Plan 1/2 done');
    expect(card.body).toContain('✅ 1. Look');
    expect(card.body).toContain('Waits for your decision:\n• 🟠 Restart nginx');
    const execution = world.card(`execution:${executionId}`);
    expect(card.html).toContain(encodeURIComponent(execution.eventId));
    expect(card.mentions).toEqual([]);
    expect(world.roomNames.get(one.roomId)?.startsWith('❗')).toBe(true);
  });

  it('C9: offers ▶️ once a task looks stuck', async () => {
    const one = await task();
    await world.write(async (unit) => {
      await unit.db.session.update({ where: { id: one.sessionId }, data: { goal: 'x' } });
      await proposePlan(unit, one.sessionId, [{ title: 'Look' }]);
      await updatePlanStep(unit, { sessionId: one.sessionId, seq: 1, status: 'running' });
    });
    await finish(one, 'I stopped.');
    expect(world.card(cardKey.task(one.sessionId)).reactions).toEqual([]);
    clock.now = new Date(Date.now() + 31_000);
    await world.projector?.tick();
    await world.settle();
    const card = world.card(cardKey.task(one.sessionId));
    expect(card.body).toContain('Write what to do next; ▶️ (or !continue) goes on as it stands.');
    expect(card.reactions).toEqual(['▶️']);
  });

  it('C9: says what ▶️ does where a question is open or a command runs', async () => {
    const one = await task();
    await world.write(async (unit) =>
      askQuestion(unit, {
        sessionId: one.sessionId,
        turnId: one.turnId,
        passId: one.passId,
        prompt: 'Tonight or now?',
        options: ['tonight', 'now'],
        entities: [],
      }),
    );
    await finish(one, '');
    clock.now = new Date(Date.now() + 31_000);
    await world.projector?.tick();
    await world.settle();
    expect(world.card(cardKey.task(one.sessionId)).body).toContain(
      '▶️ (or !continue) goes on without your answer.',
    );
  });
});

describe('what needs a person', () => {
  it('C5: a question is a card with numbers to tap, and later shows its answer', async () => {
    const one = await task();
    const questionId = await world.write(async (unit) =>
      askQuestion(unit, {
        ...one,
        prompt: 'Which backups?',
        options: ['2023', '2024'],
        entities: ['host:nas-1'],
      }),
    );
    await world.settle();
    const card = world.card(cardKey.question(questionId));
    expect(card.reactions).toEqual(['1️⃣', '2️⃣']);
    expect(card.mentions).toEqual([ANN]);
    expect(world.card(cardKey.task(one.sessionId)).body).toContain(
      'Waits for your answer:\n• ❔ Which backups?',
    );
  });

  it('C6: the end posts a digest that calls who asked, and marks the room', async () => {
    const one = await task();
    await request(one, 'systemctl restart nginx', 'Restart nginx');
    await world.write(async (unit) =>
      completeTask(unit, {
        sessionId: one.sessionId,
        outcome: 'partial',
        summary: 'Half of it.',
        by: 'agent',
      }),
    );
    await world.settle();
    const digest = world.shown.findLast((shown) => shown.cardKey?.startsWith('digest:') === true);
    expect(digest?.body).toContain('☑️ Done in part');
    expect(digest?.body).toContain('1 cancelled');
    expect(digest?.mentions).toEqual([ANN]);
    expect(world.roomNames.get(one.roomId)?.startsWith('☑️')).toBe(true);
  });

  it('C7: an error is a card in the turn’s thread that stays until an operator goes on', async () => {
    const one = await task();
    await finish(one, null, 'failed');
    await world.write(async (unit) =>
      unit.emit({
        type: 'error.raised',
        sessionId: one.sessionId,
        refId: one.passId,
        data: {
          code: 'model_down',
          message: 'The model did not answer.',
          hint: 'Check it.',
          fault: 'model',
          retry: true,
        },
      }),
    );
    await world.settle();
    const card = world.shown.findLast((shown) => shown.cardKey?.startsWith('error:') === true);
    expect(card?.body).toContain('⚠️ The model did not answer.');
    expect(card?.reactions).toEqual(['🔁']);
    expect(card?.mentions).toEqual([ANN]);
    expect(card?.thread).toBe(world.card(cardKey.turn(one.turnId)).eventId);
  });

  it('C7: what no task has is a card in the lobby until it is over or an operator says so', async () => {
    const raise = async (message: string, about: string): Promise<void> => {
      await world.write(async (unit) =>
        unit.emit({
          type: 'error.raised',
          data: { code: 'policy_invalid', message, fault: 'operator', retry: false, about },
        }),
      );
      await world.settle();
    };
    const shown = (message: string): string =>
      world.shown.find(({ roomId, body }) => roomId === LOBBY && body.includes(message))?.body ??
      '';
    await raise('Line 3 is wrong.', 'policy');
    await raise('Line 5 is wrong, too.', 'policy');
    await raise('Another matter.', 'another');
    expect(shown('Line 3')).toContain('⚠️');
    await world.write(async (unit) => settleTrouble(unit, 'policy'));
    await world.settle();
    for (const message of ['Line 3', 'Line 5']) {
      expect(shown(message)).toMatch(/^☑️.*\nDealt with, \d\d:\d\d UTC$/m);
      expect(shown(message)).not.toContain('⚠️');
    }
    expect(shown('Another matter')).toContain('Tap ✅ once it is dealt with.');
    const events = await world.database.read.event.count();
    await world.write(async (unit) => settleTrouble(unit, 'policy'));
    expect(await world.database.read.event.count()).toBe(events);
  });

  it('R10: a first message that has not left says the newest thing when it does, and needs no edit', async () => {
    const put = async (words: string): Promise<string> =>
      world.write(async (unit) =>
        putCard(unit, {
          to: { room: LOBBY },
          card: { key: 'reworded', kind: 'test', refId: 'reworded' },
          message: answerTo(rich`${words}`),
        }),
      );
    expect(await put('old words')).toBe('sent');
    expect(await put('new words')).toBe('reworded');
    await world.settle();
    expect(world.card('reworded')).toMatchObject({ body: 'new words', edits: 0 });
    expect(await put('newest words')).toBe('edited');
    await world.settle();
    expect(world.card('reworded')).toMatchObject({ body: 'newest words', edits: 1 });
  });

  it('C14: a reminder is a new message with a link to the card', async () => {
    const one = await task();
    const { executionId, approvalId } = await request(
      one,
      'systemctl restart nginx',
      'Restart nginx',
    );
    await world.write(async (unit) =>
      unit.emit({ type: 'approval.reminder', sessionId: one.sessionId, refId: approvalId }),
    );
    await world.settle();
    const reminder = world.shown.findLast(
      (shown) => shown.cardKey?.startsWith('reminder:') === true,
    );
    expect(reminder?.mentions).toEqual([ANN]);
    expect(reminder?.replyTo).toBe(world.card(`execution:${executionId}`).eventId);
  });

  it('P7: the kill switch is told in the lobby, each time with who it was', async () => {
    const { setPaused } = await import('../../core/policy/pause.ts');
    await world.write(async (unit) => setPaused(unit, true, ANN));
    await world.write(async (unit) => setPaused(unit, false, BOB));
    await world.settle();
    const told = world.shown.filter((shown) => shown.cardKey?.startsWith('switch:') === true);
    expect(told.map((shown) => shown.body.slice(0, 20))).toEqual([
      expect.stringContaining('Paused by ann'),
      expect.stringContaining('Unpaused by bob'),
    ]);
  });
});

describe('R5, J6: the cursor', () => {
  it('draws each event once, by however many projectors and however often', async () => {
    const one = await task();
    await request(one, 'systemctl restart nginx', 'Restart nginx');
    const rows = await world.database.read.matrixOutbox.count();
    const other = new Projector({
      database: world.database,
      feed: world.feed,
      operators: world.operators,
      streaming: true,
    });
    expect(await other.step()).toBe(false);
    await Promise.all([world.projector?.step(), other.step()]);
    expect(await world.database.read.matrixOutbox.count()).toBe(rows);
  });

  it('R12: an event whose card cannot be drawn is passed by, and the rest is drawn', async () => {
    const one = await task();
    const { executionId } = await request(one, 'systemctl restart nginx', 'Restart nginx');
    await world.write(async (unit) => {
      await unit.db.execution.update({
        where: { id: executionId },
        data: { reasons: { broken: true } },
      });
      unit.emit({ type: 'execution.output', sessionId: one.sessionId, refId: executionId });
      await setGoal(unit, one.sessionId, 'Drawn all the same');
    });
    await world.settle();
    expect(world.card(cardKey.task(one.sessionId)).body).toContain('Drawn all the same');
  });
});
