/** A bot in a process of its own, for tests that kill it. Answers each message of the operator. */
import { startBot } from '../../bot/bot.ts';
import type { InboxHandler } from '../../bot/inbox/types.ts';
import { sendMessage } from '../../bot/outbox/enqueue.ts';
import { Database } from '../../core/db/database.ts';
import { EventFeed } from '../../core/events/subscribe.ts';
import { type UserId, asId } from '../../core/ids.ts';
import { Operators } from '../../core/operators.ts';

const env = (name: string): string => process.env[name] ?? '';

const echo: InboxHandler = async (unit, event) => {
  if (event.type !== 'm.room.message') return;
  await sendMessage(unit, {
    to: { room: event.room.roomId },
    message: { msgtype: 'm.text', body: `echo: ${String(event.content['body'])}`, mentions: [] },
  });
};

const database = await Database.connect(env('DATABASE_URL'), { connections: 5 });
const bot = startBot({
  database,
  feed: await EventFeed.open(database),
  homeserverUrl: env('MATRIX_HOMESERVER_URL'),
  credentials: { accessToken: env('MATRIX_ACCESS_TOKEN') },
  operators: new Operators([{ userId: asId<UserId>(env('TEST_OPERATOR')), role: 'admin' }]),
  handler: () => echo,
  encryption: 'auto',
});
await bot.ended;
