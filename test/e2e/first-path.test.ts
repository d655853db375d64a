import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Person } from '../support/matrix.ts';
import { NomosWorld } from '../support/nomos-world.ts';
import { about, lastTool, linesIn, run } from '../support/replies.ts';

let world: NomosWorld;
let ann: Person;

beforeAll(async () => {
  world = await NomosWorld.open();
  ann = await world.person('ann', 'admin');
  await world.start();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});
afterEach(() => world.model.verify());

/** A file on the "host" that a command makes: the proof that it ran, and how often. */
function mark(name: string): { path: string; runs(): number } {
  const file = path.join(world.sshd.home, name);
  return {
    path: file,
    runs: () => linesIn(file),
  };
}

test('T2, T3, C3, C4, C6, A1, A2, X1, X2, J1, L1, T10: asked in the lobby, approved with a tap, run over SSH, woken by its end, verified, told in a digest', async () => {
  const restarted = mark('restarted');
  world.model.lane(
    about('restart nginx if it is down'),
    { toolCalls: [{ name: 'set_goal', arguments: { goal: 'nginx runs on web-1' } }] },
    {
      toolCalls: [run('df -h /', 'Look at the disks'), run('cat /etc/hostname', 'Look who it is')],
    },
    (request) => {
      expect(lastTool(request)).toContain('"exit_code":0');
      return { toolCalls: [run(`echo run >> ${restarted.path}`, 'Restart nginx')] };
    },
    (request) => {
      expect(lastTool(request)).toContain('pending_approval');
      return { text: 'I proposed the restart.' };
    },
    (request) => {
      const words = request.messages.map(({ content }) => content).join('\n');
      expect(words).toMatch(/ended: completed/);
      return { toolCalls: [run(`cat ${restarted.path}`, 'Verify')] };
    },
    (request) => {
      expect(lastTool(request)).toContain('run');
      return {
        toolCalls: [
          {
            name: 'complete_task',
            arguments: { outcome: 'success', summary: 'nginx runs again.' },
          },
        ],
      };
    },
  );
  const { roomId, sessionId } = await world.ask(
    ann,
    'check the disks and restart nginx if it is down',
  );
  const card = await world.waiting(ann, roomId);
  expect(card.body).toContain('Restart nginx');
  expect(card.body).toContain(`echo run >> ${restarted.path}`);
  expect(card.mentions).toEqual([ann.userId]);
  expect(restarted.runs()).toBe(0);

  await ann.react(roomId, card.eventId, '✅');
  const session = await world.done(sessionId);
  expect(session).toMatchObject({
    status: 'done',
    outcome: 'success',
    summary: 'nginx runs again.',
  });
  expect(restarted.runs()).toBe(1);

  const digest = await world.card(ann, roomId, ({ kind }) => kind === 'digest', 'the digest');
  expect(digest.body).toMatch(/4 completed/);
  const done = await world.card(
    ann,
    roomId,
    ({ card: key, body }) => key === card.card && body.includes('Done'),
    'the card says done',
  );
  const root = (await world.shown(ann, roomId)).find(({ kind }) => kind === 'turn');
  expect(root?.body).toContain('check the disks and restart nginx if it is down');
  expect(done).toMatchObject({ eventId: card.eventId, thread: root?.eventId });
  const approval = await world.database.read.approval.findFirstOrThrow({ where: { sessionId } });
  expect(approval).toMatchObject({
    decidedBy: ann.userId,
    decidedMeans: 'tap',
    status: 'approved',
  });
});

test('A2, A12, A14: a tap on ❌ denies; nothing runs, the agent is told and says so', async () => {
  const never = mark('never');
  world.model.lane(
    about('do the unwanted thing'),
    { toolCalls: [run(`echo run >> ${never.path}`, 'The unwanted thing')] },
    { text: 'I asked for it.' },
    (request) => {
      expect(request.messages.map(({ content }) => content).join('\n')).toMatch(/DENIED/);
      return { text: 'You denied it, so nothing was changed.' };
    },
  );
  const { roomId } = await world.ask(ann, 'do the unwanted thing');
  const card = await world.waiting(ann, roomId);
  await ann.react(roomId, card.eventId, '❌');
  const denied = await world.card(
    ann,
    roomId,
    ({ card: key, body }) => key === card.card && /denied/i.test(body),
    'the card says denied',
  );
  expect(denied.body).toContain('ann');
  await world.card(
    ann,
    roomId,
    ({ body }) => body.includes('nothing was changed'),
    'the agent says so',
  );
  expect(never.runs()).toBe(0);
});

