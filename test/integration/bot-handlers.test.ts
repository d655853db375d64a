import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHandler } from '../../bot/handlers/index.ts';
import { cardKey } from '../../bot/projector/keys.ts';
import { Projector } from '../../bot/projector/projector.ts';
import type { Approval } from '../../core/db/rows.ts';
import { requestExecution } from '../../core/executions/request.ts';
import {
  asId,
  type MatrixEventId,
  type PassId,
  type RoomId,
  type SessionId,
  type TurnId,
  type UserId,
} from '../../core/ids.ts';
import { endPass } from '../../core/tasks/passes.ts';
import { askQuestion } from '../../core/tasks/questions.ts';
import { queuePass } from '../../core/tasks/turns.ts';
import { ANN, BOB, BotWorld, EVE, LOBBY, type Shown } from '../support/bot-world.ts';

let world: BotWorld;

beforeAll(async () => {
  world = await BotWorld.open();
  world.projector = new Projector({
    database: world.database,
    feed: world.feed,
    operators: world.operators,
    timeZone: 'UTC',
    streaming: false,
  });
  world.handler = createHandler({
    operators: world.operators,
    languages: ['en'],
    botUserId: asId<UserId>('@nomos:example.org'),
    botName: 'Nomos',
    timeZone: 'UTC',
  });
});
afterAll(async () => world.close());

/** A task's room with one turn whose pass is running. */
interface Task {
  sessionId: SessionId;
  shortId: string;
  turnId: TurnId;
  passId: PassId;
  roomId: RoomId;
  root: MatrixEventId;
}

/** The agent's side: a pass of the turn starts and reads what is there. */
async function startPass(sessionId: SessionId, turnId: TurnId): Promise<PassId> {
  return world.write(async (unit) => {
    const passId = await queuePass(unit, { sessionId, turnId, cause: 'message' });
    await unit.db.pass.updateMany({
      where: { sessionId, state: 'running' },
      data: { state: 'done' },
    });
    await unit.db.pass.update({
      where: { id: passId },
      data: { state: 'running', startedAt: new Date() },
    });
    await unit.db.message.updateMany({
      where: { turnId, takenInAt: null },
      data: { takenInAt: new Date() },
    });
    return passId;
  });
}

async function task(text = 'check the disks', by: UserId = ANN): Promise<Task> {
  const before = await world.database.read.session.count();
  const eventId = await world.say(LOBBY, text, { by });
  expect(await world.database.read.session.count()).toBe(before + 1);
  const message = await world.database.read.message.findUniqueOrThrow({
    where: { eventId },
    include: { session: true, turn: true },
  });
  const sessionId = asId<SessionId>(message.sessionId);
  const turnId = asId<TurnId>(message.turnId);
  return {
    sessionId,
    shortId: message.session.shortId,
    turnId,
    passId: await startPass(sessionId, turnId),
    roomId: asId<RoomId>(message.session.roomId ?? ''),
    root: world.card(cardKey.turn(turnId)).eventId,
  };
}

/** A command that waits: its card and its approval. */
async function waiting(
  one: Task,
  command = 'systemctl restart nginx',
  options: { purpose?: string; target?: string } = {},
): Promise<{ card: Shown; id: string; shortId: string; approval(): Promise<Approval> }> {
  const outcome = await world.write(async (unit) =>
    requestExecution(unit, {
      sessionId: one.sessionId,
      turnId: one.turnId,
      passId: one.passId,
      toolCallId: null,
      target: options.target ?? 'web-1',
      command,
      purpose: options.purpose ?? 'Restart nginx',
    }),
  );
  if (outcome.kind !== 'waiting') throw new Error(`it should wait, and is ${outcome.kind}`);
  const { approvalId, executionId } = outcome;
  await world.settle();
  const { shortId } = await world.database.read.execution.findUniqueOrThrow({
    where: { id: executionId },
  });
  return {
    card: world.card(`execution:${executionId}`),
    id: executionId,
    shortId,
    approval: async () =>
      world.database.read.approval.findUniqueOrThrow({ where: { id: approvalId } }),
  };
}

async function restart(one: Task, target = 'web-1'): ReturnType<typeof waiting> {
  return waiting(one, 'systemctl restart nginx', { target });
}

