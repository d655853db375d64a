import { afterEach, beforeEach, expect, test } from 'vitest';
import { putCard, sendMessage, setState } from '../../bot/outbox/enqueue.ts';
import type { InboxHandler } from '../../bot/inbox/types.ts';
import type { MessageContent } from '../../bot/outbox/relations.ts';
import { type RoomId, asId } from '../../core/ids.ts';
import { HomeserverProxy } from '../support/matrix-proxy.ts';
import { type Stage, openStage, operatorsOf } from '../support/test-bot.ts';

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

const text = (body: string): MessageContent => ({ msgtype: 'm.notice', body, mentions: [] });
const say = (body: string): Promise<string> =>
  stage.write((unit) => sendMessage(unit, { to: { room: lobby }, message: text(body) }));

async function behindProxy(): Promise<HomeserverProxy> {
  proxy = await HomeserverProxy.open(stage.homeserverUrl);
  stage.start({ homeserverUrl: proxy.url });
  return proxy;
}

test('R10: a proxy that answers in the homeserver’s place that there is nothing delays what is said, and loses none', async () => {
  const line = await behindProxy();
  let refused = 0;
  line.rule = ({ path }) => {
    if (!path.includes('/send/') || refused >= 3) return 'pass';
    refused++;
    // As Traefik does while the container behind it is away.
    return { status: 404, body: '404 page not found\n' };
  };
  await say('while the homeserver is restarted');
  await stage.operator.message(lobby, 'while the homeserver is restarted', 30_000);
});

test('R10, T4: a limit on inviting somebody back holds up neither other rooms nor what is said in this one', async () => {
  const line = await behindProxy();
  const other = asId<RoomId>(
    await stage.operator.createRoom({
      preset: 'trusted_private_chat',
      is_direct: true,
      invite: [stage.bot.userId],
    }),
  );
  await stage.eventually('the bot is in the direct chat', async () => {
    const room = await stage.database.read.matrixRoom.findUnique({ where: { roomId: other } });
    return room?.kind === 'direct';
  });
  let limited = false;
  line.rule = ({ method, path }) => {
    if (method !== 'PUT' || !path.includes('/state/m.room.member/')) return 'pass';
    limited = true;
    // Synapse's default: one person every 333 s, after the first five (`rc_invites.per_user`).
    return {
      status: 429,
      body: { errcode: 'M_LIMIT_EXCEEDED', error: 'Too Many Requests', retry_after_ms: 333_000 },
    };
  };
  await stage.write((unit) =>
    setState(unit, {
      to: { room: lobby },
      eventType: 'm.room.member',
      stateKey: '@gone:test.local',
      state: { membership: 'invite' },
      priority: 0,
    }),
  );
  await stage.eventually('the invitation is limited', async () => limited);
  await stage.write((unit) =>
    sendMessage(unit, { to: { room: other }, message: text('elsewhere') }),
  );
  await say('here');
  await stage.operator.message(other, 'elsewhere', 20_000);
  await stage.operator.message(lobby, 'here', 20_000);
});

test('R4, T1: what operators wrote in an upgraded lobby before the bot knew of it is worked on as in the lobby', async () => {
  const bob = await stage.person('bob');
  const asBot = async (place: string, body: object): Promise<Record<string, unknown>> => {
    const answer = await fetch(`${stage.homeserverUrl}/_matrix/client/v3${place}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${stage.bot.accessToken}` },
      body: JSON.stringify(body),
    });
    expect(answer.status).toBe(200);
    return (await answer.json()) as Record<string, unknown>;
  };
  const upgraded = await asBot(`/rooms/${encodeURIComponent(lobby)}/upgrade`, {
    new_version: '10',
  });
  const fresh = String(upgraded['replacement_room']);
  for (const person of [stage.operator, bob]) {
    await asBot(`/rooms/${encodeURIComponent(fresh)}/invite`, { user_id: person.userId });
    await person.until(
      () => person.client.getRoom(fresh)?.getMyMembership() === 'join' || undefined,
      'the invitation is accepted',
    );
  }
  await stage.operator.say(fresh, 'check the disks');
  const got: Array<[unknown, string]> = [];
  const onEvent: InboxHandler = async (_unit, event) => {
    if (event.type === 'm.room.message') got.push([event.content['body'], event.room.kind]);
  };
  stage.start({ onEvent, operators: operatorsOf(stage.operator.userId, bob.userId) });
  await stage.eventually('it is worked on', async () => got.length > 0);
  expect(got).toEqual([['check the disks', 'lobby']]);
});

test('C3: a card whose edit was refused shows its newest form as soon as it is drawn again and may be edited', async () => {
  const line = await behindProxy();
  const show = (body: string): Promise<string> =>
    stage.write((unit) =>
      putCard(unit, {
        to: { room: lobby },
        card: { key: 'one', kind: 'test', refId: 'one' },
        message: text(body),
      }),
    );
  await show('waiting');
  await stage.operator.message(lobby, 'waiting');
  line.rule = ({ path, body }) =>
    path.includes('/send/') && body.includes('m.new_content')
      ? { status: 403, body: { errcode: 'M_FORBIDDEN', error: 'No power.' } }
      : 'pass';
  await show('running');
  await stage.eventually('it is given up', async () => {
    return (await stage.database.read.matrixOutbox.count({ where: { state: 'failed' } })) > 0;
  });
  line.rule = () => 'pass';
  await show('running');
  await stage.operator.event(lobby, (event) => event.content['body'] === ' * running', 20_000);
});

test('R10: a bot at work waits for a homeserver in whose place a proxy says that there is nothing', async () => {
  proxy = await HomeserverProxy.open(stage.homeserverUrl);
  const bot = stage.start({ homeserverUrl: proxy.url });
  await bot.ready;
  let signedIn = 0;
  proxy.rule = ({ path }) => {
    if (path.endsWith('/whoami')) signedIn++;
    return { status: 404, body: '404 page not found\n' };
  };
  await say('while the homeserver is restarted');
  // Twice: it has not given up after the first.
  await stage.eventually('the bot tries again and again', async () => signedIn >= 2);
  expect(bot.state()).not.toBe('stopped');
  proxy.rule = () => 'pass';
  await stage.operator.message(lobby, 'while the homeserver is restarted', 40_000);
}, 100_000);
