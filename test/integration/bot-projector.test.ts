import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { cardKey } from '../../bot/projector/keys.ts';
import { Projector } from '../../bot/projector/projector.ts';
import { decide } from '../../core/approvals/decide.ts';
import type { Unit } from '../../core/db/database.ts';
import { requestExecution } from '../../core/executions/request.ts';
import { transition } from '../../core/executions/states.ts';
import {
  asId,
  newId,
  type ApprovalId,
  type MatrixEventId,
  type PassId,
  type RoomId,
  type SessionId,
  type TurnId,
} from '../../core/ids.ts';
import { completeTask } from '../../core/tasks/complete.ts';
import { openTask } from '../../core/tasks/open.ts';
import { endPass } from '../../core/tasks/passes.ts';
import { proposePlan, updatePlanStep } from '../../core/tasks/plan.ts';
import { askQuestion } from '../../core/tasks/questions.ts';
import { setGoal } from '../../core/tasks/status.ts';
import { ANN, BotWorld, LOBBY } from '../support/bot-world.ts';

let world: BotWorld;
let now = new Date();

beforeAll(async () => {
  world = await BotWorld.open();
  world.projector = new Projector({
    database: world.database,
    feed: world.feed,
    operators: world.operators,
    timeZone: 'UTC',
    streaming: true,
    now: () => now,
  });
});
afterAll(async () => world.close());
beforeEach(() => {
  now = new Date();
});

interface Task {
  sessionId: SessionId;
  turnId: TurnId;
  passId: PassId;
  roomId: RoomId;
}

let asked = 0;

/** A task that was asked for in the lobby, its room made, its pass running. */
async function task(text = 'check the disks'): Promise<Task> {
  const { sessionId, turnId } = await world.write(async (unit) =>
    openTask(unit, {
      by: ANN,
      text,
      origin: { kind: 'lobby', roomId: LOBBY, eventId: asId<MatrixEventId>(`$asked${++asked}`) },
    }),
  );
  const pass = await world.database.read.pass.findFirstOrThrow({ where: { sessionId } });
  const passId = asId<PassId>(pass.id);
  await world.write(async (unit) => {
    await unit.db.pass.update({
      where: { id: passId },
      data: { state: 'running', startedAt: now },
    });
    await unit.db.message.updateMany({ where: { sessionId }, data: { takenInAt: now } });
    unit.emit({ type: 'pass.started', sessionId, refId: passId });
  });
  await world.settle();
  const session = await world.database.read.session.findUniqueOrThrow({ where: { id: sessionId } });
  return { sessionId, turnId, passId, roomId: asId<RoomId>(session.roomId ?? '') };
}

async function request(
  { sessionId, turnId, passId }: Task,
  command: string,
  purpose: string,
): Promise<{ executionId: string; approvalId: ApprovalId | null }> {
  const outcome = await world.write(async (unit) =>
    requestExecution(unit, {
      sessionId,
      turnId,
      passId,
      toolCallId: null,
      target: 'web-1',
      command,
      purpose,
    }),
  );
  await world.settle();
  return {
    executionId: outcome.executionId,
    approvalId: outcome.kind === 'waiting' ? outcome.approvalId : null,
  };
}

async function move(
  unit: Unit,
  id: string,
  from: 'queued' | 'running',
  to: 'running' | 'completed' | 'failed',
  change: object,
): Promise<void> {
  const row = await unit.db.execution.findUniqueOrThrow({ where: { id } });
  await transition(unit, row, from, to, { actor: 'system' }, change);
}

async function finish(
  one: Task,
  answer: string | null,
  state: 'done' | 'failed' | 'cancelled' = 'done',
): Promise<void> {
  await world.write(async (unit) => {
    await unit.db.pass.update({ where: { id: one.passId }, data: { answer } });
    await endPass(unit, { passId: one.passId, state });
  });
  await world.settle();
}

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
    expect(card.body).toContain('Waits for your decision: Restart nginx');
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
    now = new Date(Date.now() + 31_000);
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
    now = new Date(Date.now() + 31_000);
    await world.projector?.tick();
    await world.settle();
    expect(world.card(cardKey.task(one.sessionId)).body).toContain(
      '▶️ (or !continue) goes on without your answer.',
    );
  });
});

