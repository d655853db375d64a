import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHandler } from '../../bot/handlers/index.ts';
import { cardKey } from '../../bot/projector/keys.ts';
import { Projector } from '../../bot/projector/projector.ts';
import { asId, newId, type SessionId, type TurnId, type UserId } from '../../core/ids.ts';
import { upsertKnowledge } from '../../core/knowledge/upsert.ts';
import { completeTask } from '../../core/tasks/complete.ts';
import { openTask } from '../../core/tasks/open.ts';
import { NO_RULES } from '../../core/policy/rules-file.ts';
import { setRules } from '../../core/policy/rule-store.ts';
import { ANN, BotWorld, EVE, LOBBY } from '../support/bot-world.ts';
import { allowedTags } from '../../bot/cards/test-html.ts';

let world: BotWorld;

beforeAll(async () => {
  world = await BotWorld.open();
  world.projector = new Projector({
    database: world.database,
    feed: world.feed,
    operators: world.operators,
    timeZone: 'UTC',
    streaming: false,
  });
  world.handler = createHandler({
    operators: world.operators,
    languages: ['en'],
    botUserId: asId<UserId>('@nomos:example.org'),
    botName: 'Nomos',
    timeZone: 'UTC',
  });
});
afterAll(async () => world.close());

async function task(): Promise<{ sessionId: SessionId; turnId: TurnId }> {
  return world.write((unit) =>
    openTask(unit, { by: ANN, text: 'do it', origin: { kind: 'lobby' } }),
  );
}

async function said(body: string, options: Parameters<BotWorld['say']>[2] = {}): Promise<string> {
  await world.say(LOBBY, body, options);
  const { body: text, html } = world.lastAnswer();
  expect(allowedTags(html)).toEqual([]);
  return text;
}

describe('C12, K7: !knowledge', () => {
  it('says what to do while nothing is written down', async () => {
    expect(await said('!knowledge')).toBe(
      'Nothing is written down yet.\nTasks write down what they find out.',
    );
    expect(await said('!knowledge disks')).toMatch(/^Nothing is written down about “disks”/);
  });

  it('finds notes in the lobby, in a task’s room and as a reply in a thread, and shows one whole', async () => {
    const { sessionId, turnId } = await task();
    await world.write(async (unit) => {
      const write = (title: string, content: string) =>
        upsertKnowledge(unit, {
          sessionId,
          by: 'agent',
          title,
          kind: 'investigation',
          content,
          about: ['host:web-1'],
          tags: ['tls'],
        });
      await write(
        'nginx <b>fails</b> after an upgrade',
        'The **old** module `x` is still named.\n\n- take it out',
      );
      await write('Backups', 'They run at night.');
    });
    await world.settle();
    const { shortId, roomId } = await world.database.read.session.findUniqueOrThrow({
      where: { id: sessionId },
    });
    expect(await said('!knowledge module upgraded')).toMatch(
      new RegExp(
        `^1 note\n🔎 nginx <b>fails</b> after an upgrade\nThe old module x is still named\\..*\n.*task ${shortId}, not ended yet`,
      ),
    );
    expect(await said('!knowledge')).toMatch(/^2 notes, the newest first\n🔎/);
    const room = asId<typeof LOBBY>(roomId ?? '');
    const root = world.card(cardKey.turn(turnId)).eventId;
    await world.say(room, '!knowledge BACKUPS', { thread: root });
    const answer = world.lastAnswer();
    expect(answer).toMatchObject({ roomId: room, thread: root, msgtype: 'm.notice', mentions: [] });
    expect(answer.body).toMatch(/^🔎 Backups\nAbout host:web-1\nTags: tls\nThey run at night\./);
    await world.write((unit) =>
      completeTask(unit, { sessionId, outcome: 'partial', summary: 'x', by: 'agent' }),
    );
    expect(await said('!knowledge night')).toContain(`task ${shortId}, partial`);
  });
});

describe('C12, K10: !runbooks', () => {
  it('lists them, shows one, and says what is allowed', async () => {
    expect(await said('!runbooks')).toMatch(/^7 runbooks\n• back-up-container Back up container/);
    const shown = await said('!runbooks Free disk space');
    expect(shown).toMatch(/^📘 Free disk space/);
    expect(shown).toContain('• path The file system that is full. (absolute path; otherwise /)');
    expect(shown).toContain(
      '3. Shrink the journal to ‹journal mib› MiB · on ‹target›\njournalctl --vacuum-size={{journal_mib}}M',
    );
    expect(await said('!runbooks nothing')).toMatch(
      /^There is no runbook "nothing"\.\nThere are: back-up-container, /,
    );
    expect(await said('!runbooks approve free-disk-space')).toMatch(
      /^No runbook “free-disk-space” is offered/,
    );
    expect(await said('!help runbooks')).toMatch(/^!runbooks \[what\]/);
    expect(await said('!help')).toContain('!knowledge [words]');
  });
});

