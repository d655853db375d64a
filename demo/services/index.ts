import { randomBytes } from 'node:crypto';
import { accessSync, constants, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { HeldLock } from '../../scripts/lib/lock.mjs';
import { takeLock } from '../../scripts/lib/lock.mjs';
import { ensurePython, pythonDir } from '../../scripts/lib/python.mjs';
import { SetupError } from './errors.ts';
import type { MatrixAccount } from './matrix-accounts.ts';
import { startPostgres } from './postgres.ts';
import { readState, writeState } from './state.ts';
import { Supervisor } from './supervisor.ts';
import { startSynapse } from './synapse.ts';
import type { EmbeddedSynapse } from './synapse.ts';
import { serverOnPath, startValkey } from './valkey.ts';

export { SetupError } from './errors.ts';
export type { MatrixAccount, MatrixSession } from './matrix-accounts.ts';

/** What to start, and where. */
export interface EmbeddedOptions {
  /** NOMOS_HOME: packages, logs and the state of the services. Made if it is not there. */
  readonly home: string;
  /** The folder with the Python packages, for several homes to share. Default: `home`. */
  readonly packages?: string;
  readonly need: {
    readonly postgres: boolean;
    readonly redis: boolean;
    readonly homeserver: boolean;
  };
  /** Ports that must be used. Default: those of last time; for the homeserver 8008 if free; else free ones. */
  readonly ports?: {
    readonly postgres?: number;
    readonly redis?: number;
    readonly homeserver?: number;
  };
  /** Told in a few words what begins and what is done. */
  readonly onProgress: (text: string) => void;
}

/** The embedded homeserver with its two accounts. */
export interface EmbeddedHomeserver {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  readonly bot: MatrixAccount;
  readonly operator: MatrixAccount;
}

/** The services that run, each only if it was needed. */
export interface EmbeddedServices {
  readonly databaseUrl?: string;
  readonly redisUrl?: string;
  readonly homeserver?: EmbeddedHomeserver;
  /** Tells whoever starts Nomos a second time in this folder where the running one is found. */
  announce(url: string): void;
  /** Stops all of them and gives the folder free. Can be called more than once. */
  stop(): Promise<void>;
}

/**
 * Starts the services that the environment does not name, side by side, on 127.0.0.1. Their state is kept in
 * `<home>/services`; what an earlier run left behind is ended first.
 *
 * @throws SetupError with a sentence that says what is in the way and the way out, after stopping what was started
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedServices> {
  const home = resolve(options.home);
  makeHome(home);
  const lock = lockHome(home);
  const stateDir = join(home, 'services');
  const supervisor = new Supervisor(stateDir, join(home, 'logs'));
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> =>
    (stopped ??= supervisor.stop().finally(() => {
      lock.release();
    }));
  try {
    for (const name of await supervisor.endLeftovers()) {
      options.onProgress(`${name}: ended the one that an earlier run left`);
    }
    const { need, ports = {} } = options;
    const packages = resolve(options.packages ?? options.home);
    const needPython = need.homeserver || (need.redis && serverOnPath() === undefined);
    const python = needPython
      ? pythonPackages(packages, options.onProgress)
      : Promise.resolve({ dir: pythonDir(packages), python: '' });
    const started = await allOrFirstError([
      need.postgres
        ? timed('PostgreSQL', options, () =>
            startPostgres({ supervisor, stateDir, port: ports.postgres }),
          )
        : undefined,
      need.redis
        ? timed('Valkey', options, async () =>
            startValkey({ supervisor, stateDir, pythonDir: (await python).dir, port: ports.redis }),
          )
        : undefined,
      need.homeserver
        ? timed('homeserver', options, async () => {
            const synapse = await startSynapse({
              supervisor,
              stateDir,
              python: (await python).python,
              port: ports.homeserver,
              rateLimits: 'default',
            });
            return withAccounts(synapse, join(stateDir, 'accounts.json'));
          })
        : undefined,
    ]);
    const [postgres, valkey, homeserver] = started;
    return {
      ...(postgres === undefined ? {} : { databaseUrl: postgres.url }),
      ...(valkey === undefined ? {} : { redisUrl: valkey.url }),
      ...(homeserver === undefined ? {} : { homeserver }),
      announce: (url) => lock.describe({ url }),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Every start runs to its end before an error is thrown, so that nothing starts after the clean-up. */
async function allOrFirstError<const T extends readonly unknown[]>(
  starts: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  const results = await Promise.allSettled(starts);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  return Promise.all(starts);
}

async function timed<T>(
  name: string,
  options: EmbeddedOptions,
  start: () => Promise<T>,
): Promise<T> {
  const begun = performance.now();
  options.onProgress(`${name}: starting`);
  const result = await start();
  options.onProgress(`${name}: ready after ${((performance.now() - begun) / 1000).toFixed(1)} s`);
  return result;
}

/** Mostly there already, from the bootstrap. What the installer has to say is made an error of this program. */
async function pythonPackages(
  home: string,
  onProgress: (text: string) => void,
): Promise<{ dir: string; python: string }> {
  try {
    return await ensurePython({
      home,
      onProgress: (text) => onProgress(`Python packages: ${text}`),
    });
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'SetupFailure') throw error;
    throw new SetupError('setup_packages_missing', error.message, { cause: error });
  }
}

