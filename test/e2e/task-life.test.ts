import path from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Person } from '../support/matrix.ts';
import { NomosWorld } from '../support/nomos-world.ts';
import { about, call, joined, lastTool, linesIn } from '../support/replies.ts';

// What a task looks like to two operators with clients of their own, from its plan to its review.
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
afterEach(() => world.model.verify());

const plan = (...steps: string[]) => call('propose_plan', { ask_approval: false, steps });
const named = async (person: Person, roomId: string, name: string): Promise<void> => {
  await person.until(
    () => person.client.getRoom(roomId)?.name === name || undefined,
    `the room is called ${name}`,
  );
};

test('T6, T7, T10, C1, C5, C6, C10, K1, K2, K3, K4, K5, K12: a plan, a better plan, a question that another operator answers, an end that is told, and its review', async () => {
  const words = 'find out which proxy is meant';
  world.model.lane(
    about(words),
    call('set_goal', { goal: 'The proxy is known' }),
    plan('Look at the listeners', 'Tell which it is'),
    (request) => {
      expect(lastTool(request)).toContain('names neither update_entity_attributes');
      return call('update_plan_step', { step: 2, status: 'done' });
    },
    (request) => {
      expect(lastTool(request)).toMatch(/step 1\b/i);
      return call('update_plan_step', { step: 1, status: 'done' });
    },
    plan('Ask the operator', 'Write it down'),
    (request) => {
      expect(lastTool(request)).toMatch(/"step":3.*"step":4/s);
      return call('ask_operator', {
        prompt: 'Which proxy do you mean?',
        why: 'Two of them listen.',
        options: ['nginx', 'caddy'],
        entities: ['host:web-1'],
      });
    },
    (request) => {
      expect(request.messages.map(({ content }) => content).join('\n')).toContain('caddy');
      return call('complete_task', { outcome: 'quite good', summary: 'It is caddy.' });
    },
  );
  const { roomId, sessionId } = await world.ask(ann, words);
  await joined(bob, roomId);
  const question = await world.card(
    ann,
    roomId,
    ({ kind, body }) => kind === 'question' && body.includes('Tap a number'),
    'the question',
  );
  expect(question.body).toContain('1️⃣ nginx\n2️⃣ caddy');
  expect(question.mentions).toEqual([ann.userId]);
  await named(bob, roomId, '❗ The proxy is known');
  const session = await world.database.read.session.findUniqueOrThrow({ where: { id: sessionId } });
  expect(session.status).toBe('awaiting_input');
  const pinned = (await ann.request('GET', `/rooms/${roomId}/state/m.room.pinned_events/`))[
    'pinned'
  ] as string[];
  const panel = await world.card(
    bob,
    roomId,
    ({ eventId, html }) =>
      pinned.includes(eventId) && html.includes(encodeURIComponent(question.eventId)),
    'the pinned card links to the question',
  );
  expect(panel.body).toContain('plan 1, replaced, 2 steps, 1 done');
  expect(panel.body).toContain('Plan 0/2 done');
  expect(panel.body).toContain('Waits for your answer:\n• ❔ Which proxy do you mean?');

  await bob.react(roomId, question.eventId, '2️⃣');
  expect(await world.done(sessionId)).toMatchObject({ status: 'done', outcome: 'partial' });
  const answered = await world.card(
    ann,
    roomId,
    ({ eventId, body }) => eventId === question.eventId && body.includes('answered'),
    'the card shows the answer',
  );
  expect(answered.body).toMatch(/bob\S* answered: caddy/);
  const digest = await world.card(ann, roomId, ({ kind }) => kind === 'digest', 'the digest');
  expect(digest.body).toContain('It is caddy.');
  expect(digest.body).toMatch(/written back|wrote (nothing )?back/i);
  expect(digest.mentions).toEqual([ann.userId]);
  await named(bob, roomId, '☑️ The proxy is known');

  await bob.say(roomId, '!review');
  const review = await world.card(
    bob,
    roomId,
    ({ body }) => body.includes('update_plan_step'),
    'the review',
  );
  expect(review.body).toContain('propose_plan');
  // Only what needs a person calls one: the question, and the end.
  const calling = (await world.shown(ann, roomId)).filter(({ mentions }) => mentions.length > 0);
  expect(calling.map(({ kind }) => kind)).toEqual(['question', 'digest']);
});

