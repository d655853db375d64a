import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type InboxHandler } from '../../bot/inbox/types.ts';
import { sendMessage } from '../../bot/outbox/enqueue.ts';
import { Database } from '../../core/db/database.ts';
import { ConfigurationError } from '../../core/errors.ts';
import { HomeserverProxy, type Verdict } from '../support/matrix-proxy.ts';
import { type Stage, openStage } from '../support/test-bot.ts';

let stage: Stage;
beforeEach(async () => (stage = await openStage()));
afterEach(() => stage.close());

const answer =
  (name: string): InboxHandler =>
  async (unit, event) => {
    if (event.type !== 'm.room.message') return;
    await sendMessage(unit, {
      to: { room: event.room.roomId },
      message: {
        msgtype: 'm.text',
        body: `${name}: ${String(event.content['body'])}`,
        mentions: [],
      },
    });
  };

describe('one bot per account', () => {
  test('Z9: a second one stands by, does nothing, and takes over when the first is gone', async () => {
    const first = stage.start({ onEvent: answer('first') });
    await first.ready;
    const lobby = await stage.operator.room('Nomos lobby');
    const proxy = await HomeserverProxy.open(stage.homeserverUrl);
    const second = stage.start({ homeserverUrl: proxy.url, onEvent: answer('second') });
    await stage.eventually('the second stands by', async () => second.state() === 'standby');
    await stage.operator.say(lobby, 'one');
    await stage.operator.message(lobby, 'first: one');
    // It asked who it is, and nothing else.
    expect(proxy.seen.map((request) => request.path)).toEqual([
      '/_matrix/client/v3/account/whoami',
    ]);

    await first.stop();
    await second.ready;
    await stage.operator.say(lobby, 'two');
    await stage.operator.message(lobby, 'second: two');
    expect(await stage.operator.bodies(lobby, stage.bot.userId)).toEqual([
      'first: one',
      'second: two',
    ]);
    await second.stop();
    await proxy.close();
  });

  test('Z9, R9: who loses the lock’s connection stops at once, and works again when it has the lock again', async () => {
    let started = 0;
    const terms: AbortSignal[] = [];
    const bot = stage.start({
      handler: (parts) => {
        started++;
        terms.push(parts.signal);
        return answer('bot');
      },
    });
    await bot.ready;
    const lobby = await stage.operator.room('Nomos lobby');
    await stage.database.read.$queryRaw`
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE application_name = 'nomos-bot-lock' AND datname = current_database()`;
    await stage.eventually('its term of office ended', async () => terms[0]?.aborted === true);
    await stage.eventually('it works again', async () => started === 2 && bot.state() === 'active');
    await stage.operator.say(lobby, 'hello');
    await stage.operator.message(lobby, 'bot: hello');
    expect(await stage.operator.bodies(lobby, stage.bot.userId)).toEqual(['bot: hello']);
  });
});

