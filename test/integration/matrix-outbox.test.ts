import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type CardIdentity,
  PRIORITY,
  putCard,
  react,
  redact,
  sendMessage,
  setRoomName,
  uploadFile,
} from '../../bot/outbox/enqueue.ts';
import { markSent } from '../../bot/outbox/mark.ts';
import type { MessageContent } from '../../bot/outbox/relations.ts';
import { type MatrixEventId, type RoomId, asId } from '../../core/ids.ts';
import { openTask } from '../../core/tasks/open.ts';
import { HomeserverProxy } from '../support/matrix-proxy.ts';
import type { RawEvent } from '../support/matrix.ts';
import { type Stage, openStage, runUntilKilled } from '../support/test-bot.ts';

let stage: Stage;
let lobby: RoomId;
let proxy: HomeserverProxy | undefined;

beforeEach(async () => {
  stage = await openStage();
  const first = stage.start();
  await first.ready;
  lobby = asId<RoomId>(await stage.operator.room('Nomos lobby'));
  await first.stop();
});
afterEach(async () => {
  await stage.close();
  await proxy?.close();
  proxy = undefined;
});

const text = (body: string, more: Partial<MessageContent> = {}): MessageContent => ({
  msgtype: 'm.notice',
  body,
  mentions: [],
  ...more,
});
const card = (key: string): CardIdentity => ({ key, kind: 'test', refId: key });
const say = (body: string, priority?: number): Promise<string> =>
  stage.write((unit) => sendMessage(unit, { to: { room: lobby }, message: text(body), priority }));
const show = (key: string, body: string, priority?: number): Promise<string> =>
  stage.write((unit) =>
    putCard(unit, { to: { room: lobby }, card: card(key), message: text(body), priority }),
  );
const said = (): Promise<string[]> => stage.operator.bodies(lobby, stage.bot.userId);

async function startBehindProxy(): Promise<HomeserverProxy> {
  proxy = await HomeserverProxy.open(stage.homeserverUrl);
  stage.start({ homeserverUrl: proxy.url });
  return proxy;
}
const isPut = (request: { method: string; path: string }): boolean =>
  request.method === 'PUT' && request.path.includes('/send/');
const outboxEmpty = (): Promise<void> =>
  stage.eventually(
    'the outbox is empty',
    async () =>
      (await stage.database.read.matrixOutbox.count({ where: { state: 'pending' } })) === 0,
  );
async function edits(): Promise<RawEvent[]> {
  return (await stage.operator.history(lobby)).filter((event) => 'm.new_content' in event.content);
}

