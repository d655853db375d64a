import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { expireDueApprovals } from '../../core/approvals/expire.ts';
import { remindOfWaiting } from '../../core/approvals/remind.ts';
import { DEFAULT_LIMITS, setLimits } from '../../core/limits.ts';
import { askQuestion } from '../../core/tasks/questions.ts';
import { cardKey } from '../../bot/projector/keys.ts';
import { ANN, type BotWorld, type Shown } from '../support/bot-world.ts';
import { askFor, openRooms, openRoomTask } from '../support/task-room.ts';

let world: BotWorld;
beforeAll(async () => {
  world = await openRooms();
});
afterAll(() => world.close());
afterEach(() => setLimits(DEFAULT_LIMITS));

const MINUTE = 60_000;

/** Time passes: what waits was asked for so much earlier. */
async function pass(minutes: number): Promise<void> {
  await world.database.read.$executeRaw`
    UPDATE approvals SET created_at = created_at - ${minutes} * interval '1 minute',
      expires_at = expires_at - ${minutes} * interval '1 minute' WHERE status = 'pending'`;
  await world.database.read.$executeRaw`
    UPDATE questions SET created_at = created_at - ${minutes} * interval '1 minute' WHERE status = 'open'`;
}

async function remind(): Promise<Shown[]> {
  const before = world.shown.length;
  await remindOfWaiting(world.database);
  await world.settle();
  return world.shown
    .slice(before)
    .filter(({ cardKey: key }) => key?.startsWith('reminder:') === true);
}

it('C14: an approval of an hour is brought up once, ten minutes before its end, as a new message that rings and links to the card', async () => {
  const task = await openRoomTask(world);
  const held = await askFor(world, task, 'systemctl restart nginx');
  await pass(49);
  expect(await remind()).toEqual([]);
  await pass(2);
  const [reminder, ...more] = await remind();
  expect(more).toEqual([]);
  expect(reminder).toMatchObject({ mentions: [ANN], msgtype: 'm.text', thread: task.root });
  expect(reminder?.replyTo).toBe(held.card.eventId);
  expect(reminder?.body).toContain('Still waits for you');
  expect(await remind()).toEqual([]);
  // A word or a tap on the reminder is one on what it reminds of.
  await world.tap(task.roomId, reminder?.eventId ?? '', '✅');
  expect((await held.approval()).status).toBe('approved');
});

it('C14: of a short time three quarters go by first', async () => {
  setLimits({ ...DEFAULT_LIMITS, approvalTtlMs: 8 * MINUTE });
  const task = await openRoomTask(world);
  await askFor(world, task, 'systemctl restart nginx');
  await pass(5);
  expect(await remind()).toEqual([]);
  await pass(1.5);
  expect(await remind()).toHaveLength(1);
});

it('C14: what was decided or has expired is not brought up', async () => {
  const task = await openRoomTask(world);
  const decided = await askFor(world, task, 'systemctl restart nginx');
  await world.tap(task.roomId, decided.card.eventId, '❌');
  const expired = await askFor(world, task, 'systemctl stop nginx');
  await pass(61);
  expect(await remind()).toEqual([]);
  await expireDueApprovals(world.database);
  expect((await expired.approval()).status).toBe('expired');
});

it('C14: an open question is brought up once', async () => {
  const task = await openRoomTask(world);
  const id = await world.write((unit) =>
    askQuestion(unit, { ...task, prompt: 'Which disk?', options: ['a', 'b'], entities: [] }),
  );
  await world.settle();
  await pass(51);
  const [reminder, ...more] = await remind();
  expect(more).toEqual([]);
  expect(reminder?.replyTo).toBe(world.card(cardKey.question(id)).eventId);
  expect(reminder?.body).toContain('Which disk?');
  expect(await remind()).toEqual([]);
});

it('C14: two sweeps at once bring it up once', async () => {
  const task = await openRoomTask(world);
  await askFor(world, task, 'systemctl restart nginx');
  await pass(51);
  await Promise.all([1, 2, 3].map(() => remindOfWaiting(world.database)));
  const events = await world.database.read.event.count({
    where: { sessionId: task.sessionId, type: 'approval.reminder' },
  });
  expect(events).toBe(1);
});