describe('K11: a runbook that was learned', () => {
  const COMMANDS = ['systemctl stop cache', "rm -f '/var/lib/cache/<i>' && systemctl start cache"];

  /** A task that ran these changes to their end and succeeded. */
  async function succeed(
    commands: readonly string[],
    target = 'host:web-1',
    shown = true,
  ): Promise<void> {
    const { sessionId } = await task();
    const entity = await world.database.read.entity.findUniqueOrThrow({ where: { slug: target } });
    for (const [at, command] of commands.entries()) {
      await world.database.read.execution.create({
        data: {
          id: newId(),
          shortId: `x${at}`,
          sessionId,
          entityId: entity.id,
          targetSlug: target,
          target: {},
          command,
          commandHash: String(at),
          purpose: `Step ${at + 1} of @room <i>`,
          risk: 'config_mutation',
          reasons: [],
          blast: {},
          timeoutMs: 1,
          status: 'completed',
          startedAt: new Date(Date.now() + at),
        },
      });
    }
    await world.write((unit) =>
      completeTask(unit, { sessionId, outcome: 'success', summary: 'x', by: 'agent' }),
    );
    if (shown) await world.settle();
  }
  const offers = () =>
    world.database.read.runbook.findMany({
      where: { origin: 'learned' },
      orderBy: { createdAt: 'asc' },
    });

  it('is a card in the lobby with all of its commands; a viewer’s tap counts for nothing, an approver’s once', async () => {
    await succeed(COMMANDS);
    await succeed(COMMANDS, 'host:nas-1');
    expect(await offers()).toEqual([]);
    await succeed(COMMANDS);
    const [row] = await offers();
    const card = world.card(cardKey.runbook(row?.id ?? ''));
    expect(card).toMatchObject({
      roomId: LOBBY,
      mentions: [],
      msgtype: 'm.notice',
      reactions: ['✅', '❌'],
    });
    expect(card.body).toMatch(/^📘 Keep this as a runbook\?/);
    for (const command of COMMANDS) expect(card.body).toContain(command);
    expect(allowedTags(card.html)).toEqual([]);

    await world.tap(LOBBY, card.eventId, '✅', EVE);
    expect((await offers())[0]?.status).toBe('offered');
    expect(world.lastAnswer().body).toMatch(/viewer/);
    await world.tap(LOBBY, card.eventId, '✅');
    expect((await offers())[0]).toMatchObject({ status: 'active', decidedBy: ANN });
    expect(world.card(cardKey.runbook(row?.id ?? '')).body).toMatch(/\nKept by ann, /);
    await world.tap(LOBBY, card.eventId, '❌');
    expect(world.lastAnswer().body).toMatch(/^Already kept by ann/);
    expect((await offers())[0]?.status).toBe('active');
  });

  it('A20: where decisions are strict, a tap in an encrypted lobby keeps nothing, and neither do words in clear', async () => {
    const commands = ['touch /srv/strict-a', 'touch /srv/strict-b'];
    for (let round = 0; round < 3; round++) await succeed(commands, 'host:web-1', round === 2);
    const row = (await offers()).at(-1);
    setRules({ ...NO_RULES, decisions: 'strict' });
    await world.database.read.matrixRoom.update({
      where: { roomId: LOBBY },
      data: { encrypted: true },
    });
    try {
      await world.tap(LOBBY, world.card(cardKey.runbook(row?.id ?? '')).eventId, '✅');
      expect(world.lastAnswer().body).toContain(`Write: !runbooks approve ${row?.slug}`);
      expect(await said(`!runbooks approve ${row?.slug}`)).toMatch(/not encrypted/);
      expect((await offers()).at(-1)?.status).toBe('offered');
      const sealed = { late: false, crossSigned: true, relation: true, identityChanged: false };
      expect(await said(`!runbooks approve ${row?.slug}`, { sealed })).toMatch(/^📘 Kept/);
    } finally {
      setRules(NO_RULES);
      await world.database.read.matrixRoom.update({
        where: { roomId: LOBBY },
        data: { encrypted: false },
      });
    }
  });

  it('can be dropped by command, and is not offered again', async () => {
    const commands = ['touch /srv/a', 'touch /srv/b'];
    for (let round = 0; round < 3; round++) await succeed(commands, 'host:web-1', round === 2);
    const row = (await offers()).at(-1);
    expect(await said('!runbooks')).toContain(`1 offered, waiting for your word\n• ${row?.slug}`);
    expect(await said(`!runbooks deny ${row?.slug}`, { by: EVE })).toMatch(/viewer/);
    expect(await said(`!runbooks deny ${row?.slug}`)).toBe(`🚫 Dropped: ${row?.slug}`);
    await succeed(commands);
    expect((await offers()).map(({ status }) => status)).toEqual(['active', 'active', 'refused']);
  });

  it.each([
    ['one change alone', ['touch /srv/alone']],
    [
      'a secret',
      [
        'touch /srv/x',
        'mysql -pGeheim12345 -e "select 1"; export API_TOKEN=abcdef0123456789abcdef',
      ],
    ],
    ['hidden characters', ['touch /srv/x', 'touch /srv/\u200by']],
    ['a placeholder of its own', ['touch /srv/x', 'touch /srv/{{name}}']],
    ['too much for a card', ['touch /srv/x', `echo '${'&'.repeat(2_000)}' > /srv/x`]],
  ])('is not made of %s', async (_what, commands) => {
    const before = (await offers()).length;
    for (let round = 0; round < 3; round++) await succeed(commands, 'host:web-1', false);
    expect(await offers()).toHaveLength(before);
  });
});