async function deletion(
  one: Task,
  path = '/srv/old',
  target = 'nas-1',
): ReturnType<typeof waiting> {
  return waiting(one, `rm -rf ${path}`, { target, purpose: `Delete ${path}` });
}

async function messagesOf(turnId: TurnId): Promise<string[]> {
  const rows = await world.database.read.message.findMany({
    where: { turnId, role: 'operator' },
    orderBy: { seq: 'asc' },
  });
  return rows.map(({ text }) => text);
}

async function turnsOf(sessionId: SessionId): Promise<number> {
  return world.database.read.turn.count({ where: { sessionId } });
}

/** Another turn of the task, as an operator opens it on the main timeline, with a pass of its own. */
async function secondTurn(one: Task): Promise<Task> {
  const root = await world.say(one.roomId, 'and look at db-1');
  const turn = await world.database.read.turn.findUniqueOrThrow({ where: { rootEvent: root } });
  const turnId = asId<TurnId>(turn.id);
  return { ...one, turnId, root, passId: await startPass(one.sessionId, turnId) };
}

describe('where a message belongs', () => {
  it('T2: a message in the lobby opens a task of its own', async () => {
    const one = await task('check the disks on nas-1');
    expect(await messagesOf(one.turnId)).toEqual(['check the disks on nas-1']);
  });

  it('T3: a message on the main timeline opens a turn rooted at it; one in the thread goes on with it', async () => {
    const one = await task();
    const two = await secondTurn(one);
    await world.say(one.roomId, 'also its backups', { thread: two.root });
    expect(await messagesOf(two.turnId)).toEqual(['and look at db-1', 'also its backups']);
    expect(await messagesOf(one.turnId)).toEqual(['check the disks']);
  });

  it('T15: a reply without a thread to anything the bot said in a thread belongs to that turn', async () => {
    const one = await task();
    await world.write(async (unit) => {
      await unit.db.pass.update({ where: { id: one.passId }, data: { answer: 'All fine.' } });
      await endPass(unit, { passId: one.passId, state: 'done' });
    });
    await world.settle();
    const turns = await turnsOf(one.sessionId);
    const answer = world.card(cardKey.answer(one.passId));
    await world.say(one.roomId, '> <@nomos:example.org> All fine.\n\nand the load?', {
      replyTo: answer.eventId,
    });
    expect(await messagesOf(one.turnId)).toEqual(['check the disks', 'and the load?']);
    // A one-off answer of the bot's belongs to its turn, too.
    await world.say(one.roomId, '!nonsense', { thread: one.root });
    await world.say(one.roomId, 'sorry, I meant the memory', {
      replyTo: world.lastAnswer().eventId,
    });
    expect((await messagesOf(one.turnId)).at(-1)).toBe('sorry, I meant the memory');
    expect(await turnsOf(one.sessionId)).toBe(turns);
  });

  it('T2: a reply to a task’s link in the lobby goes on with that task; “yes” in the lobby decides nothing', async () => {
    const one = await task();
    const held = await restart(one);
    const link = world.card(cardKey.lobby(one.sessionId));
    await world.say(LOBBY, 'yes', { replyTo: link.eventId });
    expect((await held.approval()).status).toBe('pending');
    expect(world.lastAnswer().body).toContain('Nothing was decided');
    const sessions = await world.database.read.session.count();
    await world.say(LOBBY, 'and look at the load', { replyTo: link.eventId });
    expect(await world.database.read.session.count()).toBe(sessions);
    expect(await turnsOf(one.sessionId)).toBe(2);
  });

  it.each(['apply the updates', 'ok, restart grafana', 'stop jellyfin', 'Please do it on nas-1'])(
    'T2, T15: “%s” in the lobby opens a task where nothing like it waits, and decides nothing where it does',
    async (text) => {
      const sessions = await world.database.read.session.count();
      await world.say(LOBBY, text);
      expect(await world.database.read.session.count()).toBe(sessions + 1);
      const one = await task();
      const held = await waiting(one, 'systemctl restart grafana jellyfin && apt-get upgrade', {
        target: 'nas-1',
        purpose: 'Stop, then apply the updates',
      });
      await world.say(LOBBY, text);
      expect(await world.database.read.session.count()).toBe(sessions + 2);
      expect(world.lastAnswer().body).toContain('Nothing was decided');
      expect((await held.approval()).status).toBe('pending');
      await world.tap(one.roomId, held.card.eventId, '❌');
    },
  );

  it('T13: an edit changes what was not read yet and is read as well afterwards; an edit never approves', async () => {
    const one = await task();
    const held = await restart(one);
    const first = await world.say(one.roomId, 'look at web-2', { thread: one.root });
    const edit = (target: string, body: string): Record<string, unknown> => ({
      body: ` * ${body}`,
      'm.new_content': { msgtype: 'm.text', body },
      'm.relates_to': { rel_type: 'm.replace', event_id: target },
    });
    await world.handle(one.roomId, 'm.room.message', {
      msgtype: 'm.text',
      ...edit(first, 'look at web-1'),
    });
    expect(await messagesOf(one.turnId)).toEqual(['check the disks', 'look at web-1']);
    await startPass(one.sessionId, one.turnId);
    await world.handle(one.roomId, 'm.room.message', { msgtype: 'm.text', ...edit(first, 'yes') });
    expect((await messagesOf(one.turnId)).at(-1)).toBe('(edited) yes');
    expect((await held.approval()).status).toBe('pending');
  });

  it('T13: a request that is redacted before its pass starts is cancelled', async () => {
    const eventId = await world.say(LOBBY, 'delete everything');
    await world.redact(LOBBY, eventId);
    const message = await world.database.read.message.findUniqueOrThrow({
      where: { eventId },
      include: { session: { include: { passes: true } } },
    });
    expect(message.session.passes.map(({ state }) => state)).toEqual(['cancelled']);
    expect(message.session.outcome).toBe('failure');
  });

  it('C16: what is no text is refused in plain words', async () => {
    const one = await task();
    await world.handle(one.roomId, 'm.room.message', { msgtype: 'm.audio', body: 'voice.ogg' });
    expect(world.lastAnswer().body).toContain('cannot take in voice and audio messages');
    expect(await turnsOf(one.sessionId)).toBe(1);
  });
});

