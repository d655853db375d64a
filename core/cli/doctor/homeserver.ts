import { z } from 'zod';
import type { MatrixLogin } from '../../config/config.ts';
import { failed, networkTrouble, ok, warning, type Finding } from './finding.ts';

const TIMEOUT_MS = 10_000;

const versions = z.looseObject({ versions: z.array(z.string()) });
const whoami = z.looseObject({ user_id: z.string() });
const loggedIn = z.looseObject({ user_id: z.string(), access_token: z.string() });
const refusal = z.looseObject({ errcode: z.string(), error: z.string().optional() });

interface Answer {
  status: number;
  body: unknown;
  /** It was a web page: of a proxy, or of something else at this address. */
  page: boolean;
}

/** The homeserver: reachable, a Matrix server, and the bot's account can be used. */
export async function checkHomeserver(
  url: string,
  login: MatrixLogin,
  operators: readonly string[],
): Promise<Finding[]> {
  const found = await reach(url);
  if (found.state === 'failed') return [found];
  try {
    const { finding, userId } = await account(url, login);
    return [found, finding, ...(userId === undefined ? [] : notAnOperator(userId, operators))];
  } catch (error) {
    return [found, failed('matrix account', networkTrouble(error), 'Try again.')];
  }
}

async function reach(url: string): Promise<Finding> {
  const name = 'homeserver';
  try {
    const { status, body, page } = await call(url, 'GET', 'versions');
    const parsed = versions.safeParse(body);
    if (status === 200 && parsed.success) {
      return ok(name, `${url} speaks Matrix up to ${parsed.data.versions.at(-1) ?? 'nothing'}`);
    }
    return failed(
      name,
      `${url} answers (${status}${page ? ', with a web page' : ''}), but it is not a Matrix homeserver`,
      'MATRIX_HOMESERVER_URL must be the address of the client API, such as https://matrix.example.org.',
    );
  } catch (error) {
    return failed(
      name,
      `${url}: ${networkTrouble(error)}`,
      'Check MATRIX_HOMESERVER_URL and that the homeserver is up.',
    );
  }
}

async function account(
  url: string,
  login: MatrixLogin,
): Promise<{ finding: Finding; userId?: string }> {
  return login.kind === 'token' ? byToken(url, login.accessToken) : byPassword(url, login);
}

async function byToken(url: string, token: string): Promise<{ finding: Finding; userId?: string }> {
  const name = 'matrix account';
  const { status, body } = await call(url, 'GET', 'v3/account/whoami', { token });
  const parsed = whoami.safeParse(body);
  if (status === 200 && parsed.success) {
    return {
      finding: ok(name, `signed in as ${parsed.data.user_id}`),
      userId: parsed.data.user_id,
    };
  }
  const mend =
    status === 401
      ? 'MATRIX_ACCESS_TOKEN is wrong or was signed out: log in again and take the new token.'
      : 'Ask the one who runs the homeserver.';
  return { finding: failed(name, `the token is refused: ${reason(status, body)}`, mend) };
}

async function byPassword(
  url: string,
  login: { user: string; password: string },
): Promise<{ finding: Finding; userId?: string }> {
  const name = 'matrix account';
  const { status, body } = await call(url, 'POST', 'v3/login', {
    body: {
      type: 'm.login.password',
      identifier: { type: 'm.id.user', user: login.user },
      password: login.password,
      initial_device_display_name: 'nomos doctor',
    },
  });
  const parsed = loggedIn.safeParse(body);
  if (status !== 200 || !parsed.success) {
    return {
      finding: failed(
        name,
        `${login.user} cannot log in: ${reason(status, body)}`,
        status === 429
          ? 'The homeserver limits log-ins: wait, or lift its limits for the bot.'
          : 'Check MATRIX_USER and MATRIX_PASSWORD; or set MATRIX_ACCESS_TOKEN where passwords are not taken.',
      ),
    };
  }
  await call(url, 'POST', 'v3/logout', { token: parsed.data.access_token, body: {} });
  return { finding: ok(name, `${parsed.data.user_id} can log in`), userId: parsed.data.user_id };
}

function notAnOperator(userId: string, operators: readonly string[]): Finding[] {
  if (!operators.includes(userId)) return [];
  return [
    warning(
      'operators',
      `${userId} is the bot's own account and an operator`,
      'Give the bot an account of its own: what it writes itself directs nobody.',
    ),
  ];
}

function reason(status: number, body: unknown): string {
  const parsed = refusal.safeParse(body);
  return parsed.success
    ? `${parsed.data.errcode}${parsed.data.error === undefined ? '' : `, "${parsed.data.error}"`}`
    : `it answered ${status}`;
}

/** One request to the client API; `path` begins after `/_matrix/client/`. Throws when there is no answer. */
export async function call(
  url: string,
  method: 'GET' | 'POST',
  path: string,
  options: { token?: string; body?: object } = {},
): Promise<Answer> {
  const response = await fetch(`${url}/_matrix/client/${path}`, {
    method,
    signal: AbortSignal.timeout(TIMEOUT_MS),
    headers: {
      ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
      ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
  });
  const text = await response.text();
  try {
    return { status: response.status, body: JSON.parse(text), page: false };
  } catch {
    const page = /html/i.test(response.headers.get('content-type') ?? '') || /^\s*</.test(text);
    return { status: response.status, body: undefined, page };
  }
}