test('X13, C2, C3, A2: one card for several hosts, one tap of another operator, one table back', async () => {
  const file = path.join(world.sshd.home, 'both');
  world.model.lane(
    about('mark both hosts'),
    call('run', {
      target: ['host:web-1', 'host:web-2'],
      command: `echo run >> ${file}`,
      purpose: 'Mark both',
      canary: true,
    }),
    { text: 'I asked for both.' },
    (request) => {
      const told = request.messages.map(({ content }) => content).join('\n');
      expect(told).toMatch(/host:web-1.*completed/s);
      expect(told).toMatch(/host:web-2.*completed/s);
      return { text: 'Both are marked.' };
    },
  );
  const { roomId, sessionId } = await world.ask(ann, 'mark both hosts');
  await joined(bob, roomId);
  const card = await world.card(
    bob,
    roomId,
    ({ body }) => body.includes('Approve?') && body.includes('Mark both'),
    'the card',
  );
  expect(card.body).toContain('host:web-1');
  expect(card.body).toContain('host:web-2');
  expect(card.mentions).toEqual([ann.userId]);
  await bob.react(roomId, card.eventId, '✅');
  await world.done(sessionId);
  expect(linesIn(file)).toBe(2);
  const done = await world.card(
    ann,
    roomId,
    ({ eventId, body }) => eventId === card.eventId && body.includes('Done'),
    'the card says done',
  );
  expect(done.body).toMatch(/Approved by bob\S* with a tap/);
  const progress = await world.card(
    ann,
    roomId,
    ({ kind, body }) => kind === 'progress' && body.includes('1 call'),
    'the progress of the pass',
  );
  expect(progress.body).not.toMatch(/[{}]/);
});

test('T8, T9, T11, C13: a plain answer appears while it is being written, names the task and ends it; a message in its room opens it again', async () => {
  const answer = `web-1 has been up for forty days. ${'It needs nothing. '.repeat(12)}That is all.`;
  const seen = Promise.withResolvers<void>();
  world.model.lane(
    about('is web-1 well'),
    { text: answer, lastPieceAfter: seen.promise },
    { text: 'web-2 is well, too.' },
  );
  const { roomId, sessionId } = await world.ask(ann, 'is web-1 well');
  const growing = await world.card(ann, roomId, ({ kind }) => kind === 'answer', 'it appears');
  expect(growing.body).not.toContain('That is all.');
  seen.resolve();
  expect(await world.done(sessionId)).toMatchObject({ outcome: 'success', goal: null });
  const whole = await world.card(
    ann,
    roomId,
    ({ kind, body }) => kind === 'answer' && body.includes('That is all.'),
    'the answer is whole',
  );
  expect(whole.eventId).toBe(growing.eventId);
  await named(ann, roomId, '✅ web-1 has been up for forty days');
  const again = await ann.say(roomId, 'and is web-2 well');
  const more = await world.card(
    ann,
    roomId,
    ({ body }) => body === 'web-2 is well, too.',
    'it goes on',
  );
  expect(more.thread).toBe(again);
  await world.until('it ended again', async () => {
    const ends = (await world.shown(ann, roomId)).filter(({ kind }) => kind === 'digest');
    return ends.length === 2 ? true : undefined;
  });
});

