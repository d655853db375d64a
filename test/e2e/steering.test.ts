import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { asId, type SessionId } from '../../core/ids.ts';
import { deleteTask } from '../../core/tasks/delete.ts';
import type { Person } from '../support/matrix.ts';
import { NomosWorld } from '../support/nomos-world.ts';
import { about, gate, goal, linesIn, run, runs, wordsOf } from '../support/replies.ts';

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

/** The root of the room's first turn, once it is there. */
const rootOf = async (roomId: string): Promise<string> =>
  (await world.card(ann, roomId, ({ kind }) => kind === 'turn', 'the root of the turn')).eventId;

/** The message that an event has become, once it has. */
const stored = async (eventId: string) =>
  (await world.database.read.message.findUnique({ where: { eventId } })) ?? undefined;

/** Edits as Element does: with a fallback body that begins with " * ". */
const edit = async (roomId: string, eventId: string, words: string): Promise<string> =>
  ann.send(roomId, 'm.room.message', {
    msgtype: 'm.text',
    body: ` * ${words}`,
    'm.new_content': { msgtype: 'm.text', body: words },
    'm.relates_to': { rel_type: 'm.replace', event_id: eventId },
  });

const reacted = async (roomId: string, target: string, key: string) =>
  ann.event(roomId, (event) => {
    const relation = event.content['m.relates_to'] as
      | { event_id?: string; key?: string }
      | undefined;
    return (
      event.type === 'm.reaction' &&
      event.sender === world.bot.userId &&
      relation?.event_id === target &&
      relation.key === key
    );
  });

test('T5, T13: what comes in the middle of a pass is read before the next model call and marked 👀; an edit before that counts, a redacted message is never read', async () => {
  const held = gate(() => ({ toolCalls: [run('cat /etc/hostname', 'Look who it is')] }));
  world.model.lane(about('steer the pass'), goal('Steered'), held.step, (request) => {
    const words = wordsOf(request);
    expect(words).toContain('leave db-1 alone, and web-2 as well');
    expect(words).not.toContain('leave db-1 alone please');
    expect(words).not.toContain('a slip of the thumb');
    return { text: 'I leave both alone.' };
  });
  const { roomId } = await world.ask(ann, 'steer the pass');
  await held.reached;
  const root = await rootOf(roomId);
  const said = await ann.say(roomId, 'leave db-1 alone please', root);
  const slip = await ann.say(roomId, 'a slip of the thumb', root);
  await world.until('both are there', async () => (await stored(slip)) && (await stored(said)));
  await edit(roomId, said, 'leave db-1 alone, and web-2 as well');
  await ann.redact(roomId, slip);
  await world.until('edit and redaction are worked on', async () => {
    const [edited, gone] = await Promise.all([stored(said), stored(slip)]);
    return edited?.text.includes('web-2') === true && gone?.redactedAt != null ? true : undefined;
  });
  held.open();
  await world.card(ann, roomId, ({ body }) => body.includes('I leave both alone'), 'the answer');
  await reacted(roomId, said, '👀');
});

test('T5, T13: what was edited or redacted before the bot could see it counts as it stands: the new words are read, the redacted ones never', async () => {
  const held = gate(() => ({ toolCalls: [run('cat /etc/hostname', 'Look who it is')] }));
  world.model.lane(about('steer it late'), goal('Steered late'), held.step, (request) => {
    const words = wordsOf(request);
    expect(words).toContain('leave db-2 alone, and web-2 as well');
    expect(words).not.toContain('leave db-2 alone please');
    expect(words).not.toContain('said by mistake');
    return { text: 'Left alone.' };
  });
  const { roomId } = await world.ask(ann, 'steer it late');
  await held.reached;
  const root = await rootOf(roomId);
  const halt = world.hold();
  const said = await ann.say(roomId, 'leave db-2 alone please', root);
  const slip = await ann.say(roomId, 'said by mistake', root);
  await ann.redact(roomId, slip);
  await edit(roomId, said, 'leave db-2 alone, and web-2 as well');
  halt.go();
  await world.until('the edit is worked on', async () =>
    (await stored(said))?.text.includes('web-2') === true ? true : undefined,
  );
  held.open();
  await world.card(ann, roomId, ({ body }) => body === 'Left alone.', 'the answer');
  await reacted(roomId, said, '👀');
  // The homeserver gave it out without its words: there is nothing to keep.
  expect(await stored(slip)).toBeUndefined();
});

