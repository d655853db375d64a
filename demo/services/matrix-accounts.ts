import { createHmac } from 'node:crypto';
import { SetupError } from './errors.ts';

/** A signed-in account. */
export interface MatrixSession {
  readonly userId: string;
  readonly accessToken: string;
  readonly deviceId: string;
}

/** A signed-in account with the password that signs it in elsewhere. */
export interface MatrixAccount extends MatrixSession {
  readonly password: string;
}

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Makes accounts on a homeserver whose registration secret is known, and signs them in. */
export class MatrixAccounts {
  readonly #url: string;
  readonly #secret: string;

  constructor(url: string, registrationSecret: string) {
    this.#url = url;
    this.#secret = registrationSecret;
  }

  /**
   * Makes a user and signs it in once.
   *
   * @param name the part between `@` and `:`, in lower case
   * @param options.admin may use Synapse's admin API. Default false
   * @returns `undefined` if a user of that name is there already
   */
  async register(
    name: string,
    password: string,
    options: { readonly admin?: boolean; readonly displayName?: string } = {},
  ): Promise<MatrixAccount | undefined> {
    const path = '/_synapse/admin/v1/register';
    const { nonce } = (await this.#call('GET', path)).body;
    const admin = options.admin === true;
    const mac = createHmac('sha1', this.#secret)
      .update([String(nonce), name, password, admin ? 'admin' : 'notadmin'].join('\0'))
      .digest('hex');
    const answer = await this.#call('POST', path, {
      body: { nonce, username: name, password, admin, mac, displayname: options.displayName },
    });
    if (answer.body['errcode'] === 'M_USER_IN_USE') return undefined;
    return { ...session(`making the account ${name}`, answer), password };
  }

  /** Signs a user in as a new device. `undefined`: no such user, or another password. */
  login(name: string, password: string, deviceName?: string): Promise<MatrixAccount | undefined> {
    return passwordLogin(this.#url, name, password, deviceName);
  }

  /** Whether an access token is still good. */
  async isSignedIn(accessToken: string): Promise<boolean> {
    const answer = await this.#call('GET', '/_matrix/client/v3/account/whoami', { accessToken });
    if (answer.status === 401) return false;
    if (answer.status !== 200) throw failed('checking an access token', answer);
    return true;
  }

  /** Lifts Synapse's limits on messages and invitations for one user. Needs an admin's token. */
  async liftRateLimits(userId: string, adminToken: string): Promise<void> {
    const answer = await this.#call(
      'POST',
      `/_synapse/admin/v1/users/${encodeURIComponent(userId)}/override_ratelimit`,
      { accessToken: adminToken, body: { messages_per_second: 0, burst_count: 0 } },
    );
    if (answer.status !== 200) throw failed(`lifting the rate limits of ${userId}`, answer);
  }

  #call(method: 'GET' | 'POST', path: string, options: CallOptions = {}): Promise<Answer> {
    return call(this.#url, method, path, options);
  }
}

/**
 * Signs a user in as a new device on any homeserver that takes passwords. `undefined`: no such user, or another
 * password.
 *
 * @param name a user id, or its part between `@` and `:`
 */
export async function passwordLogin(
  url: string,
  name: string,
  password: string,
  deviceName?: string,
): Promise<MatrixAccount | undefined> {
  const answer = await call(url, 'POST', '/_matrix/client/v3/login', {
    body: {
      type: 'm.login.password',
      identifier: { type: 'm.id.user', user: name },
      password,
      initial_device_display_name: deviceName,
    },
  });
  if (answer.status === 403) return undefined;
  return { ...session(`signing ${name} in`, answer), password };
}

interface CallOptions {
  readonly accessToken?: string;
  readonly body?: object;
}

async function call(
  url: string,
  method: 'GET' | 'POST',
  path: string,
  options: CallOptions,
): Promise<Answer> {
  const headers: Record<string, string> = {};
  if (options.body !== undefined) headers['content-type'] = 'application/json';
  if (options.accessToken !== undefined) {
    headers['authorization'] = `Bearer ${options.accessToken}`;
  }
  const response = await fetch(url + path, {
    method,
    headers,
    ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
    signal: AbortSignal.timeout(30_000),
  });
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

function session(what: string, answer: Answer): MatrixSession {
  const { user_id: userId, access_token: accessToken, device_id: deviceId } = answer.body;
  if (
    answer.status !== 200 ||
    typeof userId !== 'string' ||
    typeof accessToken !== 'string' ||
    typeof deviceId !== 'string'
  ) {
    throw failed(what, answer);
  }
  return { userId, accessToken, deviceId };
}

function failed(what: string, answer: Answer): SetupError {
  const told = ['errcode', 'error'].map((name) => answer.body[name]);
  const words = told.filter((word) => typeof word === 'string').join(' ');
  return new SetupError(
    'setup_account_failed',
    `The homeserver refused ${what}: ${words === '' ? `status ${answer.status}` : words}`,
  );
}
