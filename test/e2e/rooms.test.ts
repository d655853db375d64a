import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { roomStateShape } from '../../bot/rooms/room-state.ts';
import type { Person, RawEvent } from '../support/matrix.ts';
import { NomosWorld } from '../support/nomos-world.ts';
import { about, complete, gate, goal, joined, left, linesIn, runs } from '../support/replies.ts';

let world: NomosWorld;
let ann: Person;
let bob: Person;

beforeAll(async () => {
  world = await NomosWorld.open();
  ann = await world.person('ann', 'admin');
  bob = await world.person('bob', 'approver');
  await world.start();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

async function asBot(method: string, place: string, body?: object): Promise<unknown> {
  const answer = await fetch(`${world.homeserver.url}/_matrix/client/v3${place}`, {
    method,
    headers: { authorization: `Bearer ${world.bot.accessToken}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  expect(answer.status).toBe(200);
  return answer.json();
}

const stateOf = (person: Person, roomId: string, type: string) =>
  person.request('GET', `/rooms/${encodeURIComponent(roomId)}/state/${type}`);
const setState = (person: Person, roomId: string, type: string, content: Record<string, unknown>) =>
  person.request('PUT', `/rooms/${encodeURIComponent(roomId)}/state/${type}`, content);
const said =
  (words: RegExp) =>
  (event: RawEvent): boolean =>
    event.sender === world.bot.userId && words.test(String(event.content['body']));

test('T7: a name and a topic that an operator gives a task’s room stay until the mark or the goal changes', async () => {
  world.model.lane(
    about('rename my room'),
    goal('Look at web-1'),
    { text: 'I wait for your word.' },
    complete('All is well.'),
  );
  const { roomId, sessionId } = await world.ask(ann, 'rename my room');
  await world.card(ann, roomId, ({ body }) => body.includes('I wait for your word'), 'an answer');
  await ann.room(/^❗ Look at web-1$/);
  await setState(ann, roomId, 'm.room.name', { name: 'Ann’s own' });
  await setState(ann, roomId, 'm.room.topic', { topic: 'Do not touch' });
  // What changes the card but neither mark nor goal leaves the name alone.
  await ann.say(roomId, '!status');
  await ann.event(roomId, said(/^Look at web-1/));
  expect(await stateOf(ann, roomId, 'm.room.name')).toEqual({ name: 'Ann’s own' });
  await ann.say(roomId, 'and now finish');
  await world.done(sessionId);
  await ann.room(/^✅ Look at web-1$/);
  expect(await stateOf(ann, roomId, 'm.room.topic')).toEqual({ topic: 'Do not touch' });
});

test('T5: !stop in the middle of a pass ends it; nothing more is asked of the model, and a message goes on', async () => {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  world.model.lane(
    about('stop me by a word'),
    goal('Stopped by a word'),
    async () => {
      reached.resolve();
      await opened.promise;
      return { text: 'Nobody should read this.' };
    },
    { text: 'Here I am again.' },
  );
  const { roomId, sessionId } = await world.ask(ann, 'stop me by a word');
  await reached.promise;
  await ann.say(roomId, '!stop');
  await ann.event(roomId, said(/^🛑 Stopping at the next step/));
  opened.resolve();
  await world.until('the pass is stopped', async () => {
    const pass = await world.database.read.pass.findFirst({ where: { sessionId } });
    return pass?.state === 'cancelled' && pass.stopRequestedBy === ann.userId ? true : undefined;
  });
  await ann.say(roomId, 'go on with that');
  await world.card(ann, roomId, ({ body }) => body.includes('Here I am again'), 'it goes on');
  expect((await world.shown(ann, roomId)).some(({ body }) => /Nobody should/.test(body))).toBe(
    false,
  );
});

test('A4, T15: a pill of the bot in front of a “yes” changes nothing of it; with somebody else’s it approves nothing', async () => {
  const file = path.join(world.sshd.home, 'mentioned');
  world.model.lane(
    about('answer with a pill'),
    runs(`echo run >> ${file}`, 'Set the mark'),
    { text: 'I proposed it.' },
    { text: 'That was for Bob.' },
    { text: 'It is set.' },
  );
  const { roomId } = await world.ask(ann, 'answer with a pill');
  const card = await world.waiting(ann, roomId);
  // As Element sends a mention: the display name in the body, a pill in the HTML, the id beside them.
  const yes = (userId: string, name: string) =>
    ann.send(roomId, 'm.room.message', {
      msgtype: 'm.text',
      body: `${name}: yes`,
      format: 'org.matrix.custom.html',
      formatted_body: `<a href="https://matrix.to/#/${userId}">${name}</a>: yes`,
      'm.mentions': { user_ids: [userId] },
      'm.relates_to': {
        rel_type: 'm.thread',
        event_id: card.thread,
        // A reply that the sender chose: what the card has asked is older than the pass that read the first one.
        is_falling_back: false,
        'm.in_reply_to': { event_id: card.eventId },
      },
    });
  await yes(bob.userId, 'Bob');
  await world.card(ann, roomId, ({ body }) => body.includes('That was for Bob'), 'it is read');
  expect(linesIn(file)).toBe(0);
  await yes(world.bot.userId, 'The Machine');
  await world.card(ann, roomId, ({ body }) => body.includes('It is set'), 'the agent goes on');
  expect(linesIn(file)).toBe(1);
});

test('T2, T12: an operator who left a task’s room and the lobby comes back by !invite, and counts again', async () => {
  world.model.lane(
    about('wait for bob'),
    goal('Wait for Bob'),
    { text: 'I wait.' },
    { text: 'Hello Bob.' },
  );
  const { roomId, sessionId } = await world.ask(ann, 'wait for bob');
  await world.card(ann, roomId, ({ body }) => body.includes('I wait'), 'an answer');
  const lobby = await world.lobby(bob);
  await joined(bob, roomId);
  await left(bob, roomId);
  await left(bob, lobby);
  const direct = await bob.createRoom({
    preset: 'trusted_private_chat',
    is_direct: true,
    invite: [world.bot.userId],
  });
  await bob.say(direct, '!invite');
  await bob.event(direct, said(/invited to the lobby/));
  await joined(bob, lobby);
  const { shortId } = await world.database.read.session.findUniqueOrThrow({
    where: { id: sessionId },
  });
  await bob.say(lobby, `!invite ${shortId}`);
  await bob.event(lobby, said(/You are invited to Wait for Bob/));
  await joined(bob, roomId);
  await bob.say(roomId, 'here I am');
  await world.card(bob, roomId, ({ body }) => body.includes('Hello Bob'), 'bob is heard');
  // Who is in the room is invited in vain, and nobody is bothered with it.
  await ann.say(roomId, `!invite ${shortId}`);
  await ann.event(roomId, said(/if you are not there/));
});

/** Waits until the bot knows that somebody left: who leaves when they are needed already is asked by the reminder. */
const noticed = async (person: Person, roomId: string): Promise<void> => {
  await world.until('the bot has noticed', async () => {
    const room = await world.database.read.matrixRoom.findUnique({ where: { roomId } });
    const { left: gone } = roomStateShape.parse(room?.state ?? {});
    return gone?.includes(person.userId) === true ? true : undefined;
  });
};

test('T2, C14: an operator who left a task’s room is invited again by itself as soon as it needs them, and by going on with it in the lobby', async () => {
  const file = path.join(world.sshd.home, 'come-back');
  const held = gate(() => runs(`echo run >> ${file}`, 'Set the mark'));
  world.model.lane(
    about('go on without me'),
    goal('Alone'),
    held.step,
    { text: 'I proposed it.' },
    { text: 'It is set, and you were here.' },
    { text: 'You came back.' },
  );
  const { roomId } = await world.ask(ann, 'go on without me');
  await held.reached;
  await left(ann, roomId);
  await noticed(ann, roomId);
  held.open();
  await joined(ann, roomId);
  const card = await world.waiting(ann, roomId);
  await ann.react(roomId, card.eventId, '✅');
  await world.card(ann, roomId, ({ body }) => body.includes('you were here'), 'it goes on');
  expect(linesIn(file)).toBe(1);

  await left(ann, roomId);
  await noticed(ann, roomId);
  const lobby = await world.lobby(ann);
  const link = await world.card(ann, lobby, ({ body }) => body.includes('Alone'), 'the link');
  await ann.send(lobby, 'm.room.message', {
    msgtype: 'm.text',
    body: 'anything new?',
    'm.relates_to': { 'm.in_reply_to': { event_id: link.eventId } },
  });
  await joined(ann, roomId);
  await world.card(ann, roomId, ({ body }) => body.includes('You came back'), 'it is answered');
});

test('C7, T7: a bot whose power level was lowered says so once, and works on as far as it may', async () => {
  const again = gate(() => complete('Done once more.'));
  world.model.lane(
    about('take my power'),
    goal('Powerless'),
    { text: 'I wait for your word.' },
    complete('Done all the same.'),
    again.step,
  );
  const { roomId, sessionId } = await world.ask(ann, 'take my power');
  await world.card(ann, roomId, ({ body }) => body.includes('I wait for your word'), 'an answer');
  await ann.room(/^❗ Powerless$/);
  // Only its server’s admin can do that, in its name.
  const place = `/rooms/${encodeURIComponent(roomId)}/state/m.room.power_levels`;
  const levels = (await asBot('GET', place)) as { users: Record<string, number> };
  await asBot('PUT', place, { ...levels, users: { ...levels.users, [world.bot.userId]: 0 } });
  await ann.say(roomId, 'finish it');
  await world.done(sessionId);
  await ann.event(roomId, said(/I may not set the name and the pinned card/));
  await world.card(ann, roomId, ({ kind }) => kind === 'digest', 'the digest all the same');
  const refused = async (times: number): Promise<void> => {
    const names = {
      lane: `session:${sessionId}`,
      kind: 'state',
      eventType: 'm.room.name',
    } as const;
    await world.until(`${times} changes of the name were refused`, async () => {
      const count = await world.database.read.matrixOutbox.count({
        where: { ...names, state: 'failed' },
      });
      return count >= times ? true : undefined;
    });
  };
  await refused(1);
  await ann.say(roomId, 'and once more');
  await refused(2);
  again.open();
  const told = (await world.shown(ann, roomId)).filter(({ body }) => /I may not set/.test(body));
  expect(told).toHaveLength(1);
});

test('C7: a bot that may not write in a task’s room any more says so once in the lobby', async () => {
  world.model.lane(
    about('silence me'),
    goal('Silenced'),
    { text: 'I wait for your word.' },
    { text: 'Unheard.' },
  );
  const { roomId, sessionId } = await world.ask(ann, 'silence me');
  await world.card(ann, roomId, ({ body }) => body.includes('I wait for your word'), 'an answer');
  const place = `/rooms/${encodeURIComponent(roomId)}/state/m.room.power_levels`;
  const levels = (await asBot('GET', place)) as { users: Record<string, number> };
  await asBot('PUT', place, {
    ...levels,
    events_default: 50,
    users: { ...levels.users, [world.bot.userId]: 0 },
  });
  await ann.say(roomId, 'say something');
  const lobby = await world.lobby(ann);
  const { shortId } = await world.database.read.session.findUniqueOrThrow({
    where: { id: sessionId },
  });
  const words = new RegExp(`I could not say something in the room of task ${shortId}`);
  await ann.event(lobby, said(words));
  await world.until('the answer was refused as well', async () =>
    (await world.database.read.matrixOutbox.count({
      where: { lane: `session:${sessionId}`, kind: 'send', state: 'failed' },
    })) > 0
      ? true
      : undefined,
  );
  const told = (await world.shown(ann, lobby)).filter(({ body }) => words.test(body));
  expect(told).toHaveLength(1);
});

test('T1, T2: a lobby that was upgraded is followed: the Space shows the new one, open tasks are linked there, and what is written there opens tasks', async () => {
  world.model.lane(about('stay open'), goal('Still open'), { text: 'I wait.' });
  world.model.lane(about('asked in the new lobby'), { text: 'The new lobby works.' });
  const { roomId } = await world.ask(ann, 'stay open');
  await world.card(ann, roomId, ({ body }) => body.includes('I wait'), 'an answer');
  const lobby = await world.lobby(ann);
  const upgraded = (await asBot('POST', `/rooms/${encodeURIComponent(lobby)}/upgrade`, {
    new_version: '10',
  })) as { replacement_room: string };
  const fresh = upgraded.replacement_room;
  for (const { userId } of [ann, bob]) {
    await asBot('POST', `/rooms/${encodeURIComponent(fresh)}/invite`, { user_id: userId });
  }
  await joined(ann, fresh);
  await ann.event(fresh, said(/^Write here what you want done/));
  await ann.event(fresh, said(/Still open/));
  const space = await world.database.read.matrixRoom.findFirstOrThrow({ where: { kind: 'space' } });
  const child = (room: string) =>
    ann.request('GET', `/rooms/${space.roomId}/state/m.space.child/${encodeURIComponent(room)}`);
  await world.until('the Space has it in the old one’s place', async () => {
    const [before, after] = await Promise.all([child(lobby), child(fresh).catch(() => ({}))]);
    return Object.keys(before).length === 0 && 'via' in after ? true : undefined;
  });
  const eventId = await ann.say(fresh, 'asked in the new lobby');
  await world.until(
    'a task was opened',
    async () => (await world.database.read.message.findUnique({ where: { eventId } })) ?? undefined,
  );
  await ann.event(fresh, said(/The new lobby works/));
});