test('C8, C14: typing shows while a pass runs, also to who joins in its middle, and the message is marked read; what waits rings by a message of its own, stands on the pinned card, and is brought up once more', async () => {
  const file = path.join(world.sshd.home, 'reminded');
  const first = gate(() => goal('Busy'));
  const held = gate(() => runs(`echo run >> ${file}`, 'Set the marker'));
  world.model.lane(
    about('look busy for me'),
    first.step,
    { text: 'What shall I do?' },
    held.step,
    { text: 'I asked for it.' },
    { text: 'It was left alone.' },
  );
  const { roomId, sessionId } = await world.ask(ann, 'look busy for me');
  const typing = (): boolean | undefined =>
    ann.client.getRoom(roomId)?.getMember(world.bot.userId)?.typing;
  await first.reached;
  await ann.until(() => typing() === true || undefined, 'typing shows to who joins meanwhile');
  first.open();
  await world.card(ann, roomId, ({ body }) => body === 'What shall I do?', 'the answer');
  const said = await ann.say(roomId, 'set the marker');
  await held.reached;
  await ann.until(
    () => ann.hasRead(world.bot.userId, said) || undefined,
    'the message is marked read',
  );
  await ann.until(() => typing() === true || undefined, 'typing shows');
  held.open();
  const card = await world.waiting(ann, roomId);
  expect(card.mentions).toEqual([ann.userId]);
  await world.card(
    ann,
    roomId,
    ({ kind, body }) => kind === 'task' && /Waits for your decision:.*Set the marker/s.test(body),
    'the pinned card says for what it waits',
  );
  await ann.until(() => typing() === false || undefined, 'typing shows no more');

  await world.database.read.$executeRaw`
    UPDATE approvals SET created_at = clock_timestamp() - interval '55 minutes',
      expires_at = clock_timestamp() + interval '5 minutes'
    WHERE session_id = ${sessionId}::uuid`;
  const reminder = await world.card(ann, roomId, ({ kind }) => kind === 'reminder', 'a reminder');
  expect(reminder.body).toContain('Still waits for you: 🟠 Set the marker');
  expect(reminder.html).toContain(encodeURIComponent(card.eventId));
  expect(reminder.mentions).toEqual([ann.userId]);
  const history = await ann.history(roomId);
  const since = history.slice(history.findIndex(({ event_id }) => event_id === said));
  const rung = since.filter(
    ({ type, sender, content }) =>
      type === 'm.room.message' &&
      sender === world.bot.userId &&
      (content['m.mentions'] as { user_ids?: string[] } | undefined)?.user_ids !== undefined,
  );
  expect(rung.map(({ event_id }) => event_id)).toEqual([card.eventId, reminder.eventId]);
  expect(rung.every(({ content }) => !('m.new_content' in content))).toBe(true);
  await ann.react(roomId, reminder.eventId, '❌');
  await world.card(ann, roomId, ({ body }) => body.includes('left alone'), 'the denial is read');
  expect(linesIn(file)).toBe(0);
});

test('T5: 🛑 on the turn ends its pass in the middle; what was done stays, nothing more is asked of the model, and a message goes on', async () => {
  const file = path.join(world.sshd.home, 'stopped');
  const held = gate(() => ({ toolCalls: [run(`echo run >> ${file}`, 'Never proposed')] }));
  const goesOn = { text: 'Here I am again.' };
  world.model.lane(
    about('work until I stop you'),
    goal('Stopped work'),
    { toolCalls: [run('cat /etc/hostname', 'Look who it is')] },
    held.step,
    goesOn,
  );
  const { roomId, sessionId } = await world.ask(ann, 'work until I stop you');
  await held.reached;
  const root = await rootOf(roomId);
  // With the variation selector, as Element's picker sends some of them.
  await bob.room(/Stopped work/);
  await bob.react(roomId, root, '🛑\u{fe0f}');
  const pass = await world.until('the pass is stopped', async () => {
    const row = await world.database.read.pass.findFirst({ where: { sessionId } });
    return row?.state === 'cancelled' ? row : undefined;
  });
  held.open();
  expect(pass.stopRequestedBy).toBe(bob.userId);
  const executions = await world.database.read.execution.findMany({ where: { sessionId } });
  expect(executions).toMatchObject([{ status: 'completed', command: 'cat /etc/hostname' }]);
  expect(linesIn(file)).toBe(0);
  await world.card(
    ann,
    roomId,
    ({ kind, body }) => kind === 'progress' && /stopped/i.test(body),
    'the progress says so',
  );
  await ann.say(roomId, 'go on with it, and be quick', root);
  await world.card(ann, roomId, ({ body }) => body.includes('Here I am again'), 'it goes on');
});

test('T15, A4: a reply as older clients send it (<mx-reply>, quoted lines) approves the card that it answers', async () => {
  const file = path.join(world.sshd.home, 'replied');
  world.model.lane(
    about('answer the old way'),
    { toolCalls: [run(`echo run >> ${file}`, 'Set the mark')] },
    { text: 'I proposed it.' },
    { text: 'It is set.' },
  );
  const { roomId } = await world.ask(ann, 'answer the old way');
  const card = await world.waiting(ann, roomId);
  await ann.send(roomId, 'm.room.message', {
    msgtype: 'm.text',
    body: `> <${world.bot.userId}> ${card.body.split('\n')[0]}\n> no, do not\n\nyes`,
    format: 'org.matrix.custom.html',
    formatted_body: `<mx-reply><blockquote>no, do not</blockquote></mx-reply>yes`,
    'm.relates_to': { 'm.in_reply_to': { event_id: card.eventId } },
  });
  await world.card(ann, roomId, ({ body }) => body.includes('It is set'), 'the agent goes on');
  expect(linesIn(file)).toBe(1);
});

