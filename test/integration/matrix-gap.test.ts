import { afterEach, beforeEach, expect, test } from 'vitest';
import type { InboxHandler } from '../../bot/inbox/types.ts';
import { sendMessage } from '../../bot/outbox/enqueue.ts';
import { asId, type RoomId } from '../../core/ids.ts';
import { HomeserverProxy } from '../support/matrix-proxy.ts';
import { type Stage, openStage } from '../support/test-bot.ts';

let stage: Stage;
beforeEach(async () => (stage = await openStage()));
afterEach(async () => stage.close());

/** Answers each message, so that what was worked on can be seen from outside. */
const echo: InboxHandler = async (unit, event) => {
  if (event.type !== 'm.room.message') return;
  await sendMessage(unit, {
    to: { room: event.room.roomId },
    message: { msgtype: 'm.text', body: `echo: ${String(event.content['body'])}`, mentions: [] },
  });
};

test('R4: what was said while the homeserver gave no syncs is worked on, though the bot itself said more than a sync brings meanwhile', async () => {
  const proxy = await HomeserverProxy.open(stage.homeserverUrl);
  const bot = stage.start({ homeserverUrl: proxy.url, onEvent: echo });
  await bot.ready;
  const lobby = await stage.operator.room('Nomos lobby');
  await stage.operator.say(lobby, 'before');
  await stage.operator.message(lobby, 'echo: before');

  let refused = 0;
  const refuse = { status: 503, body: { errcode: 'M_UNKNOWN', error: 'Down.' } };
  proxy.rule = ({ path }) => {
    if (!path.endsWith('/sync')) return 'pass';
    refused++;
    return refuse;
  };
  // Ends the long poll that is open.
  await stage.operator.say(lobby, 'and');
  await stage.eventually('syncing is refused', async () => refused > 0);
  await stage.operator.say(lobby, 'in the meantime');
  await stage.write(async (unit) => {
    for (let index = 0; index < 110; index++) {
      await sendMessage(unit, {
        to: { room: asId<RoomId>(lobby) },
        message: { msgtype: 'm.notice', body: `progress ${index}`, mentions: [] },
      });
    }
  });
  await stage.operator.message(lobby, 'progress 109', 60_000);
  proxy.rule = () => 'pass';
  await stage.operator.say(lobby, 'afterwards');
  await stage.operator.message(lobby, 'echo: afterwards', 60_000);
  const said = await stage.operator.bodies(lobby, stage.bot.userId);
  expect(said.filter((body) => body.startsWith('echo: '))).toEqual([
    'echo: before',
    'echo: and',
    'echo: in the meantime',
    'echo: afterwards',
  ]);
  await bot.stop();
  await proxy.close();
}, 120_000);