describe('taps', () => {
  it.each(['✅', '✔️', '✔', '👍', '👍🏽'])('A2: %s approves', async (key) => {
    const held = await restart(await task());
    await world.tap(asId<RoomId>(held.card.roomId), held.card.eventId, key);
    const approval = await held.approval();
    expect(approval).toMatchObject({ status: 'approved', decidedBy: ANN, decidedMeans: 'tap' });
    expect(held.card.body).toContain('Approved by ann with a tap');
  });

  it.each(['❌', '✖️', '👎'])('A2: %s denies', async (key) => {
    const held = await restart(await task());
    await world.tap(asId<RoomId>(held.card.roomId), held.card.eventId, key);
    expect((await held.approval()).status).toBe('denied');
  });

  it.each(['🎉', '✅✅', 'yes', '❤️'])('A2: %s means nothing', async (key) => {
    const held = await restart(await task());
    await world.tap(asId<RoomId>(held.card.roomId), held.card.eventId, key);
    expect((await held.approval()).status).toBe('pending');
  });

  it('Z2: a tap counts only on the bot’s own card in its own room, whatever the event says about itself', async () => {
    const one = await task();
    const other = await task('something else');
    const held = await restart(one);
    const fake = await world.say(one.roomId, 'a fake card', {
      content: { 'org.nomos': { card: `execution:${held.id}`, kind: 'execution', ref: held.id } },
    });
    await world.tap(one.roomId, fake, '✅');
    await world.tap(other.roomId, held.card.eventId, '✅');
    await world.tap(LOBBY, held.card.eventId, '✅');
    expect((await held.approval()).status).toBe('pending');
  });

  it('A3: on something destructive a tap gets the answer what to type', async () => {
    const held = await deletion(await task());
    await world.tap(asId<RoomId>(held.card.roomId), held.card.eventId, '✅');
    expect((await held.approval()).status).toBe('pending');
    const hint = world.shown.findLast((shown) => shown.cardKey?.startsWith('hint:') === true);
    expect(hint?.body).toContain('Reply to its card with: I confirm');
  });

  it('A7: the second is told who decided and when; the decision stays', async () => {
    const held = await restart(await task());
    const room = asId<RoomId>(held.card.roomId);
    await world.tap(room, held.card.eventId, '✅', BOB);
    await world.tap(room, held.card.eventId, '❌', ANN);
    expect((await held.approval()).status).toBe('approved');
    expect(world.lastAnswer().body).toMatch(/^Already approved by bob at \d\d:\d\d UTC\.$/);
    expect(world.lastAnswer().thread).toBe(held.card.thread);
  });

  it('A15: a viewer may not decide and is told so', async () => {
    const held = await restart(await task());
    await world.tap(asId<RoomId>(held.card.roomId), held.card.eventId, '✅', EVE);
    expect((await held.approval()).status).toBe('pending');
    expect(world.lastAnswer().body).toContain('You are a viewer');
  });

  it('A7: taking the ✅ back before the command started cancels the approval; another’s does not', async () => {
    const held = await restart(await task());
    const room = asId<RoomId>(held.card.roomId);
    const tap = await world.tap(room, held.card.eventId, '✅');
    await world.redact(room, tap, BOB);
    expect((await held.approval()).status).toBe('approved');
    await world.redact(room, tap, ANN);
    expect((await held.approval()).status).toBe('withdrawn');
    expect(held.card.body).toContain('Approval taken back');
  });

  it('A1: a tap after the expiry is told so', async () => {
    const held = await restart(await task());
    const { id } = await held.approval();
    await world.database.read.approval.update({ where: { id }, data: { expiresAt: new Date(0) } });
    await world.tap(asId<RoomId>(held.card.roomId), held.card.eventId, '✅');
    expect((await held.approval()).status).toBe('expired');
    expect(world.lastAnswer().body).toContain('Too late: it had expired');
  });

  it('T5, X5: 🛑 on a message of the turn ends its pass; on a command’s card it cancels the command', async () => {
    const one = await task();
    const held = await restart(one);
    await world.tap(one.roomId, one.root, '🛑');
    const pass = await world.database.read.pass.findUniqueOrThrow({ where: { id: one.passId } });
    expect(pass.stopRequestedBy).toBe(ANN);
    await world.tap(one.roomId, held.card.eventId, '🛑');
    expect(held.card.body).toContain('🛑 Cancelled');
  });

  it('C7, C9: 🔁 on an error goes on once and settles its card', async () => {
    const one = await task();
    await world.write(async (unit) => {
      await endPass(unit, { passId: one.passId, state: 'failed' });
      unit.emit({
        type: 'error.raised',
        sessionId: one.sessionId,
        refId: one.passId,
        data: { code: 'model_down', message: 'It did not answer.', fault: 'model', retry: true },
      });
    });
    await world.settle();
    const error = world.shown.findLast((shown) => shown.cardKey?.startsWith('error:') === true);
    if (error === undefined) throw new Error('no error card');
    await world.tap(one.roomId, error.eventId, '🔁', BOB);
    expect(error.body).toContain('bob tried again');
    expect(error.mentions).toEqual([]);
    const resumed = (): Promise<number> =>
      world.database.read.pass.count({ where: { sessionId: one.sessionId, cause: 'resume' } });
    expect(await resumed()).toBe(1);
    await world.database.read.pass.updateMany({
      where: { sessionId: one.sessionId },
      data: { state: 'done' },
    });
    await world.tap(one.roomId, world.card(cardKey.task(one.sessionId)).eventId, '▶️');
    expect(await resumed()).toBe(1);
    expect(world.lastAnswer().body).toContain('resumed a moment ago');
  });
});

