import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MatrixAccounts } from './matrix-accounts.ts';
import { onFreePort } from './ports.ts';
import { serviceEnvironment } from './service-env.ts';
import { readState, writeState } from './state.ts';
import type { Supervisor } from './supervisor.ts';
import { untilReady } from './supervisor.ts';

/** How an embedded Synapse is started. */
export interface SynapseOptions {
  readonly supervisor: Supervisor;
  readonly stateDir: string;
  /** The Python of the environment that Synapse is installed in. */
  readonly python: string;
  /** The domain of all user ids. It can never change for a state folder. Default `nomos.local`. */
  readonly serverName?: string;
  /** A port that must be used. Default: the one of last time, else 8008, else any free one. */
  readonly port?: number | undefined;
  /** `default`: Synapse's own limits. `high`: none that a test would meet. */
  readonly rateLimits: 'default' | 'high';
  /** For tests: SQLite does not wait for the disk, and what no test looks at is left out. Default false. */
  readonly fast?: boolean;
}

/** A running embedded Synapse, reachable on 127.0.0.1 only, without federation. */
export interface EmbeddedSynapse {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly serverName: string;
  /** What makes accounts without asking anybody; known to this start alone. */
  readonly registrationSecret: string;
  /** Makes accounts and signs them in. */
  readonly accounts: MatrixAccounts;
  stop(): Promise<void>;
}

interface SynapseState {
  readonly serverName: string;
  readonly registrationSecret: string;
  readonly macaroonSecret: string;
  readonly formSecret: string;
  readonly port?: number;
  /** Set once the server has answered for the first time: its database is whole from then on. */
  readonly made?: true;
}

const secret = (): string => randomBytes(32).toString('base64url');

/** Starts Synapse on SQLite; its first start makes keys, secrets and database. */
export async function startSynapse(options: SynapseOptions): Promise<EmbeddedSynapse> {
  const folder = join(options.stateDir, 'synapse');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const stateFile = join(options.stateDir, 'synapse.json');
  const state: SynapseState = readState<SynapseState>(stateFile) ?? {
    serverName: options.serverName ?? 'nomos.local',
    registrationSecret: secret(),
    macaroonSecret: secret(),
    formSecret: secret(),
  };
  if (state.made !== true) removeHalfMade(folder);
  const keyFile = join(folder, 'signing.key');
  if (!existsSync(keyFile)) {
    const key = randomBytes(32).toString('base64').replace(/=+$/, '');
    writeFileSync(keyFile, `ed25519 a_${randomBytes(2).toString('hex')} ${key}\n`, { mode: 0o600 });
  }
  writeFileSync(join(folder, 'log.json'), JSON.stringify(logging()));
  const wish = {
    name: 'the embedded homeserver',
    fixed: options.port,
    preferred: state.port === undefined ? [8008] : [state.port],
  };
  return onFreePort(wish, async (port) => {
    writeState(stateFile, { ...state, port });
    const url = `http://127.0.0.1:${port}`;
    const mark = randomBytes(16).toString('hex');
    const config = join(folder, 'homeserver.json');
    // JSON is YAML, which is what Synapse reads.
    const settings = { ...configuration(folder, port, state, options), ...marked(url, mark) };
    writeFileSync(config, JSON.stringify(settings, null, 2), { mode: 0o600 });
    const service = options.supervisor.start({
      name: 'synapse',
      command: options.python,
      args: ['-m', 'synapse.app.homeserver', '--config-path', config],
      cwd: folder,
      env: serviceEnvironment({ PYTHONUNBUFFERED: '1', PYTHONNOUSERSITE: '1' }),
      stopSignal: 'SIGTERM',
    });
    await untilReady(service, () => answers(url, mark));
    writeState(stateFile, { ...state, port, made: true });
    return {
      url,
      port,
      pid: service.pid,
      serverName: state.serverName,
      registrationSecret: state.registrationSecret,
      accounts: new MatrixAccounts(url, state.registrationSecret),
      stop: () => service.stop(),
    };
  });
}

/** Synapse makes its tables in several steps and cannot go on from some of them. */
function removeHalfMade(folder: string): void {
  for (const ending of ['', '-wal', '-shm', '-journal']) {
    rmSync(join(folder, `homeserver.db${ending}`), { force: true });
  }
}

const MARK = 'org.nomos.start';

/** Lets the one who started it tell this server from another one that was faster to take the port. */
function marked(url: string, mark: string): object {
  return { public_baseurl: `${url}/`, extra_well_known_client_content: { [MARK]: mark } };
}

function configuration(
  folder: string,
  port: number,
  state: SynapseState,
  options: SynapseOptions,
): object {
  return {
    server_name: state.serverName,
    report_stats: false,
    listeners: [
      {
        port,
        type: 'http',
        tls: false,
        x_forwarded: false,
        bind_addresses: ['127.0.0.1'],
        resources: [{ names: ['client'], compress: false }],
      },
    ],
    database: {
      name: 'sqlite3',
      args: { database: join(folder, 'homeserver.db') },
      ...(options.fast === true ? { synchronous: 'OFF' } : {}),
    },
    log_config: join(folder, 'log.json'),
    media_store_path: join(folder, 'media'),
    signing_key_path: join(folder, 'signing.key'),
    registration_shared_secret: state.registrationSecret,
    macaroon_secret_key: state.macaroonSecret,
    form_secret: state.formSecret,
    enable_registration: false,
    // It speaks to no other server: none is trusted, none is allowed, no link is fetched.
    trusted_key_servers: [],
    suppress_key_server_warning: true,
    federation_domain_whitelist: [],
    allow_public_rooms_over_federation: false,
    url_preview_enabled: false,
    push: { enabled: false },
    max_upload_size: '50M',
    ...(options.rateLimits === 'high' ? highLimits() : {}),
    ...(options.fast === true ? LITTLE_WORK : {}),
  };
}

/** No presence, no user directory, and passwords that need not be hard to guess: no test looks at the first two, and many make users. */
const LITTLE_WORK = {
  presence: { enabled: false },
  user_directory: { enabled: false },
  bcrypt_rounds: 4,
} as const;

function highLimits(): object {
  const high = { per_second: 10_000, burst_count: 100_000 };
  return {
    rc_message: high,
    rc_registration: high,
    rc_login: { address: high, account: high, failed_attempts: high },
    rc_admin_redaction: high,
    rc_joins: { local: high, remote: high },
    rc_joins_per_room: high,
    rc_invites: { per_room: high, per_user: high, per_issuer: high },
    rc_3pid_validation: high,
    rc_third_party_invite: high,
  };
}

function logging(): object {
  return {
    version: 1,
    formatters: { plain: { format: '%(asctime)s %(levelname)s %(name)s %(message)s' } },
    handlers: {
      console: { class: 'logging.StreamHandler', formatter: 'plain', stream: 'ext://sys.stderr' },
    },
    loggers: { 'synapse.storage.SQL': { level: 'WARNING' } },
    root: { level: 'WARNING', handlers: ['console'] },
    disable_existing_loggers: false,
  };
}

async function answers(url: string, mark: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/.well-known/matrix/client`, {
      signal: AbortSignal.timeout(2000),
    });
    return response.ok && ((await response.json()) as Record<string, unknown>)[MARK] === mark;
  } catch {
    // Not listening yet; whether it ever will is judged by the process itself.
    return false;
  }
}