describe('signing in', () => {
  test('a refused token is told by the name of its variable, with the way out', async () => {
    const bot = stage.start({ credentials: { accessToken: 'syt_wrong' } });
    await expect(bot.ready).rejects.toThrow(ConfigurationError);
    await expect(bot.ended).rejects.toThrow(/MATRIX_ACCESS_TOKEN: the homeserver at .* refuses/);
    expect(bot.state()).toBe('stopped');
  });

  test('a token that is refused while the bot works ends it the same way', async () => {
    const bot = stage.start();
    await bot.ready;
    await fetch(`${stage.homeserverUrl}/_matrix/client/v3/logout`, {
      method: 'POST',
      headers: { authorization: `Bearer ${stage.bot.accessToken}` },
    });
    await expect(bot.ended).rejects.toThrow(/MATRIX_ACCESS_TOKEN/);
  });

  test('a wrong password is told by the name of its variable', async () => {
    const bot = stage.start({ credentials: { user: stage.bot.userId, password: 'wrong' } });
    await expect(bot.ended).rejects.toThrow(/MATRIX_USER, MATRIX_PASSWORD: .*M_FORBIDDEN/);
  });

  test('what is no homeserver is told as such', async () => {
    const proxy = await HomeserverProxy.open(stage.homeserverUrl);
    proxy.rule = () => ({ status: 404, body: 'Not here' });
    const bot = stage.start({ homeserverUrl: proxy.url });
    await expect(bot.ended).rejects.toThrow(/MATRIX_HOMESERVER_URL: .*no Matrix homeserver/);
    await proxy.close();
  });

  test('R10: while it waits it says for what: nobody there, a proxy’s page, another site, or trouble', async () => {
    const proxy = await HomeserverProxy.open(stage.homeserverUrl);
    let verdict: Verdict = 'cut';
    proxy.rule = () => verdict;
    const bot = stage.start({ homeserverUrl: proxy.url });
    const says = async (next: Verdict, words: RegExp): Promise<void> => {
      verdict = next;
      await stage.eventually(String(words), async () => words.test(bot.trouble() ?? ''));
    };
    await says('cut', /Cannot reach the homeserver at/);
    await says(
      { status: 200, body: '<!doctype html><p>Welcome' },
      /answers, but it is not a Matrix homeserver: .* 200 and a web page/,
    );
    await says(
      { status: 502, body: '<html>Bad gateway' },
      /web server answers in the homeserver’s place: .* 502 and a web page/,
    );
    await says({ status: 503, body: { no: 'errcode' } }, /homeserver is in trouble: .* 503/);
    verdict = 'pass';
    await bot.ready;
    expect(bot.trouble()).toBeUndefined();
    await bot.stop();
    await proxy.close();
  });

  test('with a password, the device and its token are kept and used again', async () => {
    const credentials = { user: stage.bot.userId, password: stage.bot.password };
    const first = stage.start({ credentials });
    await first.ready;
    const lobby = await stage.operator.room('Nomos lobby');
    const kept = await stage.database.read.matrixState.findUniqueOrThrow({
      where: { key: 'account' },
    });
    await first.stop();
    const second = stage.start({ credentials, onEvent: answer('bot') });
    await second.ready;
    const again = await stage.database.read.matrixState.findUnique({ where: { key: 'account' } });
    expect(again).toEqual(kept);

    // Signed out elsewhere, it signs in again by itself, as the same device.
    const { accessToken, deviceId } = kept.value as { accessToken: string; deviceId: string };
    await fetch(`${stage.homeserverUrl}/_matrix/client/v3/logout`, {
      method: 'POST',
      headers: { authorization: `Bearer ${accessToken}` },
    });
    await stage.operator.say(lobby, 'hello');
    await stage.operator.message(lobby, 'bot: hello');
    const renewed = await stage.database.read.matrixState.findUnique({ where: { key: 'account' } });
    expect(renewed?.value).toMatchObject({ deviceId });
    expect(renewed?.value).not.toMatchObject({ accessToken });
  });

  test('R10: a homeserver that is away when the bot starts only delays it', async () => {
    const proxy = await HomeserverProxy.open(stage.homeserverUrl);
    let away = true;
    proxy.rule = () => (away ? 'cut' : 'pass');
    const bot = stage.start({ homeserverUrl: proxy.url });
    await stage.eventually('the bot tries', async () => proxy.seen.length >= 2);
    expect(bot.state()).toBe('signing_in');
    away = false;
    await bot.ready;
    await bot.stop();
    await proxy.close();
  });

  test('R9: a database that loses all its connections loses no message', async () => {
    const bot = stage.start({ onEvent: answer('bot') });
    await bot.ready;
    const lobby = await stage.operator.room('Nomos lobby');
    const other = await Database.connect(stage.databaseUrl, { connections: 1, name: 'killer' });
    for (const body of ['one', 'two', 'three']) {
      await stage.operator.say(lobby, body);
      await other.read.$queryRaw`
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()`;
    }
    await stage.operator.message(lobby, 'bot: three');
    expect(await stage.operator.bodies(lobby, stage.bot.userId)).toEqual([
      'bot: one',
      'bot: two',
      'bot: three',
    ]);
    await other.close();
  });
});