describe('words', () => {
  it('A4: “go ahead” in the thread approves what the pass before it left waiting, except what is destructive', async () => {
    const one = await task();
    const [first, second, destructive] = [
      await restart(one),
      await restart(one, 'db-1'),
      await deletion(one),
    ];
    await world.say(one.roomId, 'Nomos: go ahead', { thread: one.root });
    expect((await first.approval()).status).toBe('approved');
    expect((await second.approval()).decidedMeans).toBe('word');
    expect((await destructive.approval()).status).toBe('pending');
    expect(await messagesOf(one.turnId)).toEqual(['check the disks']);
  });

  it('A4: nothing older than that pass is approved by words', async () => {
    const one = await task();
    const held = await restart(one);
    await world.say(one.roomId, 'what does it do?', { thread: one.root });
    await startPass(one.sessionId, one.turnId);
    await world.say(one.roomId, 'yes', { thread: one.root });
    expect((await held.approval()).status).toBe('pending');
    expect(world.lastAnswer().body).toContain('nothing was decided');
  });

  it('A4: a rich reply is about that card alone', async () => {
    const one = await task();
    const [first, second] = [await restart(one), await restart(one, 'db-1')];
    await world.say(one.roomId, 'yes', { replyTo: second.card.eventId });
    expect((await first.approval()).status).toBe('pending');
    expect((await second.approval()).status).toBe('approved');
  });

  it.each([
    'yesterday',
    'yes?',
    'not yet',
    'I haven’t said yes',
    'the restart but not the upgrade',
    'why web-1?',
  ])('A5, A17: “%s” grants nothing and reaches the agent', async (text) => {
    const one = await task();
    const held = await restart(one);
    await world.say(one.roomId, text, { thread: one.root });
    const { status } = await held.approval();
    expect(['pending', 'denied']).toContain(status);
    if (status === 'pending') expect((await messagesOf(one.turnId)).at(-1)).toBe(text);
  });

  it('A5: a partial assent grants nothing and asks', async () => {
    const one = await task();
    const held = await restart(one);
    await world.say(one.roomId, 'the restart but not the upgrade', { thread: one.root });
    expect((await held.approval()).status).toBe('pending');
    expect(world.lastAnswer().body).toContain('I read that as a yes to a part');
  });

  it('A17: a reply to a card that begins with a negation denies it with the words as the reason', async () => {
    const one = await task();
    const held = await restart(one);
    await world.say(one.roomId, 'no, wait for the backup', { replyTo: held.card.eventId });
    expect(await held.approval()).toMatchObject({
      status: 'denied',
      reason: 'no, wait for the backup',
    });
    expect(held.card.body).toContain('no, wait for the backup');
  });

  it('A3: “I confirm” starts what is destructive, in the thread or as a reply; “yes” does not', async () => {
    const one = await task();
    const held = await deletion(one);
    await world.say(one.roomId, 'yes', { thread: one.root });
    expect((await held.approval()).status).toBe('pending');
    expect(
      world.shown.findLast((shown) => shown.cardKey?.startsWith('hint:') === true)?.replyTo,
    ).toBe(held.card.eventId);
    await world.say(one.roomId, 'I confirm', { thread: one.root });
    expect(await held.approval()).toMatchObject({
      status: 'approved',
      decidedMeans: 'confirmation',
      decidedWords: 'I confirm',
    });
  });

  it('A6: with several destructive ones a bare “I confirm” grants nothing and asks which; a target or an id names one', async () => {
    const one = await task();
    const [first, second] = [
      await deletion(one, '/srv/a', 'nas-1'),
      await deletion(one, '/srv/b', 'db-1'),
    ];
    await world.say(one.roomId, 'I confirm', { thread: one.root });
    expect((await first.approval()).status).toBe('pending');
    expect((await second.approval()).status).toBe('pending');
    expect(world.lastAnswer().body).toContain('Which one?');
    await world.database.read.execution.update({
      where: { id: second.id },
      data: { shortId: 'k7f3q' },
    });
    await world.say(one.roomId, 'I confirm k7f3q', { thread: one.root });
    expect((await first.approval()).status).toBe('pending');
    expect((await second.approval()).status).toBe('approved');
    await world.say(one.roomId, 'I confirm', { replyTo: first.card.eventId });
    expect((await first.approval()).status).toBe('approved');
  });

  it('T15: on the main timeline a bare “yes” counts for the one turn that waits', async () => {
    const one = await task();
    const held = await restart(one);
    await world.say(one.roomId, 'yes');
    expect((await held.approval()).status).toBe('approved');
    expect(await turnsOf(one.sessionId)).toBe(1);
  });

  it('T15: if several turns wait it is asked which, and nothing is granted', async () => {
    const one = await task();
    const first = await restart(one);
    const two = await secondTurn(one);
    const second = await restart(two, 'db-1');
    await world.say(one.roomId, 'yes');
    expect((await first.approval()).status).toBe('pending');
    expect((await second.approval()).status).toBe('pending');
    expect(world.lastAnswer().body).toContain('Which one?');
    expect(await turnsOf(one.sessionId)).toBe(2);
  });

  it('T15: anything else on the main timeline opens a turn and decides nothing', async () => {
    const one = await task();
    const held = await restart(one);
    await world.say(one.roomId, 'yes, but first look at db-1');
    expect((await held.approval()).status).toBe('pending');
    expect(await turnsOf(one.sessionId)).toBe(2);
  });

  it('A15: a viewer’s “yes” decides nothing', async () => {
    const one = await task();
    const held = await restart(one);
    await world.say(one.roomId, 'yes', { thread: one.root, by: EVE });
    expect((await held.approval()).status).toBe('pending');
    expect(world.lastAnswer().body).toContain('You are a viewer');
  });

  it('A9: one task’s yes never covers another’s card', async () => {
    const [one, two] = [await task(), await task('other')];
    const [first, second] = [await restart(one), await restart(two)];
    await world.say(one.roomId, 'yes', { thread: one.root });
    expect((await first.approval()).status).toBe('approved');
    expect((await second.approval()).status).toBe('pending');
    const grants = await world.database.read.grant.findMany({
      where: { sessionId: two.sessionId },
    });
    expect(grants).toEqual([]);
  });
});