test('A3, A5, A8, A10: what is destructive does not start by a tap, and does by “I confirm” typed as a reply', async () => {
  const victim = mark('victim');
  writeFileSync(victim.path, 'precious\n');
  world.model.lane(
    about('delete the victim'),
    { toolCalls: [run(`rm -rf ${victim.path}`, 'Delete the victim')] },
    { text: 'I asked for it.' },
    { text: 'It is deleted.' },
  );
  const { roomId, sessionId } = await world.ask(ann, 'delete the victim');
  const card = await world.waiting(ann, roomId);
  expect(card.body).toMatch(/destructive/i);
  await ann.react(roomId, card.eventId, '✅');
  const hint = await world.card(ann, roomId, ({ kind }) => kind === 'hint', 'what to type');
  expect(hint.body).toContain('I confirm');
  expect(existsSync(victim.path)).toBe(true);

  await ann.send(roomId, 'm.room.message', {
    msgtype: 'm.text',
    body: 'I confirm',
    'm.relates_to': { 'm.in_reply_to': { event_id: card.eventId } },
  });
  await world.card(ann, roomId, ({ body }) => body.includes('It is deleted.'), 'the agent goes on');
  expect(existsSync(victim.path)).toBe(false);
  const approval = await world.database.read.approval.findFirstOrThrow({ where: { sessionId } });
  expect(approval).toMatchObject({
    decidedMeans: 'confirmation',
    decidedWords: 'I confirm',
    risk: 'destructive',
  });
});

test('T4, A9, R14: two tasks side by side; the grant of one never covers the other', async () => {
  const one = mark('side-one');
  const two = mark('side-two');
  for (const [words, file] of [
    ['first of two', one],
    ['second of two', two],
  ] as const) {
    world.model.lane(
      about(words),
      { toolCalls: [{ name: 'set_goal', arguments: { goal: words } }] },
      { toolCalls: [run(`echo a >> ${file.path}`, `${words}, step a`)] },
      { text: 'Asked.' },
      { toolCalls: [run(`echo b >> ${file.path}`, `${words}, step b`)] },
      { text: 'Went on.' },
    );
  }
  const first = await world.ask(ann, 'first of two');
  const firstCard = await world.waiting(ann, first.roomId);
  await ann.react(first.roomId, firstCard.eventId, '👍🏽');
  // Inside the first task's grant the second step runs without asking.
  await world.card(ann, first.roomId, ({ body }) => body.includes('Went on.'), 'the first goes on');
  expect(one.runs()).toBe(2);

  const second = await world.ask(ann, 'second of two');
  const secondCard = await world.waiting(ann, second.roomId);
  expect(two.runs()).toBe(0);
  await ann.react(second.roomId, secondCard.eventId, '✔️');
  await world.card(
    ann,
    second.roomId,
    ({ body }) => body.includes('Went on.'),
    'the second goes on',
  );
  expect(two.runs()).toBe(2);
});

test('T15, A4: an operator whose client has no threads approves with a plain “go ahead” on the main timeline', async () => {
  const file = mark('no-threads');
  world.model.lane(
    about('from a client without threads'),
    { toolCalls: [run(`echo run >> ${file.path}`, 'A change')] },
    { text: 'Asked.' },
    { text: 'All is well.' },
  );
  const { roomId } = await world.ask(ann, 'from a client without threads');
  await world.waiting(ann, roomId);
  await ann.say(roomId, 'go ahead');
  await world.card(ann, roomId, ({ body }) => body.includes('All is well.'), 'it goes on');
  expect(file.runs()).toBe(1);
  const turns = await world.database.read.turn.count({ where: { session: { roomId } } });
  expect(turns).toBe(1);
});

test('T12, A2, Z1: a stranger in the room changes nothing by ✅, by words or by a message, and it is audited', async () => {
  const file = mark('stranger');
  const mallory = await world.person('mallory');
  world.model.lane(
    about('with a stranger near'),
    { toolCalls: [run(`echo run >> ${file.path}`, 'A change')] },
    { text: 'Asked.' },
    { text: 'Done by the operator.' },
  );
  const { roomId } = await world.ask(ann, 'with a stranger near');
  const card = await world.waiting(ann, roomId);
  await ann.request('POST', `/rooms/${encodeURIComponent(roomId)}/invite`, {
    user_id: mallory.userId,
  });
  await mallory.until(
    () => mallory.client.getRoom(roomId)?.getMyMembership() === 'join' || undefined,
    'the stranger is in the room',
  );
  await mallory.react(roomId, card.eventId, '✅');
  await mallory.say(roomId, 'go ahead');
  await mallory.say(roomId, 'delete everything');
  const audited = async (): Promise<true | undefined> => {
    const entries = await world.database.read.auditEntry.count({
      where: { actor: mallory.userId },
    });
    return entries >= 3 ? true : undefined;
  };
  await world.until('the stranger is audited', audited);
  expect(file.runs()).toBe(0);
  expect(await world.database.read.message.count({ where: { sender: mallory.userId } })).toBe(0);

  await ann.react(roomId, card.eventId, '✅');
  await world.card(
    ann,
    roomId,
    ({ body }) => body.includes('Done by the operator.'),
    'the operator decides',
  );
  expect(file.runs()).toBe(1);
});