test('A2: a tap with a skin tone counts, one from another person on a card that was decided changes nothing', async () => {
  const file = path.join(world.sshd.home, 'toned');
  world.model.lane(
    about('tap with a thumb'),
    { toolCalls: [run(`echo run >> ${file}`, 'Set the mark')] },
    { text: 'I proposed it.' },
    { text: 'The thumb counted.' },
  );
  const { roomId } = await world.ask(ann, 'tap with a thumb');
  const card = await world.waiting(ann, roomId);
  await ann.react(roomId, card.eventId, '👍🏽');
  await world.card(ann, roomId, ({ body }) => body.includes('The thumb counted'), 'it goes on');
  await bob.react(roomId, card.eventId, '❌');
  await world.until('bob is told', async () =>
    (await world.shown(ann, roomId)).some(({ body }) => /already approved/i.test(body))
      ? true
      : undefined,
  );
  expect(linesIn(file)).toBe(1);
});

test('T11: !archive leaves the room after saying so, and takes it out of the Space; the rows stay until it is deleted', async () => {
  world.model.lane(about('put this away later'), { text: 'Nothing to do.' });
  const { roomId, sessionId } = await world.ask(ann, 'put this away later');
  await world.done(sessionId);
  await ann.say(roomId, '!archive');
  await ann.event(roomId, ({ content }) => /is archived/.test(String(content['body'])));
  await ann.event(
    roomId,
    (event) =>
      event.type === 'm.room.member' &&
      event.state_key === world.bot.userId &&
      event.content['membership'] === 'leave',
    40_000,
  );
  const space = await world.database.read.matrixRoom.findFirstOrThrow({ where: { kind: 'space' } });
  await world.until('the Space has it no more', async () => {
    const child = await ann.request(
      'GET',
      `/rooms/${space.roomId}/state/m.space.child/${encodeURIComponent(roomId)}`,
    );
    return Object.keys(child).length === 0 ? true : undefined;
  });
  const session = await world.database.read.session.findUniqueOrThrow({
    where: { id: sessionId },
  });
  expect(session.archivedAt).not.toBeNull();
  expect(await world.database.read.message.count({ where: { sessionId } })).toBeGreaterThan(0);

  await world.database.write(async (unit) =>
    deleteTask(unit, { sessionId: asId<SessionId>(sessionId), by: ann.userId }),
  );
  // Whatever comes in makes the bot look after its rooms.
  await ann.say(await world.lobby(ann), '!whoami');
  await world.until('nothing of what was said is kept', async () => {
    const { matrixRoom, matrixInbox, matrixOutbox } = world.database.read;
    const kept = await Promise.all([
      matrixRoom.count({ where: { roomId } }),
      matrixInbox.count({ where: { roomId } }),
      matrixOutbox.count({ where: { lane: `session:${sessionId}` } }),
    ]);
    return kept.every((count) => count === 0) ? true : undefined;
  });
});

test('T1, T3: a task’s room that was upgraded is followed: what waits is shown there again and can be decided there', async () => {
  const file = path.join(world.sshd.home, 'upgraded');
  world.model.lane(
    about('survive an upgrade'),
    goal('Survived'),
    { toolCalls: [run(`echo run >> ${file}`, 'Set the mark')] },
    { text: 'I proposed it.' },
    { text: 'It is set, over there.' },
  );
  const { roomId, sessionId } = await world.ask(ann, 'survive an upgrade');
  const card = await world.waiting(ann, roomId);
  await world.card(ann, roomId, ({ body }) => body.includes('I proposed it'), 'the pass ended');
  // The server's admin upgrades it in the bot's name, since nobody else may.
  const upgraded = await asBot('POST', `/rooms/${encodeURIComponent(roomId)}/upgrade`, {
    new_version: '10',
  });
  const newRoom = String(upgraded['replacement_room']);
  for (const { userId } of [ann, bob]) {
    await asBot('POST', `/rooms/${encodeURIComponent(newRoom)}/invite`, { user_id: userId });
  }
  await world.until('the task has moved', async () => {
    const session = await world.database.read.session.findUniqueOrThrow({
      where: { id: sessionId },
    });
    return session.roomId === newRoom ? true : undefined;
  });
  await ann.until(
    () => ann.client.getRoom(newRoom)?.getMyMembership() === 'join' || undefined,
    'the invitation to the new room is accepted',
  );
  const again = await world.card(
    ann,
    newRoom,
    ({ card: key, body }) => key === card.card && body.includes('Set the mark'),
    'the card is there again',
  );
  expect(again.thread).not.toBeUndefined();
  await ann.react(newRoom, again.eventId, '✅');
  await world.card(ann, newRoom, ({ body }) => body.includes('over there'), 'it goes on there');
  expect(linesIn(file)).toBe(1);
});

async function asBot(
  method: string,
  place: string,
  body: object,
): Promise<Record<string, unknown>> {
  const answer = await fetch(`${world.homeserver.url}/_matrix/client/v3${place}`, {
    method,
    headers: { authorization: `Bearer ${world.bot.accessToken}` },
    body: JSON.stringify(body),
  });
  expect(answer.status).toBe(200);
  return (await answer.json()) as Record<string, unknown>;
}
