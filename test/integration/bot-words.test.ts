import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cardKey } from '../../bot/projector/keys.ts';
import { askQuestion } from '../../core/tasks/questions.ts';
import { BOB, type BotWorld, EVE, type Shown } from '../support/bot-world.ts';
import { inRooms, openRooms, type RoomTask } from '../support/task-room.ts';

let world: BotWorld;
const { task, startPass, restart, deletion, messagesOf, turnsOf, secondTurn } = inRooms(
  () => world,
);

beforeAll(async () => {
  world = await openRooms();
});
afterAll(async () => world.close());

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
    one: RoomTask,
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