test('T14: what was set for later in the lobby opens a task of its own at its time', async () => {
  world.model.lane(about('look at the logs later'), { text: 'The logs are quiet.' });
  const lobby = await world.lobby(ann);
  await ann.say(lobby, '!schedule in 3h look at the logs later');
  const row = await world.until(
    'it is set',
    async () => (await world.database.read.schedule.findFirst()) ?? undefined,
  );
  await world.database.read
    .$executeRaw`UPDATE schedules SET next_at = clock_timestamp() WHERE id = ${row.id}::uuid`;
  const roomId = await ann.room(/^✅ The logs are quiet/);
  const digest = await world.card(ann, roomId, ({ kind }) => kind === 'digest', 'the digest');
  expect(digest.body).toContain('The logs are quiet.');
  expect(await world.database.read.schedule.count()).toBe(0);
});

test('C9: ▶️ on the pinned card goes on with a task that nothing happens in any more, once', async () => {
  world.model.lane(
    about('wait with the marker'),
    call('set_goal', { goal: 'The marker waits' }),
    call('ask_operator', { prompt: 'Which marker?', options: ['a', 'b'] }),
    call('complete_task', { outcome: 'failure', summary: 'Nobody said which marker.' }),
  );
  const { roomId, sessionId } = await world.ask(ann, 'wait with the marker');
  await world.card(ann, roomId, ({ kind }) => kind === 'question', 'the question');
  await world.database.read
    .$executeRaw`UPDATE sessions SET last_agent_at = clock_timestamp() - interval '31 seconds' WHERE id = ${sessionId}::uuid`;
  const panel = await world.card(
    ann,
    roomId,
    ({ body }) => body.includes('goes on without your answer'),
    'the pinned card offers ▶️',
  );
  await Promise.all([
    ann.react(roomId, panel.eventId, '▶️'),
    bob.say(await world.lobby(bob), `!continue ${panelId(panel.body)}`),
  ]);
  expect(await world.done(sessionId)).toMatchObject({ status: 'failed', outcome: 'failure' });
  const resumed = await world.database.read.pass.count({ where: { sessionId, cause: 'resume' } });
  expect(resumed).toBe(1);
});

test('L9, C7: a task whose tokens are used up stops with a card that calls, and goes on when there are more', async () => {
  world.model.lane(
    about('count the beans'),
    call('set_goal', { goal: 'The beans are counted' }),
    call('complete_task', { outcome: 'success', summary: 'Three beans.' }),
  );
  await world.end();
  await world.start({ NOMOS_TASK_TOKENS: '105' });
  const { roomId, sessionId } = await world.ask(ann, 'count the beans');
  const error = await world.card(ann, roomId, ({ kind }) => kind === 'error', 'the error card');
  expect(error.body).toMatch(/tokens/);
  expect(error.mentions).toEqual([ann.userId]);
  await world.end();
  await world.start();
  await ann.react(roomId, error.eventId, '🔁');
  expect(await world.done(sessionId)).toMatchObject({ outcome: 'success' });
});

test('C12, T3: commands answer where they are written: in the lobby, in a task’s room, and in a thread; unknown ones get a hint', async () => {
  world.model.lane(about('take commands'), call('set_goal', { goal: 'Commands' }), {
    text: 'Ready.',
  });
  const { roomId } = await world.ask(ann, 'take commands');
  const answer = await world.card(ann, roomId, ({ body }) => body === 'Ready.', 'the answer');
  const lobby = await world.lobby(bob);
  await joined(bob, roomId);
  await bob.say(lobby, '!tsaks');
  await world.card(bob, lobby, ({ body }) => body.includes('Did you mean !tasks?'), 'the hint');
  await bob.say(lobby, '!tasks');
  await world.card(bob, lobby, ({ body }) => /Commands/.test(body), 'the open tasks');
  await ann.say(roomId, '!status');
  await world.card(
    ann,
    roomId,
    ({ kind, body }) => kind === 'message' && /^Commands/.test(body),
    'the status',
  );
  await bob.say(roomId, '!whoami', answer.thread);
  const who = await world.card(bob, roomId, ({ body }) => body.includes('approver'), 'who bob is');
  expect(who.thread).toBe(answer.thread);
  const turns = await world.database.read.turn.count({ where: { session: { roomId } } });
  expect(turns).toBe(1);
});

