import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { InboxEvent, InboxHandler } from '../../bot/inbox/types.ts';
import { sendMessage } from '../../bot/outbox/enqueue.ts';
import { armFault, disarmFaults } from '../../core/faults.ts';
import { HomeserverProxy } from '../support/matrix-proxy.ts';
import { type Stage, openStage, operatorsOf, runUntilKilled } from '../support/test-bot.ts';

let stage: Stage;
beforeEach(async () => (stage = await openStage()));
afterEach(async () => {
  disarmFaults();
  await stage.close();
});

/** Answers each message, so that what was worked on can be seen from outside. */
const echo: InboxHandler = async (unit, event) => {
  if (event.type !== 'm.room.message') return;
  await sendMessage(unit, {
    to: { room: event.room.roomId },
    message: { msgtype: 'm.text', body: `echo: ${String(event.content['body'])}`, mentions: [] },
  });
};

async function lobbyOf(bot = stage.start()): Promise<string> {
  await bot.ready;
  return stage.operator.room('Nomos lobby');
}

/** A lobby that the bot knows, and no bot running. */
async function lobbyLeftAlone(): Promise<string> {
  const bot = stage.start();
  const lobby = await lobbyOf(bot);
  // The operator's joining is in the inbox: what follows is new.
  await stage.eventually('the bot saw the operator join', async () => {
    const joined = await stage.database.read.matrixInbox.count({
      where: { roomId: lobby, type: 'm.room.member', sender: stage.operator.userId },
    });
    return joined > 0;
  });
  await bot.stop();
  return lobby;
}

const echoes = (roomId: string): Promise<string[]> =>
  stage.operator.bodies(roomId, stage.bot.userId);

async function directChat(person = stage.operator, more: Record<string, unknown> = {}) {
  return person.createRoom({
    preset: 'trusted_private_chat',
    is_direct: true,
    invite: [stage.bot.userId],
    ...more,
  });
}

/** Says many things, ten at a time: in which order, the homeserver knows. */
async function sayMany(roomId: string, count: number): Promise<void> {
  for (let index = 0; index < count; index += 10) {
    await Promise.all(
      Array.from({ length: 10 }, (_, more) =>
        stage.operator.say(roomId, `message ${index + more}`),
      ),
    );
  }
}