describe('C5, K5: questions', () => {
  async function question(
    one: Task,
    prompt = 'Which backups?',
  ): Promise<{ card: Shown; answer(): Promise<string | null> }> {
    const id = await world.write(async (unit) =>
      askQuestion(unit, {
        ...one,
        prompt,
        options: ['Those of 2023', 'Those of 2024'],
        entities: [],
      }),
    );
    await world.settle();
    return {
      card: world.card(cardKey.question(id)),
      answer: async () =>
        (await world.database.read.question.findUniqueOrThrow({ where: { id } })).answer,
    };
  }

  it('a tap on a number answers; the second is told who did', async () => {
    const one = await task();
    const asked = await question(one);
    await world.tap(one.roomId, asked.card.eventId, '2️⃣');
    expect(await asked.answer()).toBe('Those of 2024');
    expect(asked.card.body).toContain('ann answered: Those of 2024');
    await world.tap(one.roomId, asked.card.eventId, '1️⃣', BOB);
    expect(world.lastAnswer().body).toContain('Already answered by ann');
    expect(await asked.answer()).toBe('Those of 2024');
  });

  it('words in the thread answer; a question back reaches the agent', async () => {
    const one = await task();
    const asked = await question(one);
    await world.say(one.roomId, 'how large are they?', { thread: one.root });
    expect(await asked.answer()).toBeNull();
    expect((await messagesOf(one.turnId)).at(-1)).toBe('how large are they?');
    await world.say(one.roomId, 'only the monthly ones', { thread: one.root });
    expect(await asked.answer()).toBe('only the monthly ones');
  });

  it('T15: on the main timeline an option or its number answers the one open question', async () => {
    const one = await task();
    const asked = await question(one);
    await world.say(one.roomId, '1');
    expect(await asked.answer()).toBe('Those of 2023');
    expect(await turnsOf(one.sessionId)).toBe(1);
  });

  it('a bare “yes” where a question and a command wait is asked about', async () => {
    const one = await task();
    const asked = await question(one);
    const held = await restart(one);
    await world.say(one.roomId, 'yes', { thread: one.root });
    expect(await asked.answer()).toBeNull();
    expect((await held.approval()).status).toBe('pending');
    expect(world.lastAnswer().body).toContain('Which one?');
  });
});

