import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { cardKey } from '../../bot/projector/keys.ts';
import { Projector } from '../../bot/projector/projector.ts';
import { decide } from '../../core/approvals/decide.ts';
import { asId, newId, type ApprovalId } from '../../core/ids.ts';
import { ANN, type BotWorld } from '../support/bot-world.ts';
import { drawnTasks, openDrawing, type DrawnTask } from '../support/drawn-task.ts';

let world: BotWorld;
const clock = { now: new Date() };
const { task, request, finish, move } = drawnTasks(() => world, clock);

beforeAll(async () => {
  world = await openDrawing(clock);
});
afterAll(async () => world.close());
beforeEach(() => {
  clock.now = new Date();
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
      move(unit, executionId, 'queued', 'running', {
        startedAt: new Date(clock.now.getTime() - 5_000),
      }),
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
      await unit.db.execution.update({ where: { id: executionId }, data: { endedAt: clock.now } });
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
      move(unit, executionId, 'queued', 'running', { startedAt: clock.now }),
    );
    await world.settle();
    expect(has()).toBe(false);
    clock.now = new Date(clock.now.getTime() + 11_000);
    await world.projector?.tick();
    await world.settle();
    expect(has()).toBe(true);
  });
});

describe('C2, C13: a pass', () => {
  async function call(
    one: DrawnTask,
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
          startedAt: clock.now,
          ...(state === 'done' ? { success: true, durationMs: 20, endedAt: clock.now } : {}),
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

  it('a look-up shows how its command stands, and look-ups of one command share a line', async () => {
    const one = await task();
    const { executionId } = await request(one, 'systemctl restart nginx', 'Restart nginx');
    const { shortId } = await world.database.read.execution.findUniqueOrThrow({
      where: { id: executionId },
    });
    await call(one, 'get_execution_status', { execution_id: shortId.toUpperCase() }, 'done');
    await call(one, 'get_execution_status', { execution_id: executionId }, 'done');
    const card = world.card(cardKey.progress(one.passId));
    expect(card.body).toMatch(
      new RegExp(`^• .* Restart nginx on host:web-1 \\(${shortId}\\) · looked 2 times$`, 'm'),
    );
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
    // The last form is an edit, which rings nowhere: who must go on is called by a message of its own (C14).
    const call = world.card(cardKey.call(one.passId));
    expect(call).toMatchObject({ body: '👉 Your turn: The disks are fine.', mentions: [ANN] });
    expect(call.thread).toBe(card.thread);
  });

  it('C14: an answer that leaves whole calls by itself', async () => {
    const one = await task();
    await finish(one, 'The disks are fine.');
    expect(world.card(cardKey.answer(one.passId)).mentions).toEqual([ANN]);
    const calls = await world.database.read.matrixCard.count({
      where: { cardKey: cardKey.call(one.passId) },
    });
    expect(calls).toBe(0);
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
          createdAt: new Date(clock.now.getTime() + 1_000),
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