describe('what the operator says', () => {
  test('R4: 130 messages while the bot was down, in a limited sync, are each worked on once and in order', async () => {
    const lobby = await lobbyLeftAlone();
    await sayMany(lobby, 130);
    stage.start({ onEvent: echo });
    const sent = await stage.operator.bodies(lobby, stage.operator.userId);
    await stage.operator.message(lobby, `echo: ${sent.at(-1)}`, 60_000);
    expect(sent).toHaveLength(130);
    expect(await echoes(lobby)).toEqual(sent.map((body) => `echo: ${body}`));
  }, 120_000);

  test.each(['inbox.before_store', 'inbox.stored', 'inbox.before_commit'])(
    'R4: is worked on exactly once when the bot is killed at %s',
    async (point) => {
      const lobby = await lobbyLeftAlone();
      await stage.operator.say(lobby, 'one');
      await stage.operator.say(lobby, 'two');
      await runUntilKilled(stage, point);
      stage.start({ onEvent: echo });
      await stage.operator.message(lobby, 'echo: two');
      expect(await echoes(lobby)).toEqual(['echo: one', 'echo: two']);
    },
  );

  test('R4: a gap that cannot be read is told, never passed over in silence', async () => {
    const lobby = await lobbyLeftAlone();
    await sayMany(lobby, 110);
    await stage.operator.say(lobby, 'the last one');
    const proxy = await HomeserverProxy.open(stage.homeserverUrl);
    proxy.rule = (request) =>
      request.path.endsWith('/messages')
        ? { status: 403, body: { errcode: 'M_FORBIDDEN', error: 'No.' } }
        : 'pass';
    const bot = stage.start({
      homeserverUrl: proxy.url,
      async onEvent(unit, event) {
        if (event.content['body'] === 'the last one') await echo(unit, event);
      },
    });
    await stage.operator.message(lobby, 'echo: the last one', 60_000);
    const error = await stage.database.read.event.findFirst({ where: { type: 'error.raised' } });
    expect(error?.data).toMatchObject({ code: 'messages_missed', fault: 'system' });
    await bot.stop();
    await proxy.close();
  }, 120_000);

  test('R4: what was said before the bot was ever there is history', async () => {
    const chat = await directChat();
    await stage.operator.say(chat, 'written before the bot came, after its invitation');
    const other = await stage.operator.createRoom({ preset: 'private_chat' });
    await stage.operator.say(other, 'long before its invitation');
    const bot = stage.start({ onEvent: echo });
    await bot.ready;
    await stage.operator.request('POST', `/rooms/${other}/invite`, { user_id: stage.bot.userId });
    await stage.operator.event(
      other,
      (event) => event.state_key === stage.bot.userId && event.content['membership'] === 'join',
    );
    await stage.operator.say(other, 'after its invitation');
    await stage.operator.message(other, 'echo: after its invitation');
    expect(await echoes(other)).toEqual(['echo: after its invitation']);
    await stage.operator.message(chat, 'echo: written before the bot came, after its invitation');
  });

  test('R4: rooms go side by side, each in order', async () => {
    const gate = Promise.withResolvers<void>();
    const lobby = await lobbyOf(
      stage.start({
        async onEvent(unit, event) {
          if (event.content['body'] === 'slow') await gate.promise;
          await echo(unit, event);
        },
      }),
    );
    const chat = await directChat();
    await stage.operator.say(lobby, 'slow');
    await stage.operator.say(lobby, 'behind the slow one');
    await stage.operator.say(chat, 'quick');
    await stage.operator.message(chat, 'echo: quick');
    expect(await echoes(lobby)).toEqual([]);
    gate.resolve();
    await stage.operator.message(lobby, 'echo: behind the slow one');
    expect(await echoes(lobby)).toEqual(['echo: slow', 'echo: behind the slow one']);
  });

  test('R12: an event whose handler fails is tried three times, told, and passed by', async () => {
    let tries = 0;
    const lobby = await lobbyOf(
      stage.start({
        async onEvent(unit, event) {
          if (event.content['body'] === 'broken') {
            tries++;
            await echo(unit, event);
            throw new Error('secret internals');
          }
          await echo(unit, event);
        },
      }),
    );
    const eventId = await stage.operator.say(lobby, 'broken');
    await stage.operator.say(lobby, 'fine');
    await stage.operator.message(lobby, 'echo: fine');
    expect(tries).toBe(3);
    expect(await echoes(lobby)).toEqual(['echo: fine']);
    const row = await stage.database.read.matrixInbox.findUnique({ where: { eventId } });
    expect(row).toMatchObject({ state: 'failed', attempts: 3, error: 'secret internals' });
    const error = await stage.database.read.event.findFirst({ where: { type: 'error.raised' } });
    expect(error?.data).toMatchObject({ code: 'event_failed', roomId: lobby, eventId });
    expect(JSON.stringify(error?.data)).not.toContain('secret internals');
  });

  test('R12: characters that the database cannot hold harm nothing', async () => {
    const bodies: string[] = [];
    const lobby = await lobbyOf(
      stage.start({
        async onEvent(_unit, event) {
          bodies.push(String(event.content['body']));
        },
      }),
    );
    await stage.operator.send(lobby, 'm.room.message', {
      msgtype: 'm.text',
      body: 'nul \u0000 here',
      ['key \u0000']: 1,
    });
    await stage.operator.say(lobby, 'next');
    await stage.eventually('both were worked on', async () => bodies.length === 2);
    expect(bodies).toEqual(['nul \u2400 here', 'next']);
  });

  test('T13, A7: edits, reactions and redactions arrive with what they are about', async () => {
    const seen: InboxEvent[] = [];
    const lobby = await lobbyOf(
      stage.start({
        async onEvent(_unit, event) {
          seen.push(event);
        },
      }),
    );
    const message = await stage.operator.say(lobby, 'hello');
    const reaction = await stage.operator.react(lobby, message, '✅');
    // What is taken back before it was worked on is passed by.
    await stage.eventually('the first two were worked on', async () => seen.length === 2);
    await stage.operator.redact(lobby, reaction);
    await stage.eventually('all three were worked on', async () => seen.length === 3);
    expect(seen.map(({ type, redacts }) => ({ type, redacts }))).toEqual([
      { type: 'm.room.message', redacts: null },
      { type: 'm.reaction', redacts: null },
      { type: 'm.room.redaction', redacts: reaction },
    ]);
    expect(seen.every((event) => event.sender === stage.operator.userId)).toBe(true);
    expect(seen[0]?.room).toMatchObject({ kind: 'lobby', sessionId: null, encrypted: false });
  });

  test('C8: is marked read once it is stored', async () => {
    const lobby = await lobbyOf();
    const eventId = await stage.operator.say(lobby, 'hello');
    await stage.operator.until(
      () =>
        stage.operator.client.getRoom(lobby)?.getEventReadUpTo(stage.bot.userId) === eventId
          ? true
          : undefined,
      'the receipt',
    );
  });

  test('C8: typing is shown and hidden', async () => {
    const bot = stage.start({
      handler: (parts) => async (_unit, event) => {
        parts.ephemeral.setTyping(event.room.roomId, event.content['body'] === 'type');
      },
    });
    const lobby = await lobbyOf(bot);
    const typing = (wanted: boolean): true | undefined =>
      stage.operator.client.getRoom(lobby)?.getMember(stage.bot.userId)?.typing === wanted
        ? true
        : undefined;
    await stage.operator.say(lobby, 'type');
    await stage.operator.until(() => typing(true), 'the bot typing');
    await stage.operator.say(lobby, 'stop');
    await stage.operator.until(() => typing(false), 'the bot resting');
  });

  test('R9: is worked on once when its first commit fails', async () => {
    let failures = 0;
    armFault('inbox.before_commit', () => {
      if (++failures <= 2) throw new Error('the connection was lost');
    });
    const lobby = await lobbyOf(stage.start({ onEvent: echo }));
    await stage.operator.say(lobby, 'hello');
    await stage.operator.message(lobby, 'echo: hello');
    expect(await echoes(lobby)).toEqual(['echo: hello']);
  });
});