function makeHome(home: string): void {
  try {
    mkdirSync(home, { recursive: true });
    accessSync(home, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new SetupError(
      'setup_folder_not_writable',
      `The folder ${home} cannot be written by this user: start as the user who made it, or set NOMOS_HOME to another folder.`,
      { cause: error },
    );
  }
}

function lockHome(home: string): HeldLock {
  const attempt = takeLock(join(home, 'locks', 'services.lock'));
  if (attempt.taken) return attempt.lock;
  const { pid, url } = attempt.holder;
  const where = typeof url === 'string' ? `, at ${url}` : ' and is still starting';
  throw new SetupError(
    'setup_already_running',
    `Nomos already runs in this folder (process ${pid})${where}. Use that one, stop it with \`kill ${pid}\`, or set NOMOS_HOME to another folder.`,
  );
}

interface AccountsState {
  readonly passwords: Readonly<Record<string, string>>;
  readonly accounts: Readonly<Record<string, MatrixAccount>>;
}

const NAMES = {
  bot: { name: 'nomos', displayName: 'Nomos', admin: false },
  operator: { name: 'operator', displayName: 'Operator', admin: false },
  /** Signed in for set-up alone: neither bot nor operator should be the server's admin. */
  setup: { name: 'nomos-setup', displayName: 'Nomos set-up', admin: true },
} as const;

/** The accounts are made at the first start and signed in again whenever their token is no longer good. */
async function withAccounts(
  synapse: EmbeddedSynapse,
  stateFile: string,
): Promise<EmbeddedHomeserver> {
  let state = readState<AccountsState>(stateFile) ?? { passwords: {}, accounts: {} };
  const account = async (role: keyof typeof NAMES): Promise<MatrixAccount> => {
    const { name, displayName, admin } = NAMES[role];
    const known = state.accounts[role];
    if (known !== undefined && (await synapse.accounts.isSignedIn(known.accessToken))) return known;
    // The password is kept before it is used: a crash in between must not lock the account for ever.
    const password = state.passwords[role] ?? randomBytes(15).toString('base64url');
    state = { ...state, passwords: { ...state.passwords, [role]: password } };
    writeState(stateFile, state);
    const signedIn =
      (await synapse.accounts.register(name, password, { admin, displayName })) ??
      (await synapse.accounts.login(name, password, 'Nomos'));
    if (signedIn === undefined) {
      throw new SetupError(
        'setup_account_failed',
        `The account @${name}:${synapse.serverName} of the embedded homeserver does not take the password that ${stateFile} holds: put that file back from a copy, or remove its folder to start from nothing.`,
      );
    }
    state = { ...state, accounts: { ...state.accounts, [role]: signedIn } };
    writeState(stateFile, state);
    return signedIn;
  };
  const isNew = state.accounts['bot'] === undefined;
  const [bot, operator] = [await account('bot'), await account('operator')];
  if (isNew || state.accounts['setup'] === undefined) {
    const setup = await account('setup');
    await synapse.accounts.liftRateLimits(bot.userId, setup.accessToken);
  }
  return { url: synapse.url, bot, operator };
}