test('C15, C11, Z2: what a command prints and the model says arrives escaped, made visible, within 64 KiB, and whole as a file', async () => {
  const nasty = '<img src=x onerror=alert(1)> \u202etxt.exe\u202c @room ';
  world.model.lane(
    about('say something nasty'),
    call('set_goal', { goal: 'Nasty' }),
    call('run', {
      target: 'host:web-1',
      command: `printf '%s\\n' '<b>not bold</b> \u202eevil'; seq 1 4000; sleep 0.1; false`,
      purpose: 'Print <i>much</i>',
    }),
    call('complete_task', { outcome: 'success', summary: nasty }),
    { text: nasty.repeat(2_000) },
  );
  const { roomId, sessionId } = await world.ask(ann, 'say something nasty');
  await world.done(sessionId);
  const digest = await world.card(ann, roomId, ({ kind }) => kind === 'digest', 'the digest');
  expect(digest.body).toContain('‹U+202E›');
  expect(digest.html).toContain('&lt;img src=x');
  await ann.say(roomId, 'say it at length');
  // The answer itself, if it left whole; else a message of its own, since the end of a streamed one is an edit.
  const calling = await world.card(
    ann,
    roomId,
    ({ kind, body, mentions }) =>
      /^(answer|call)$/.test(kind) && body.includes('‹U+202E›') && mentions.length > 0,
    'the message that calls',
  );
  await ann.event(roomId, ({ content }) => content['body'] === 'answer.md');
  const events = await ann.history(roomId);
  for (const event of events) {
    expect(Buffer.byteLength(JSON.stringify(event))).toBeLessThan(65_536);
    const html = event.content['formatted_body'] as string | undefined;
    expect(html ?? '').not.toMatch(/<img|\u202e/);
  }
  // Who must go on is called; what was said calls nobody.
  expect(calling.mentions).toEqual([ann.userId]);
  expect(JSON.stringify(events)).not.toContain('"room":true');
});

test('C17: all that was said in this file’s rooms shows on the smallest client, and no pinned card’s first line can become a lie', async () => {
  const allowed = /^(a|b|strong|i|em|u|del|code|ul|ol|li|pre|blockquote|p|br)$/;
  const used = new Set<string>();
  const heads = new Map<string, Set<string>>();
  for (const room of ann.client.getRooms()) {
    for (const event of await ann.history(room.roomId)) {
      if (event.type !== 'm.room.message' || event.sender !== world.bot.userId) continue;
      const shown = (event.content['m.new_content'] ?? event.content) as Record<string, unknown>;
      const html = shown['formatted_body'] as string | undefined;
      for (const [, tag = ''] of (html ?? '').matchAll(/<\/?([a-z][a-z0-9-]*)/gi)) used.add(tag);
      const tags = event.content['org.nomos'] as { kind?: string; card?: string } | undefined;
      if (tags?.kind !== 'task') continue;
      const lines = heads.get(tags.card ?? '') ?? new Set();
      lines.add(String(shown['body']).split('\n')[0] ?? '');
      heads.set(tags.card ?? '', lines);
    }
  }
  expect([...used].filter((tag) => !allowed.test(tag))).toEqual([]);
  expect(used.size).toBeGreaterThan(4);
  expect(heads.size).toBeGreaterThan(4);
  // A title that comes later than the card is the only change of a first line.
  for (const lines of heads.values()) {
    const named = [...lines].filter((line) => !/^Task \w+$/.test(line));
    expect(named.length).toBeLessThanOrEqual(1);
    for (const line of lines) expect(line).not.toMatch(/[⏳❗✅☑️❌]/u);
  }
});

/** The short id that a task’s pinned card ends with. */
function panelId(body: string): string {
  return /Task (\w+)/.exec(body)?.[1] ?? '';
}