describe('C12: commands', () => {
  async function said(
    room: RoomId,
    text: string,
    options: { by?: UserId; thread?: string } = {},
  ): Promise<string> {
    await world.say(room, text, options);
    return world.lastAnswer().body;
  }

  it('help is made from the statements; unknown commands and wrong arguments are told what is allowed', async () => {
    const help = await said(LOBBY, '!help');
    for (const name of [
      'tasks',
      'status',
      'calls',
      'digest',
      'approvals',
      'stop',
      'continue',
      'cancel',
      'pause',
      'unpause',
      'grants',
      'revoke',
      'entity',
      'whoami',
    ]) {
      expect(help).toContain(`!${name}`);
    }
    expect(await said(LOBBY, '!help cancel')).toContain('!cancel <id>');
    expect(await said(LOBBY, '!tsaks')).toContain('Did you mean !tasks?');
    expect(await said(LOBBY, '!cancel')).toContain('!cancel needs id');
    expect(await said(LOBBY, '!pause now')).toContain('takes nothing behind it');
    expect(await said(LOBBY, '!status')).toContain('needs to know which task');
    expect(await said(LOBBY, '!status zzzzz')).toContain('There is no task');
  });

  it('they work in the lobby with an id, in a task’s room, and in its threads', async () => {
    const one = await task();
    const held = await restart(one);
    expect(await said(LOBBY, `!status ${one.shortId}`)).toContain(
      'Waits for your decision: Restart nginx',
    );
    expect(await said(one.roomId, '!status')).toContain(one.shortId);
    expect(await said(one.roomId, '!digest', { thread: one.root })).toContain('1 pending approval');
    expect(world.lastAnswer().thread).toBe(one.root);
    expect(await said(one.roomId, '!approvals')).toContain(held.shortId);
    expect(await said(LOBBY, '!tasks')).toContain(one.shortId);
    expect(await said(one.roomId, '!calls')).toContain('No tool was called');
    expect(await turnsOf(one.sessionId)).toBe(1);
  });

  it('!approve and !deny decide, but not what is destructive', async () => {
    const one = await task();
    const [held, destructive] = [await restart(one), await deletion(one)];
    await world.say(one.roomId, `!approve ${held.shortId}`);
    expect(await held.approval()).toMatchObject({ status: 'approved', decidedMeans: 'command' });
    await world.say(one.roomId, `!approve ${destructive.shortId}`);
    expect((await destructive.approval()).status).toBe('pending');
    await world.say(one.roomId, `!deny ${destructive.shortId} too early`);
    expect(await destructive.approval()).toMatchObject({ status: 'denied', reason: 'too early' });
    expect(await said(one.roomId, '!approve nope1')).toContain('Nothing has the id');
  });

  it('!grants and !revoke show and close what may run without asking', async () => {
    const one = await task();
    const held = await restart(one);
    await world.say(one.roomId, 'yes', { thread: one.root });
    expect((await held.approval()).status).toBe('approved');
    expect(await said(one.roomId, '!grants')).toContain('1 open grant');
    expect(await said(one.roomId, '!revoke')).toContain('Closed 1 grant');
    expect(await said(one.roomId, '!grants')).toContain('No grant is open');
  });

  it('!stop, !cancel, !pause and !unpause act and say so; a viewer may only stop', async () => {
    const one = await task();
    const held = await restart(one);
    expect(await said(one.roomId, `!cancel ${held.shortId}`, { by: EVE })).toContain(
      'needs the role approver',
    );
    expect(await said(one.roomId, '!stop', { by: EVE })).toContain('Stopping at the next step');
    expect(await said(one.roomId, `!cancel ${held.shortId}`)).toContain(
      'Cancelled before it started',
    );
    expect(await said(one.roomId, `!cancel ${held.shortId}`)).toContain('has ended already');
    await world.say(LOBBY, '!pause');
    const paused = await world.database.read.setting.findUniqueOrThrow({
      where: { key: 'paused' },
    });
    expect(paused.value).toMatchObject({ paused: true });
    const other = await task();
    const read = await waiting(other, 'uptime', { purpose: 'How long is it up' });
    expect(read.card.body).toContain('Nomos was paused when this was asked for, so it waits');
    expect(await said(LOBBY, '!unpause')).toMatch(/asked for until now still waits? for you/);
    expect((await read.approval()).status).toBe('pending');
    await world.tap(other.roomId, read.card.eventId, '✅');
    expect((await read.approval()).status).toBe('approved');
    expect(await said(LOBBY, '!unpause')).toContain('It was not paused');
  });

  it('T14: !schedule sets, lists, pauses and deletes; in a task’s room for a turn of that task; a viewer may only look', async () => {
    expect(await said(LOBBY, '!schedule')).toContain('Nothing is scheduled');
    const set = await said(LOBBY, '!schedule "0 7 * * *" check the fleet');
    expect(set).toMatch(/check the fleet · 0 7 \* \* \* UTC · next .*07:00/);
    const id = /[0-9a-f]{6}/.exec(set)?.[0] ?? '';
    const one = await task();
    expect(await said(one.roomId, '!schedule “30 6 * * 1” look at nginx')).toContain(
      'as a turn of its task',
    );
    expect(await said(LOBBY, '!schedule')).toContain('2 schedules');
    expect(await said(LOBBY, `!schedule delete ${id}`, { by: EVE })).toContain('approver');
    expect(await said(LOBBY, `!schedule pause ${id}`)).toContain('paused');
    expect(await said(LOBBY, `!schedule delete ${id}`)).toContain('Deleted: check the fleet');
    expect(await said(LOBBY, `!schedule pause ${id}`)).toContain('There is no schedule');
    expect(await said(LOBBY, '!schedule tomorrow do it')).toContain('Write !schedule "0 7 * * *"');
    expect(await said(LOBBY, '!schedule "at seven" do it')).toContain('Five fields');
    expect(await said(LOBBY, '!schedule at 2020-01-01 07:00 do it')).toContain('has passed');
    const once = await said(LOBBY, '!schedule in 2h check web-1');
    expect(once).toMatch(/check web-1 · once, \w+,? \d+ \w+.* UTC · by/);
    const onceId = /[0-9a-f]{6}/.exec(once)?.[0] ?? '';
    expect(await said(LOBBY, `!schedule pause ${onceId}`)).toMatch(/⏸️.*UTC, paused/);
    expect(await said(LOBBY, `!schedule resume ${onceId}`)).toMatch(/⏰.*UTC · by/);
    expect(await said(LOBBY, `!schedule delete ${onceId}`)).toContain('Deleted: check web-1');
  });

  it('K12: !review counts calls by tool, names what was repeated, failed or held the task up, and what to do better', async () => {
    const one = await task();
    expect(await said(one.roomId, '!review')).toContain('Nothing stood out');
    await world.write(async (unit) => {
      const calls = [
        ...Array.from({ length: 5 }, () => ({ name: 'run', result: 'up', success: true })),
        { name: 'list_entities', result: '[]', success: true },
        { name: 'get_entity', result: 'x'.repeat(9_000), success: true },
      ];
      await unit.db.toolCall.createMany({
        data: calls.map((call, index) => ({
          id: crypto.randomUUID(),
          sessionId: one.sessionId,
          turnId: one.turnId,
          passId: one.passId,
          callId: `review-${index}`,
          arguments: { command: `${call.name} uptime`, target: `host:${index}` },
          state: 'done' as const,
          ...call,
        })),
      });
      unit.emit({
        type: 'error.raised',
        sessionId: one.sessionId,
        refId: one.sessionId,
        data: { code: 'model_away', message: 'x', hint: null, fault: 'system', retry: false },
      });
    });
    const review = await said(one.roomId, '!review');
    expect(review).toContain('7 calls');
    expect(review).toContain('“run uptime” was run 5 times');
    expect(review).toContain('held up by model_away');
    expect(review).toContain('1 call found nothing');
    expect(review).toContain('get_entity gave back 9,000 characters');
  });

  it('T11: !archive puts a task away and says so; its room’s messages open nothing any more', async () => {
    const one = await task();
    expect(await said(one.roomId, '!archive', { by: EVE })).toContain('needs the role approver');
    expect(await said(one.roomId, '!archive')).toContain('is archived; I leave its room');
    expect(await said(LOBBY, `!archive ${one.shortId}`)).toContain('archived already');
    const session = await world.database.read.session.findUniqueOrThrow({
      where: { id: one.sessionId },
    });
    expect(session.archivedAt).not.toBeNull();
  });

  it('!entity and !whoami read', async () => {
    const entity = await said(LOBBY, '!entity web-1');
    expect(entity).toContain('host:web-1');
    expect(await said(LOBBY, '!entity nginxx')).toContain('There is no entity');
    expect(await said(LOBBY, '!whoami', { by: BOB })).toContain('approver');
  });
});
