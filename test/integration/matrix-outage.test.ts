import { afterEach, beforeEach, expect, test } from 'vitest';
import { sendMessage } from '../../bot/outbox/enqueue.ts';
import type { MessageContent } from '../../bot/outbox/relations.ts';
import { type RoomId, asId } from '../../core/ids.ts';
import { openTask } from '../../core/tasks/open.ts';
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

test('R12, C7: what a firewall in front of the homeserver refuses in a task’s room is told in the lobby, and does not hold that room up, though nothing else is said', async () => {
  const { sessionId } = await stage.write((unit) =>
    openTask(unit, { by: stage.operator.userId, text: 'look', origin: { kind: 'api' } }),
  );
  await stage.database.read.session.update({
    where: { id: sessionId },
    data: { roomId: lobby },
  });
  await stage.database.read.matrixOutbox.deleteMany({ where: { state: 'pending' } });
  proxy = await HomeserverProxy.open(stage.homeserverUrl);
  // As ModSecurity answers a body that looks like an attack.
  proxy.rule = (request) =>
    request.method === 'PUT' && request.body.includes('/etc/passwd')
      ? { status: 403, body: '<html><h1>403 Forbidden</h1></html>' }
      : 'pass';
  await stage.write(async (unit) => {
    const message = { msgtype: 'm.notice' as const, mentions: [] };
    const txnId = await sendMessage(unit, {
      to: { session: sessionId },
      message: { ...message, body: 'cat /etc/passwd' },
    });
    // Nine tries are behind it.
    await unit.db.matrixOutbox.update({ where: { txnId }, data: { attempts: 9 } });
  });
  stage.start({ homeserverUrl: proxy.url });
  await stage.eventually(
    'it is told',
    async () =>
      (await stage.database.read.event.count({
        where: { type: 'error.raised', data: { path: ['code'], equals: 'not_said' } },
      })) > 0,
  );
});