describe('C3, C4: the execution card', () => {
  it('A1, A2, C10: waits in the turn’s thread, calls who asked, and carries ✅ and ❌', async () => {
    const one = await task();
    const { executionId } = await request(one, 'systemctl restart nginx', 'Restart nginx');
    const card = world.card(`execution:${executionId}`);
    expect(card.mentions).toEqual([ANN]);
    expect(card.reactions).toEqual(['✅', '❌']);
    expect(card.thread).toBe(world.card(cardKey.turn(one.turnId)).eventId);
    expect(card.body).toContain('systemctl restart nginx');
    expect(card.body).toContain('Open until');
  });

  it('A3: what is destructive carries no ✅ and says what to type; a tap is answered with a hint that calls the tapper', async () => {
    const one = await task();
    const { executionId, approvalId } = await request(one, 'rm -rf /srv/old', 'Delete old files');
    const card = world.card(`execution:${executionId}`);
    expect(card.reactions).toEqual(['❌']);
    expect(card.body).toContain('I confirm');
    await world.write(async (unit) =>
      decide(unit, {
        approvalId: approvalId ?? asId<ApprovalId>(newId()),
        verdict: 'approve',
        operator: { userId: ANN, role: 'admin' },
        means: 'tap',
      }),
    );
    await world.settle();
    const hint = world.shown.find((shown) => shown.cardKey?.startsWith('hint:'));
    expect(hint?.replyTo).toBe(card.eventId);
    expect(hint?.mentions).toEqual([ANN]);
    expect(hint?.body).toContain('Reply to its card with: I confirm');
  });

  it('lives in one message from the decision to the end, calls nobody any more, and attaches a long output whole', async () => {
    const one = await task();
    const { executionId, approvalId } = await request(
      one,
      'apt-get -y upgrade',
      'Upgrade packages',
    );
    if (approvalId === null) throw new Error('it should wait');
    await world.write(async (unit) =>
      decide(unit, {
        approvalId,
        verdict: 'approve',
        operator: { userId: ANN, role: 'admin' },
        means: 'tap',
      }),
    );
    await world.settle();
    const card = world.card(`execution:${executionId}`);
    const { eventId } = card;
    expect(card.body).toContain('Approved by ann with a tap');
    expect(card.mentions).toEqual([]);
    await world.write(async (unit) =>
      move(unit, executionId, 'queued', 'running', { startedAt: new Date(now.getTime() - 5_000) }),
    );
    await world.settle();
    expect(card.body).toContain('Running for 5 s');
    expect(card.reactions).toEqual(['✅', '❌', '🛑']);
    const output = Array.from({ length: 40 }, (_, index) => `line ${index + 1}`).join('\n');
    await world.write(async (unit) => {
      await move(unit, executionId, 'running', 'completed', {
        exitCode: 0,
        stdout: output,
        stdoutBytes: 300n,
        tail: output.slice(-200),
      });
      // The move has the database's time; the test has its own.
      await unit.db.execution.update({ where: { id: executionId }, data: { endedAt: now } });
    });
    await world.settle();
    expect(world.card(`execution:${executionId}`).eventId).toBe(eventId);
    expect(card.body).toContain('✅ Done in 5 s: Upgrade packages');
    expect(card.body).toContain('line 40');
    expect(card.body).not.toContain('line 20\n');
    const file = world.card(cardKey.outputFile(executionId));
    expect(file.file?.text).toBe(output);
    expect(file.replyTo).toBe(eventId);
  });

  it('A16: a command that the card cannot show whole is attached whole, before the card', async () => {
    const one = await task();
    const command = `tee /etc/motd <<'EOF'\n${'x'.repeat(4_000)}\nEOF`;
    const { executionId } = await request(one, command, 'Write a long file');
    const key = `execution:${executionId}`;
    const keys = world.shown.map((shown) => shown.cardKey);
    expect(world.card(cardKey.commandFile(key)).file?.text).toBe(command);
    expect(keys.indexOf(cardKey.commandFile(key))).toBeLessThan(keys.indexOf(key));
  });

  it('a quick read has no card of its own; one that takes long gets one', async () => {
    const one = await task();
    const { executionId } = await request(one, 'df -h', 'Read the disks');
    const has = (): boolean =>
      world.shown.some((shown) => shown.cardKey === `execution:${executionId}`);
    await world.write(async (unit) =>
      move(unit, executionId, 'queued', 'running', { startedAt: now }),
    );
    await world.settle();
    expect(has()).toBe(false);
    now = new Date(now.getTime() + 11_000);
    await world.projector?.tick();
    await world.settle();
    expect(has()).toBe(true);
  });
});

