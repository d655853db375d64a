import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cardKey } from '../../bot/projector/keys.ts';
import { newId } from '../../core/ids.ts';
import { endPass } from '../../core/tasks/passes.ts';
import { type BotWorld, EVE, LOBBY } from '../support/bot-world.ts';
import { inRooms, openRooms } from '../support/task-room.ts';

let world: BotWorld;
const { task, startPass, waiting, restart, messagesOf, turnsOf, secondTurn } = inRooms(() => world);

beforeAll(async () => {
  world = await openRooms();
});
afterAll(async () => world.close());

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

  it('K11, A17: a “yes” or “no, …” in answer to an offered runbook decides on it; anything else is a request', async () => {
    const offer = async (name: string): Promise<{ eventId: string; status(): Promise<string> }> => {
      const id = newId();
      await world.write(async (unit) => {
        await unit.db.runbook.create({
          data: {
            id,
            slug: name,
            title: name,
            body: `version: 1\ntitle: ${name}\nsummary: Looks.\nsteps:\n  - { title: Look, target: 'host:web-1', run: uptime }\n`,
            parameters: {},
            origin: 'learned',
            status: 'offered',
          },
        });
        unit.emit({ type: 'runbook.changed', refId: id });
      });
      await world.settle();
      const row = world.database.read.runbook;
      return {
        eventId: world.card(`runbook:${id}`).eventId,
        status: async () => (await row.findUniqueOrThrow({ where: { id } })).status,
      };
    };
    const [good, bad, open] = [await offer('good'), await offer('bad'), await offer('open')];
    const sessions = await world.database.read.session.count();
    await world.say(LOBBY, 'yes please', { replyTo: good.eventId });
    await world.say(LOBBY, 'no, too risky', { replyTo: bad.eventId });
    await world.say(LOBBY, 'yes', { replyTo: open.eventId, by: EVE });
    expect(await world.database.read.session.count()).toBe(sessions);
    expect([await good.status(), await bad.status(), await open.status()]).toEqual([
      'active',
      'refused',
      'offered',
    ]);
    await world.say(LOBBY, 'what would it do on db-1?', { replyTo: open.eventId });
    expect(await world.database.read.session.count()).toBe(sessions + 1);
  });

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