describe('what the bot says', () => {
  test.each(['outbox.before_put', 'outbox.after_put', 'outbox.before_mark'])(
    'R5: is said exactly once when the bot is killed at %s',
    async (point) => {
      await say('one');
      await runUntilKilled(stage, point);
      await say('two');
      stage.start();
      await stage.operator.message(lobby, 'two');
      expect(await said()).toEqual(['one', 'two']);
    },
  );

  test('R5: is not sent again when it arrives just as its card is drawn anew', async () => {
    await show('card', 'first');
    const [row] = await stage.database.read.matrixOutbox.findMany({ where: { cardKey: 'card' } });
    const outcome = await stage.write(async (unit) => {
      // The sender marks the message once the card was read, and before anything else is looked at.
      const late: typeof unit.db = new Proxy(unit.db, {
        get: (db, name) =>
          name !== 'matrixOutbox'
            ? Reflect.get(db, name)
            : new Proxy(db.matrixOutbox, {
                get: (rows, method) => {
                  if (method === 'count')
                    return async (args: Parameters<typeof rows.count>[0]) => {
                      await stage.write((other) =>
                        markSent(other, row?.txnId ?? '', asId<MatrixEventId>('$arrived')),
                      );
                      return rows.count(args);
                    };
                  return Reflect.get(rows, method);
                },
              }),
      });
      return putCard(Object.create(unit, { db: { value: late } }) as typeof unit, {
        to: { room: lobby },
        card: card('card'),
        message: text('second'),
      });
    });
    expect(outcome).toBe('edited');
  });

  test('R5: is said in order per room, and once, over a line that loses answers', async () => {
    const line = await startBehindProxy();
    let count = 0;
    line.rule = (request) => {
      if (!isPut(request)) return 'pass';
      count++;
      return count % 3 === 0 ? 'lose answer' : count % 3 === 1 ? 'cut' : 'pass';
    };
    const all = Array.from({ length: 12 }, (_, index) => `message ${index}`);
    for (const body of all) await say(body);
    await stage.operator.message(lobby, 'message 11');
    expect(await said()).toEqual(all);
  });

  test('R5: is found in its room when the homeserver may have forgotten the transaction', async () => {
    await say('before');
    await say('long ago');
    await runUntilKilled(stage, 'outbox.after_put#2');
    const [row] = await stage.database.read.matrixOutbox.findMany({ where: { state: 'pending' } });
    // As if it had been tried long ago, and the homeserver had forgotten: no bot sends this id again.
    await stage.write(
      ({
        db,
      }) => db.$executeRaw`UPDATE matrix_outbox SET first_tried_at = now() - interval '31 minutes',
        sent_at = sent_at - interval '31 minutes'`,
    );
    const line = await startBehindProxy();
    await stage.eventually('the row is marked', async () => {
      const now = await stage.database.read.matrixOutbox.findUnique({
        where: { id: row?.id ?? 0n },
      });
      return now?.state === 'sent' && now.eventId !== null;
    });
    expect(line.seen.filter(isPut)).toEqual([]);
    expect(await said()).toEqual(['before', 'long ago']);
  });

  test('R5: goes out when it was tried long ago and is not in its room', async () => {
    await say('before');
    await say('never arrived');
    await runUntilKilled(stage, 'outbox.before_put#2');
    await stage.write(
      ({
        db,
      }) => db.$executeRaw`UPDATE matrix_outbox SET first_tried_at = now() - interval '31 minutes',
        sent_at = sent_at - interval '31 minutes'`,
    );
    stage.start();
    await stage.operator.message(lobby, 'never arrived');
    expect(await said()).toEqual(['before', 'never arrived']);
  });

  test('R12: what the homeserver refuses is given up, and what follows goes out', async () => {
    const line = await startBehindProxy();
    line.rule = (request) =>
      isPut(request) && request.body.includes('refused')
        ? { status: 403, body: { errcode: 'M_FORBIDDEN', error: 'No.' } }
        : 'pass';
    await say('refused');
    await say('accepted');
    await stage.operator.message(lobby, 'accepted');
    const row = await stage.database.read.matrixOutbox.findFirst({ where: { state: 'failed' } });
    expect(row?.error).toBe('M_FORBIDDEN: No.');
    const audit = await stage.database.read.auditEntry.findFirst({
      where: { action: 'outbox.failed' },
    });
    expect(audit?.subject).toBe(row?.txnId);
  });

  test('R12, C7: what cannot be said in a task’s room is told in the lobby, once', async () => {
    const { sessionId } = await stage.write((unit) =>
      openTask(unit, { by: stage.operator.userId, text: 'look', origin: { kind: 'api' } }),
    );
    const room = asId<RoomId>('!elsewhere:test');
    await stage.database.read.session.update({
      where: { id: sessionId },
      data: { roomId: room, title: 'Disks' },
    });
    for (const body of ['one', 'two']) {
      await stage.write((unit) =>
        sendMessage(unit, { to: { session: sessionId }, message: text(body) }),
      );
    }
    // The bot is in no such room: the homeserver refuses both.
    stage.start();
    await outboxEmpty();
    const errors = await stage.database.read.event.findMany({ where: { type: 'error.raised' } });
    expect(errors.map(({ data }) => data)).toEqual([
      expect.objectContaining({ code: 'not_said', message: expect.stringContaining('(Disks)') }),
    ]);
    expect(errors[0]?.sessionId).toBeNull();
  });

  test('R10: a limit holds everything up for its time, then what a person needs goes first', async () => {
    const line = await startBehindProxy();
    let limitedAt: number | undefined;
    line.rule = (request) => {
      if (!isPut(request) || limitedAt !== undefined) return 'pass';
      limitedAt = performance.now();
      return {
        status: 429,
        body: { errcode: 'M_LIMIT_EXCEEDED', error: 'Too many.', retry_after_ms: 1_200 },
      };
    };
    const direct = asId<RoomId>(
      await stage.operator.createRoom({
        preset: 'trusted_private_chat',
        is_direct: true,
        invite: [stage.bot.userId],
      }),
    );
    await stage.eventually('the bot is in the direct chat', async () => {
      const room = await stage.database.read.matrixRoom.findUnique({ where: { roomId: direct } });
      return room?.kind === 'direct';
    });
    await say('progress 1', PRIORITY.progress);
    await say('progress 2', PRIORITY.progress);
    await stage.eventually('the homeserver limits the bot, which knows it', async () => {
      const tried = { state: 'pending', firstTriedAt: { not: null } } as const;
      const inHand = await stage.database.read.matrixOutbox.count({ where: tried });
      return limitedAt !== undefined && inHand === 0;
    });
    await stage.write((unit) =>
      sendMessage(unit, { to: { room: direct }, message: text('an answer') }),
    );
    await stage.operator.message(lobby, 'progress 2');
    const puts = line.seen.filter(isPut);
    const [first, ...later] = puts.map((request) => JSON.parse(request.body) as { body: string });
    expect(first?.body).toBe('progress 1');
    expect(later.map(({ body }) => body)).toEqual(['an answer', 'progress 1', 'progress 2']);
    expect((puts[1]?.atMs ?? 0) - (puts[0]?.atMs ?? 0)).toBeGreaterThan(1_150);
  });

  test('C1: a card is sent, edited at once, then at most once in 2 s, and only to its newest form', async () => {
    const line = await startBehindProxy();
    await show('card', 'version 0');
    await stage.operator.message(lobby, 'version 0');
    for (let version = 1; version <= 15; version++) {
      await show('card', `version ${version}`);
      if (version === 1) {
        await stage.operator.message(lobby, ' * version 1');
      }
    }
    await stage.operator.message(lobby, ' * version 15');
    const bodies = (await edits()).map((event) => event.content['body']);
    expect(bodies).toEqual([' * version 1', ' * version 15']);
    const at = line.seen.filter((request) => request.body.includes('m.replace')).map((r) => r.atMs);
    expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThan(1_900);
    const original = await stage.operator.message(lobby, 'version 0');
    for (const edit of await edits()) {
      expect(edit.content['m.relates_to']).toEqual({
        rel_type: 'm.replace',
        event_id: original.event_id,
      });
    }
    expect(await stage.database.read.matrixOutbox.count({ where: { state: 'superseded' } })).toBe(
      13,
    );
  });

  test('C1: a card that did not change is not sent again', async () => {
    stage.start();
    expect(await show('card', 'same')).toBe('sent');
    await stage.operator.message(lobby, 'same');
    expect(await show('card', 'same')).toBe('unchanged');
    expect(await show('card', 'other')).toBe('edited');
    expect(await show('card', 'other')).toBe('unchanged');
  });

  test('C14: a card whose first message was refused is sent anew when it changes', async () => {
    const line = await startBehindProxy();
    line.rule = (request) =>
      request.body.includes('refused')
        ? { status: 403, body: { errcode: 'M_FORBIDDEN', error: 'No.' } }
        : 'pass';
    await show('card', 'refused');
    await outboxEmpty();
    expect(await show('card', 'better')).toBe('sent');
    await stage.operator.message(lobby, 'better');
  });

  test('T3: threads, replies, reactions and their withdrawal point where they should', async () => {
    stage.start();
    const root = await stage.operator.say(lobby, 'please');
    const rootEvent = asId<MatrixEventId>(root);
    const to = { room: lobby };
    await stage.write(async (unit) => {
      await putCard(unit, { to, card: card('c'), message: text('card'), thread: { rootEvent } });
      await react(unit, { to, target: { card: 'c' }, key: '✅' });
      await react(unit, { to, target: { card: 'c' }, key: '✅' });
      await react(unit, { to, target: { card: 'c' }, key: '❌' });
      await react(unit, { to, target: { event: rootEvent }, key: '👀' });
      await sendMessage(unit, {
        to,
        message: text('see above', { mentions: [stage.operator.userId] }),
        thread: { rootEvent },
        replyTo: { card: 'c' },
      });
      await redact(unit, { to, target: { card: 'c' }, reaction: '✅' });
      await setRoomName(unit, { to, name: '❗ Lobby' });
      await setRoomName(unit, { to, name: '⏳ Lobby' });
    });
    await stage.operator.room('⏳ Lobby');
    const names = await stage.database.read.matrixOutbox.count({
      where: { eventType: 'm.room.name' },
    });
    expect(names, 'one name for two in a moment').toBe(1);
    const sent = await stage.operator.message(lobby, 'card');
    expect(sent.content['m.relates_to']).toEqual({
      rel_type: 'm.thread',
      event_id: root,
      is_falling_back: true,
      'm.in_reply_to': { event_id: root },
    });
    expect(sent.content['org.nomos']).toMatchObject({ card: 'c', kind: 'test' });
    const reply = await stage.operator.message(lobby, 'see above');
    expect(reply.content['m.relates_to']).toMatchObject({
      is_falling_back: false,
      'm.in_reply_to': { event_id: sent.event_id },
    });
    expect(reply.content['m.mentions']).toEqual({ user_ids: [stage.operator.userId] });
    const history = await stage.operator.history(lobby);
    const reactions = history
      .filter((event) => event.type === 'm.reaction')
      .map(
        (event) => event.content['m.relates_to'] as { event_id: string; key: string } | undefined,
      );
    // The one that was taken back has no content any more.
    expect(reactions).toEqual([
      undefined,
      { rel_type: 'm.annotation', event_id: sent.event_id, key: '❌' },
      { rel_type: 'm.annotation', event_id: root, key: '👀' },
    ]);
  });

  test('C11: a file is uploaded and posted', async () => {
    stage.start();
    const bytes = Buffer.from('line\n'.repeat(100));
    await stage.write((unit) =>
      uploadFile(unit, { to: { room: lobby }, name: 'output.txt', mimetype: 'text/plain', bytes }),
    );
    const file = await stage.operator.message(lobby, 'output.txt');
    expect(file.content).toMatchObject({
      msgtype: 'm.file',
      info: { mimetype: 'text/plain', size: bytes.length },
    });
    const [, server, id] = /^mxc:\/\/([^/]+)\/(.+)$/.exec(String(file.content['url'])) ?? [];
    const media = await fetch(`${stage.homeserverUrl}/_matrix/media/v3/download/${server}/${id}`);
    expect(Buffer.from(await media.arrayBuffer()).equals(bytes)).toBe(true);
  });

  test('C15: a text of 200 kB arrives shortened, with a note, also as an edit', async () => {
    stage.start();
    const long = '😀 "quoted" \u0000 text '.repeat(8_000);
    await show('card', 'short');
    await show('card', `${long}!`);
    await say(long);
    await outboxEmpty();
    const history = await stage.operator.history(lobby);
    const shortened = history.filter((event) => /\[shortened/.test(String(event.content['body'])));
    expect(shortened).toHaveLength(2);
    expect(await stage.database.read.matrixOutbox.count({ where: { state: 'failed' } })).toBe(0);
  });

  test('R10: a homeserver that is down for a while loses nothing', async () => {
    const line = await startBehindProxy();
    let down = true;
    line.rule = () => (down ? { status: 502, body: 'Bad gateway' } : 'pass');
    await say('while it was down');
    await stage.eventually('the bot notices', async () => line.seen.length > 3);
    down = false;
    await stage.operator.message(lobby, 'while it was down');
    expect(await said()).toEqual(['while it was down']);
  });

  test('R12: a message that breaks the homeserver is given up once others pass', async () => {
    const line = await startBehindProxy();
    line.rule = (request) =>
      request.body.includes('poison')
        ? { status: 500, body: { errcode: 'M_UNKNOWN', error: 'Internal server error' } }
        : 'pass';
    await say('before it');
    await stage.operator.message(lobby, 'before it');
    await stage.write(async (unit) => {
      const txnId = await sendMessage(unit, { to: { room: lobby }, message: text('poison') });
      // Nine tries, which take two minutes, are behind it.
      await unit.db.matrixOutbox.update({ where: { txnId }, data: { attempts: 9 } });
    });
    await say('after it');
    await stage.operator.message(lobby, 'after it');
    expect(await said()).toEqual(['before it', 'after it']);
  });
});