describe('C2, C13: a pass', () => {
  async function call(
    one: Task,
    name: string,
    args: Record<string, string>,
    state: 'running' | 'done',
  ): Promise<string> {
    const id = newId();
    await world.write(async (unit) => {
      await unit.db.toolCall.create({
        data: {
          id,
          sessionId: one.sessionId,
          turnId: one.turnId,
          passId: one.passId,
          callId: id,
          name,
          arguments: args,
          state,
          startedAt: now,
          ...(state === 'done' ? { success: true, durationMs: 20, endedAt: now } : {}),
        },
      });
      unit.emit({
        type: state === 'done' ? 'tool.ended' : 'tool.started',
        sessionId: one.sessionId,
        refId: id,
        data: { passId: one.passId },
      });
    });
    await world.settle();
    return id;
  }

  it('has one progress message, edited in place, without raw JSON', async () => {
    const one = await task();
    await call(one, 'get_entity', { slug: 'host:web-1' }, 'done');
    await call(
      one,
      'run',
      { target: 'host:web-1', command: 'df -h', purpose: 'Read the disks' },
      'running',
    );
    const card = world.card(cardKey.progress(one.passId));
    expect(card.body).toContain('⚙️ Read the disks on host:web-1 · 1 of 2 done');
    expect(card.body).not.toContain('{');
    expect(card.msgtype).toBe('m.notice');
    expect(card.edits).toBe(1);
  });

  it('points to the card of a command whose call has ended and which waits', async () => {
    const one = await task();
    const { executionId } = await request(one, 'systemctl restart nginx', 'Restart nginx');
    const id = await call(
      one,
      'run',
      { target: 'host:web-1', purpose: 'Restart nginx' },
      'running',
    );
    await world.write(async (unit) => {
      await unit.db.toolCall.update({
        where: { id },
        data: { executionId, state: 'done', success: true, durationMs: 30 },
      });
      unit.emit({
        type: 'tool.ended',
        sessionId: one.sessionId,
        refId: id,
        data: { passId: one.passId },
      });
    });
    await world.settle();
    expect(world.card(cardKey.progress(one.passId)).body).toContain(
      '↪️ Restart nginx on host:web-1 · see its card',
    );
  });

  it('has none where the pass only closes the task or asks', async () => {
    const one = await task();
    await call(one, 'complete_task', { summary: 'done' }, 'done');
    expect(world.shown.some((shown) => shown.cardKey === cardKey.progress(one.passId))).toBe(false);
  });

  it('X9: what the configuration calls a secret is hidden in commands, outputs and answers', async () => {
    const masked = new Projector({
      database: world.database,
      feed: world.feed,
      operators: world.operators,
      streaming: true,
      mask: (text) => text.replaceAll('hunter2', '•••'),
    });
    const before = world.projector;
    world.projector = masked;
    try {
      const one = await task();
      const { executionId } = await request(
        one,
        'mysql -phunter2 -e "flush tables"',
        'Flush tables',
      );
      await finish(one, 'The password is hunter2.');
      for (const key of [`execution:${executionId}`, cardKey.answer(one.passId)]) {
        expect(world.card(key).body).not.toContain('hunter2');
        expect(world.card(key).html).not.toContain('hunter2');
        // The rules that hold for every message take the sign after -p for a password once more.
        expect(world.card(key).body).toMatch(/•••|\[masked\]/);
      }
    } finally {
      world.projector = before;
    }
  });

  it('streams its answer into one message', async () => {
    const one = await task();
    await world.write(async (unit) => {
      await unit.db.pass.update({ where: { id: one.passId }, data: { answer: 'The disks' } });
      unit.emit({ type: 'pass.answering', sessionId: one.sessionId, refId: one.passId });
    });
    await world.settle();
    const card = world.card(cardKey.answer(one.passId));
    expect(card.body).toBe('The disks\n…');
    await finish(one, 'The disks are **fine**.');
    expect(card.body).toBe('The disks are fine.');
    expect(card.html).toBe('<p>The disks are <strong>fine</strong>.</p>');
  });

  it('T5: a message that came meanwhile is marked 👀 once it was read', async () => {
    const one = await task();
    const messageId = newId();
    await world.database.read.matrixInbox.create({
      data: {
        eventId: `$late${messageId}`,
        roomId: one.roomId,
        sender: ANN,
        type: 'm.room.message',
        event: {},
        state: 'done',
      },
    });
    await world.write(async (unit) => {
      await unit.db.message.create({
        data: {
          id: messageId,
          sessionId: one.sessionId,
          turnId: one.turnId,
          role: 'operator',
          text: 'also /srv',
          sender: ANN,
          eventId: `$late${messageId}`,
          createdAt: new Date(now.getTime() + 1_000),
        },
      });
      unit.emit({ type: 'message.taken_in', sessionId: one.sessionId, refId: messageId });
    });
    await world.projector?.step();
    const reaction = await world.database.read.matrixOutbox.findFirstOrThrow({
      where: { targetEvent: `$late${messageId}` },
    });
    expect(reaction).toMatchObject({ kind: 'react', content: { v: 1, key: '👀' } });
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
      'Waits for your answer: Which backups?',
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

  it('P7: the kill switch is told in the lobby', async () => {
    const { setPaused } = await import('../../core/policy/pause.ts');
    await world.write(async (unit) => setPaused(unit, true, ANN));
    await world.write(async (unit) => setPaused(unit, false, ANN));
    await world.settle();
    const told = world.shown.filter((shown) => shown.cardKey?.startsWith('switch:') === true);
    expect(told.map((shown) => shown.body.slice(0, 20))).toEqual([
      expect.stringContaining('Paused by ann'),
      expect.stringContaining('Unpaused by ann'),
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
