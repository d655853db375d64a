import { ConfigurationError, errorText } from '../core/errors.ts';
import type { MatrixEventId, RoomId } from '../core/ids.ts';
import { log } from '../core/log.ts';
import { RoomCrypto } from './crypto/crypto.ts';
import { Dispatcher } from './inbox/dispatch.ts';
import { retryUnread } from './inbox/open.ts';
import type { Ephemeral } from './inbox/types.ts';
import type { Account } from './matrix/account.ts';
import { NomosClient } from './matrix/client.ts';
import { persist } from './matrix/retry.ts';
import { runSync } from './matrix/sync.ts';
import { TypingNotices } from './matrix/typing.ts';
import { readMedia } from './media/reader.ts';
import type { BotOptions, BotParts } from './options.ts';
import { Sender } from './outbox/sender.ts';
import { repeated } from './repeat.ts';
import { leaveArchivedRooms } from './rooms/archived-rooms.ts';
import { settleArrivals } from './rooms/arrivals.ts';
import { ensureHome, inviteOperators } from './rooms/home.ts';
import { followUpgrades } from './rooms/upgraded-rooms.ts';

/**
 * Works as the bot until `outer` fires or a part of it fails; then all parts are stopped and waited for. Resolves when
 * `outer` fired, rejects with the failure otherwise.
 */
export async function runTerm(
  options: BotOptions,
  account: Account,
  outer: AbortSignal,
  onActive: () => void,
): Promise<void> {
  const { database, feed, operators } = options;
  const botUserId = account.userId;
  const own = new AbortController();
  const signal = AbortSignal.any([outer, own.signal]);
  const client = new NomosClient(options.homeserverUrl, account.accessToken, signal);
  const ephemeral = ephemeralBy(client, botUserId);
  const parts: BotParts = { database, feed, operators, botUserId, ephemeral, signal };
  const isOperator = (userId: string): boolean => operators.find(userId) !== undefined;
  const operatorIds = operators.all.map((operator) => operator.userId);
  const withKeys = new Set<RoomId>();
  const crypto = cryptoOf(options, account, client, (roomIds) => {
    for (const roomId of roomIds) withKeys.add(roomId);
    dispatcher.release(roomIds);
    unread.trigger();
  });
  const encryption = crypto === undefined ? ('never' as const) : options.encryption;
  const shared = {
    database,
    client,
    crypto,
    encryption,
    botUserId,
    isOperator,
    operators: operatorIds,
    signal,
  };

  const sender = new Sender(shared);
  const media = { transcriber: undefined, vision: false, ...options.media, client };
  const dispatcher = new Dispatcher({
    ...shared,
    handler: options.handler(parts),
    readMedia: (content, ending) => readMedia(content, media, ending),
  });
  // A key that came just before the last end may not have been tried.
  let everywhere = true;
  const unread = repeated('reading messages whose keys came', signal, async () => {
    const roomIds = [...withKeys];
    if (crypto !== undefined && (await retryUnread(database, crypto, everywhere ? 'all' : roomIds)))
      dispatcher.wake();
    everywhere = false;
    for (const roomId of roomIds) withKeys.delete(roomId);
  });
  const introduce = async (): Promise<void> => crypto?.introduce();
  const introduction = repeated('introducing the bot’s device', signal, introduce);
  const arrivals = repeated('answering invitations', signal, async () => {
    // First: what was written in a room that takes another's place is not to be taken for words in a room of no kind.
    await followUpgrades({ ...shared, onSettled: () => dispatcher.wake() });
    await settleArrivals({ ...shared, onSettled: () => dispatcher.wake() });
    await leaveArchivedRooms(shared);
  });
  const synced = Promise.withResolvers<void>();
  const bells = [
    feed.onBell('nomos_outbox', () => sender.wake()),
    feed.onBell('nomos_inbox', () => dispatcher.wake()),
  ];

  const sync = runSync({
    ...shared,
    onStored({ toRead, joined }) {
      synced.resolve();
      arrivals.trigger();
      dispatcher.wake();
      for (const [roomId, eventId] of toRead) markRead(client, roomId, eventId);
      for (const roomId of joined) ephemeral.showAgain(roomId);
    },
  });
  const work = async (): Promise<void> => {
    await untilAborted(synced.promise, signal);
    if (signal.aborted) return;
    // Whoever comes into an encrypted lobby writes at once, and nobody can encrypt for a device that is not known yet.
    if (encryption === 'always') await persist('introducing the bot’s device', signal, introduce);
    const home = await ensureHome(shared);
    onActive();
    const invitations = repeated('inviting the operators', signal, () =>
      inviteOperators(home, shared),
    );
    invitations.trigger();
    introduction.trigger();
    unread.trigger();
    await Promise.all([
      unread.run(),
      introduction.run(),
      sender.run(),
      dispatcher.run(),
      arrivals.run(),
      invitations.run(),
      options.projector?.(parts),
    ]);
  };
  const all = [sync, work()];
  try {
    await Promise.all(all);
  } catch (error) {
    if (!outer.aborted) throw error;
  } finally {
    own.abort(new Error('A part of the bot failed.'));
    await Promise.allSettled(all);
    for (const unsubscribe of bells) unsubscribe();
    await crypto?.close();
  }
}

/** What encrypts and decrypts; undefined where that is turned off or the token belongs to no device. */
function cryptoOf(
  { database, encryption = 'never', credentials }: BotOptions,
  { userId, deviceId }: Account,
  client: NomosClient,
  onKeys: (roomIds: readonly RoomId[]) => void,
): RoomCrypto | undefined {
  if (encryption === 'never') return undefined;
  if (deviceId === undefined) {
    if (encryption === 'auto') {
      log.warn('the access token belongs to no device, so encrypted rooms cannot be read');
      return undefined;
    }
    throw new ConfigurationError(
      'NOMOS_ENCRYPTION: always needs a device, and the access token belongs to none.',
      {
        fields: { option: 'NOMOS_ENCRYPTION' },
        hint: 'Set MATRIX_USER and MATRIX_PASSWORD, or a MATRIX_ACCESS_TOKEN that came from signing in.',
      },
    );
  }
  const { password } = credentials;
  return new RoomCrypto({ database, client, owner: { userId, deviceId }, password, onKeys });
}

async function untilAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  const aborted = Promise.withResolvers<void>();
  const onAbort = (): void => aborted.resolve();
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  await Promise.race([promise, aborted.promise]);
  signal.removeEventListener('abort', onAbort);
}

/** C8: a message is marked read once it is stored. */
function markRead(client: NomosClient, roomId: RoomId, eventId: MatrixEventId): void {
  client
    .doRequest(
      'POST',
      `/_matrix/client/v3/rooms/${encodeURIComponent(roomId)}/receipt/m.read/${encodeURIComponent(eventId)}`,
      null,
      {},
    )
    .catch(notShown);
}

function ephemeralBy(client: NomosClient, botUserId: string): Ephemeral {
  return new TypingNotices(async (roomId, body) => {
    await client
      .doRequest(
        'PUT',
        `/_matrix/client/v3/rooms/${encodeURIComponent(roomId)}/typing/${encodeURIComponent(botUserId)}`,
        null,
        body,
      )
      .catch(notShown);
  });
}

function notShown(error: unknown): void {
  log.debug({ error: errorText(error) }, 'what is only shown could not be shown');
}
