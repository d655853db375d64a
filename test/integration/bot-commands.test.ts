import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RoomId, type UserId } from '../../core/ids.ts';
import { BOB, type BotWorld, EVE, LOBBY } from '../support/bot-world.ts';
import { inRooms, openRooms } from '../support/task-room.ts';

let world: BotWorld;
const { task, waiting, restart, deletion, turnsOf } = inRooms(() => world);

beforeAll(async () => {
  world = await openRooms();
});
afterAll(async () => world.close());

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
      'Waits for your decision:\n• 🟠 Restart nginx',
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
    const answers = world.shown.length;
    await world.say(LOBBY, '!pause');
    // Once: the lobby is told whoever did it, and needs no answer besides.
    expect(world.shown.slice(answers).map(({ body }) => body)).toEqual([
      expect.stringContaining('⏸️ Paused by ann.'),
    ]);
    const paused = await world.database.read.setting.findUniqueOrThrow({
      where: { key: 'paused' },
    });
    expect(paused.value).toMatchObject({ paused: true });
    const other = await task();
    const read = await waiting(other, 'uptime', { purpose: 'How long is it up' });
    expect(read.card.body).toContain('Nomos was paused when this was asked for, so it waits');
    expect(await said(other.roomId, '!unpause')).toMatch(
      /asked for until now still waits? for you/,
    );
    expect(world.shown.slice(-2).map(({ roomId }) => roomId)).toEqual([other.roomId, LOBBY]);
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
