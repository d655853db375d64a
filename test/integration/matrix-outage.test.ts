import { afterEach, beforeEach, expect, test } from 'vitest';
import { sendMessage } from '../../bot/outbox/enqueue.ts';
import type { MessageContent } from '../../bot/outbox/relations.ts';
import { type RoomId, asId } from '../../core/ids.ts';
import { HomeserverProxy } from '../support/matrix-proxy.ts';
import { type Stage, openStage } from '../support/test-bot.ts';

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

test.each([502, 404])(
  'R10: what had waited through an outage is not lost to one more %i while the homeserver comes up again',
  async (status) => {
    proxy = await HomeserverProxy.open(stage.homeserverUrl);
    stage.start({ homeserverUrl: proxy.url });
    let refused = 0;
    proxy.rule = ({ path, body }) => {
      if (!path.includes('/send/') || !body.includes('what waited') || refused >= 1) return 'pass';
      refused++;
      return { status, body: 'Nothing here' };
    };
    await stage.write((unit) =>
      sendMessage(unit, { to: { room: lobby }, message: text('up again') }),
    );
    await stage.operator.message(lobby, 'up again');
    const id = await stage.write(async (unit) => {
      const txnId = await sendMessage(unit, { to: { room: lobby }, message: text('what waited') });
      // The tries of two minutes without a homeserver are behind it.
      return (await unit.db.matrixOutbox.update({ where: { txnId }, data: { attempts: 9 } })).id;
    });
    const row = () => stage.database.read.matrixOutbox.findUniqueOrThrow({ where: { id } });
    // Refused once, and that is on record.
    await stage.eventually(
      'it was refused',
      async () => refused > 0 && (await row()).error !== null,
    );
    expect((await row()).state).not.toBe('failed');
  },
  100_000,
);
