import { z } from 'zod';
import type { Database } from '../../core/db/database.ts';
import { openConnection } from '../../core/db/pg.ts';
import { ConfigurationError } from '../../core/errors.ts';
import { type UserId, asId } from '../../core/ids.ts';
import { log } from '../../core/log.ts';
import { NomosClient } from './client.ts';
import { type Failure, sortFailure, tokenRefused } from './errors.ts';
import { persist } from './retry.ts';
import { readState, writeState } from './state.ts';

/** How the bot signs in: with a token that someone else got, or with a password. */
export type Credentials =
  /** The password, if it is known, serves to sign the bot's device for encrypted rooms. */
  | { accessToken: string; password?: string | undefined }
  /** `user` is the whole id or its local part. The token and device that come of it are kept and used again. */
  | { user: string; password: string };

/** A signed-in account. */
export interface Account {
  userId: UserId;
  accessToken: string;
  /** The device that the token belongs to; undefined for a token without one, which cannot have keys. */
  deviceId: string | undefined;
  /** Names what to mend when the token is refused later. */
  variable: 'MATRIX_ACCESS_TOKEN' | 'MATRIX_USER';
}

interface Wait {
  signal: AbortSignal;
  onWait(failure: Failure): void;
}

const DEVICE_NAME = 'Nomos';
const whoamiShape = z.looseObject({ user_id: z.string(), device_id: z.string().optional() });
const loginShape = z.looseObject({
  user_id: z.string(),
  access_token: z.string(),
  device_id: z.string(),
});
const storedShape = z.strictObject({
  v: z.literal(1),
  homeserverUrl: z.string(),
  user: z.string(),
  userId: z.string(),
  deviceId: z.string(),
  accessToken: z.string(),
});
type Stored = z.infer<typeof storedShape>;
const STATE_KEY = 'account';

/**
 * Finds out who the bot is, and signs in if it must. Waits as long as the homeserver is away. Throws `ConfigurationError`
 * when the token or the password is refused. `onWait` is told why it has to wait, each time.
 */
export async function signIn(
  database: Database,
  homeserverUrl: string,
  credentials: Credentials,
  signal: AbortSignal,
  onWait: (why: string) => void = () => {},
): Promise<Account> {
  const wait: Wait = { signal, onWait: (failure) => onWait(failure.text) };
  if ('accessToken' in credentials) {
    const { accessToken } = credentials;
    const who = await whoami(homeserverUrl, accessToken, wait);
    if (who !== undefined) return { ...who, accessToken, variable: 'MATRIX_ACCESS_TOKEN' };
    throw tokenRefused(homeserverUrl, 'M_UNKNOWN_TOKEN', 'MATRIX_ACCESS_TOKEN');
  }
  // Two processes that start at once must not become two devices.
  const lock = await openConnection(database.url, 'nomos-sign-in');
  try {
    await lock.query(`SELECT pg_advisory_lock(hashtext('nomos_sign_in'))`);
    return await signInByPassword(database, homeserverUrl, credentials, wait);
  } finally {
    await lock.end();
  }
}

async function signInByPassword(
  database: Database,
  homeserverUrl: string,
  credentials: { user: string; password: string },
  wait: Wait,
): Promise<Account> {
  const { user, password } = credentials;
  const value = await readState(database.read, STATE_KEY, storedShape);
  const stored = value?.homeserverUrl === homeserverUrl && value.user === user ? value : undefined;
  if (stored !== undefined) {
    const who = await whoami(homeserverUrl, stored.accessToken, wait);
    if (who !== undefined) {
      const deviceId = who.deviceId ?? stored.deviceId;
      return { ...who, deviceId, accessToken: stored.accessToken, variable: 'MATRIX_USER' };
    }
    log.info({ user }, 'the kept access token is no longer good; signing in again');
  }
  const client = new NomosClient(homeserverUrl, '', wait.signal);
  const answer = await refusedAs(homeserverUrl, () =>
    persist(
      'signing in',
      wait.signal,
      () =>
        client.doRequest('POST', '/_matrix/client/v3/login', null, {
          type: 'm.login.password',
          identifier: { type: 'm.id.user', user },
          password,
          initial_device_display_name: DEVICE_NAME,
          ...(stored === undefined ? {} : { device_id: stored.deviceId }),
        }),
      wait.onWait,
    ),
  );
  const fresh = loginShape.safeParse(answer);
  if (!fresh.success) throw notAHomeserver(homeserverUrl, 'its answer to a login has another form');
  const { user_id, device_id, access_token } = fresh.data;
  const next: Stored = {
    v: 1,
    homeserverUrl,
    user,
    userId: user_id,
    deviceId: device_id,
    accessToken: access_token,
  };
  await database.write(async (unit) => writeState(unit, STATE_KEY, next));
  return {
    userId: asId<UserId>(user_id),
    accessToken: access_token,
    deviceId: device_id,
    variable: 'MATRIX_USER',
  };
}

/** Whom a token belongs to; undefined when the homeserver does not know the token. */
async function whoami(
  homeserverUrl: string,
  accessToken: string,
  wait: Wait,
): Promise<{ userId: UserId; deviceId: string | undefined } | undefined> {
  const client = new NomosClient(homeserverUrl, accessToken, wait.signal);
  let answer: unknown;
  try {
    answer = await persist(
      'asking who the bot is',
      wait.signal,
      () => client.doRequest('GET', '/_matrix/client/v3/account/whoami'),
      wait.onWait,
    );
  } catch (error) {
    const failure = sortFailure(error);
    if (failure.kind === 'token') return undefined;
    throw isNoMatrix(failure) ? notAHomeserver(homeserverUrl, failure.text, error) : error;
  }
  const parsed = whoamiShape.safeParse(answer);
  if (!parsed.success) throw notAHomeserver(homeserverUrl, 'it does not say who the bot is');
  return { userId: asId<UserId>(parsed.data.user_id), deviceId: parsed.data.device_id };
}

async function refusedAs<T>(homeserverUrl: string, request: () => Promise<T>): Promise<T> {
  try {
    return await request();
  } catch (error) {
    const failure = sortFailure(error);
    if (isNoMatrix(failure)) throw notAHomeserver(homeserverUrl, failure.text, error);
    if (failure.kind === 'token' || failure.kind === 'permanent') {
      throw tokenRefused(homeserverUrl, failure.text, 'MATRIX_USER');
    }
    throw error;
  }
}

/** Whether an answer shows that no Matrix homeserver stands there: no errcode, or an unknown path. */
function isNoMatrix(failure: Failure): boolean {
  return (
    failure.kind === 'permanent' &&
    (!failure.errcode.startsWith('M_') ||
      failure.errcode === 'M_UNRECOGNIZED' ||
      failure.errcode === 'M_NOT_FOUND')
  );
}

function notAHomeserver(homeserverUrl: string, why: string, cause?: unknown): ConfigurationError {
  return new ConfigurationError(
    `MATRIX_HOMESERVER_URL: what answers at ${homeserverUrl} is no Matrix homeserver (${why}).`,
    {
      fields: { option: 'MATRIX_HOMESERVER_URL', given: homeserverUrl },
      hint: 'Give the address of the client API, for instance https://matrix.example.org.',
      cause,
    },
  );
}
