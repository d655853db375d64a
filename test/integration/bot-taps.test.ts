import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cardKey } from '../../bot/projector/keys.ts';
import { asId, type RoomId } from '../../core/ids.ts';
import { endPass } from '../../core/tasks/passes.ts';
import { ANN, BOB, type BotWorld, EVE, LOBBY } from '../support/bot-world.ts';
import { inRooms, openRooms } from '../support/task-room.ts';

let world: BotWorld;
const { task, restart, deletion } = inRooms(() => world);

beforeAll(async () => {
  world = await openRooms();
});
afterAll(async () => world.close());

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

  it('C7: ✅ on an error that no task has says that it is dealt with, and who says so', async () => {
    await world.write(async (unit) =>
      unit.emit({
        type: 'error.raised',
        data: { code: 'device_keys_lost', message: 'Keys are gone.', fault: 'operator' },
      }),
    );
    await world.settle();
    const error = world.shown.findLast(({ cardKey: key }) => key?.startsWith('error:') === true);
    expect(error).toMatchObject({ roomId: LOBBY, reactions: ['✅'] });
    await world.tap(LOBBY, error?.eventId ?? '', '❌');
    expect(error?.body).toContain('⚠️');
    await world.tap(LOBBY, error?.eventId ?? '', '✅', EVE);
    expect(world.lastAnswer().body).toContain('You are a viewer');
    expect(error?.body).toContain('⚠️');
    await world.tap(LOBBY, error?.eventId ?? '', '✅', BOB);
    expect(error?.body).toMatch(/^☑️ Keys are gone\.\nDealt with, says bob, \d\d:\d\d UTC/);
    await world.tap(LOBBY, error?.eventId ?? '', '✅', ANN);
    expect(error?.body).toContain('says bob');
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
    await world.tap(one.roomId, error.eventId, '🔁', EVE);
    expect(world.lastAnswer().body).toContain('You are a viewer');
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