describe('strangers', () => {
  test('T12, Z1: a stranger in the room directs nothing, and all is on record', async () => {
    const seen: InboxEvent[] = [];
    const lobby = await lobbyOf(
      stage.start({
        async onEvent(_unit, event) {
          seen.push(event);
        },
      }),
    );
    const stranger = await stage.person('mallory');
    await stage.operator.request('POST', `/rooms/${lobby}/invite`, { user_id: stranger.userId });
    await stranger.room('Nomos lobby');
    const operators = await stage.operator.say(lobby, 'hello');
    const message = await stranger.say(lobby, 'yes');
    const reaction = await stranger.react(lobby, operators, '✅');
    const redaction = await stranger.redact(lobby, message);
    await stage.operator.say(lobby, 'goodbye');
    await stage.eventually('the operator was heard', async () => seen.length === 2);
    expect(seen.map((event) => event.sender)).toEqual([
      stage.operator.userId,
      stage.operator.userId,
    ]);
    const audits = await stage.database.read.auditEntry.findMany({
      where: { action: 'stranger.ignored' },
      orderBy: { id: 'asc' },
    });
    expect(audits.map(({ actor, subject }) => ({ actor, subject }))).toEqual(
      [message, reaction, redaction].map((subject) => ({ actor: stranger.userId, subject })),
    );
  });

  test('T12: a stranger’s invitation is refused and on record; an operator’s direct chat is a lobby', async () => {
    const bot = stage.start({ onEvent: echo });
    await bot.ready;
    const stranger = await stage.person('mallory');
    const trap = await directChat(stranger);
    await stranger.event(
      trap,
      (event) => event.state_key === stage.bot.userId && event.content['membership'] === 'leave',
    );
    const refused = await stage.database.read.auditEntry.findFirst({
      where: { action: 'invite.refused' },
    });
    expect(refused).toMatchObject({ actor: stranger.userId, subject: trap });

    const chat = await directChat();
    await stage.operator.say(chat, 'hello');
    await stage.operator.message(chat, 'echo: hello');
    const room = await stage.database.read.matrixRoom.findUnique({ where: { roomId: chat } });
    expect(room).toMatchObject({ kind: 'direct', membership: 'join' });
  });

  test('Z1: a chat that a stranger reads too is no lobby', async () => {
    const rooms: string[] = [];
    const bot = stage.start({
      async onEvent(_unit, event) {
        rooms.push(event.room.kind);
      },
    });
    await bot.ready;
    const stranger = await stage.person('mallory');
    const chat = await stage.operator.createRoom({
      preset: 'private_chat',
      name: 'Three of us',
      is_direct: true,
      invite: [stranger.userId],
    });
    await stranger.room('Three of us');
    await stage.operator.request('POST', `/rooms/${chat}/invite`, { user_id: stage.bot.userId });
    await stage.operator.event(
      chat,
      (event) => event.state_key === stage.bot.userId && event.content['membership'] === 'join',
    );
    await stage.operator.say(chat, 'hello');
    await stage.eventually('the message was worked on', async () => rooms.length > 0);
    expect(rooms).toEqual(['other']);
  });

  test('Z1: who is no operator any more directs nothing, even with a message stored before', async () => {
    const lobby = await lobbyLeftAlone();
    await stage.operator.say(lobby, 'hello');
    await runUntilKilled(stage, 'inbox.before_commit');
    const seen: InboxEvent[] = [];
    const bea = await stage.person('bea');
    stage.start({
      operators: operatorsOf(bea.userId),
      async onEvent(_unit, event) {
        seen.push(event);
      },
    });
    await stage.eventually('the message is ignored', async () => {
      const row = await stage.database.read.matrixInbox.findFirst({
        where: { type: 'm.room.message' },
      });
      return row?.state === 'ignored';
    });
    expect(seen).toEqual([]);
  });
});

describe('encrypted rooms', () => {
  test('an encrypted room gets one plain answer that the bot cannot read there, and nothing else in clear', async () => {
    const bot = stage.start({ onEvent: echo });
    await bot.ready;
    const chat = await directChat(stage.operator, {
      initial_state: [
        {
          type: 'm.room.encryption',
          state_key: '',
          content: { algorithm: 'm.megolm.v1.aes-sha2' },
        },
      ],
    });
    await stage.operator.event(
      chat,
      (event) => event.state_key === stage.bot.userId && event.content['membership'] === 'join',
    );
    const cipher = { algorithm: 'm.megolm.v1.aes-sha2', ciphertext: 'x', session_id: 's' };
    await stage.operator.send(chat, 'm.room.encrypted', cipher);
    await stage.operator.send(chat, 'm.room.encrypted', cipher);
    await stage.operator.event(chat, (event) => /cannot read/.test(String(event.content['body'])));
    // In clear it would be read, and answered in clear: that answer must not leave.
    await stage.operator.say(chat, 'in clear');
    await stage.eventually('the answer is given up', async () => {
      const row = await stage.database.read.matrixOutbox.findFirst({ where: { state: 'failed' } });
      return row?.error?.startsWith('room_encrypted') === true;
    });
    expect(await echoes(chat)).toHaveLength(1);
  });
});
