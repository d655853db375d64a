import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { processIdentity } from '../../scripts/lib/identity.mjs';
import { SetupError, systemCode } from './errors.ts';
import { endProcess } from './end-process.ts';
import type { KnownProcess } from './end-process.ts';

/** A program to be started as an embedded service. */
export interface ServiceCommand {
  /** Short and fit for a file name: `postgres`, `valkey`, `synapse`. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Whom to run as, when this process may change that. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
  /** The signal that ends it in good order. */
  readonly stopSignal: 'SIGINT' | 'SIGTERM';
}

/** A service that was started. */
export interface ServiceProcess {
  readonly name: string;
  readonly pid: number;
  readonly logFile: string;
  /** Resolves, never rejects, when the process has ended, with words about how. */
  readonly ended: Promise<string>;
  /** Set once it has ended. */
  readonly endedAs: () => string | undefined;
  stop(): Promise<void>;
}

/**
 * Starts the services of one state folder and sees that none outlives its use: each runs in a process group of its
 * own and stands in `<state>/run/<name>.json` with pid and identity. A watchdog ends them if this process is killed;
 * should the watchdog be killed as well, the next start finds them by their files.
 */
export class Supervisor {
  readonly #runDir: string;
  readonly #logDir: string;
  readonly #services = new Set<ServiceProcess>();
  #watchdog: ChildProcess | undefined;

  constructor(stateDir: string, logDir: string) {
    this.#runDir = join(stateDir, 'run');
    this.#logDir = logDir;
    mkdirSync(this.#runDir, { recursive: true });
    mkdirSync(this.#logDir, { recursive: true });
  }

  /** Ends what an earlier run of the same state folder left. Returns the names of what was found. */
  async endLeftovers(): Promise<string[]> {
    const found: string[] = [];
    await Promise.all(
      readdirSync(this.#runDir)
        .filter((file) => file.endsWith('.json'))
        .map(async (file) => {
          const path = join(this.#runDir, file);
          const known = readKnownProcess(path);
          if (known !== undefined && (await endProcess(known))) found.push(file.slice(0, -5));
          rmSync(path, { force: true });
        }),
    );
    return found;
  }

  /** Starts a service. Its output goes to `<logs>/<name>.log`; the log of the run before is kept as `.log.1`. */
  start(service: ServiceCommand): ServiceProcess {
    const logFile = join(this.#logDir, `${service.name}.log`);
    if (existsSync(logFile)) renameSync(logFile, `${logFile}.1`);
    const log = openSync(logFile, 'a', 0o600);
    let child: ChildProcess;
    try {
      child = spawn(service.command, service.args, {
        cwd: service.cwd,
        env: service.env ?? process.env,
        detached: true,
        stdio: ['ignore', log, log],
        ...(service.user ?? {}),
      });
    } finally {
      closeSync(log);
    }
    const { promise: ended, resolve } = Promise.withResolvers<string>();
    let endedAs: string | undefined;
    const onEnd = (how: string): void => {
      endedAs ??= how;
      resolve(endedAs);
    };
    child.once('error', (error) => onEnd(`it could not be started: ${error.message}`));
    child.once('exit', (code, signal) =>
      onEnd(signal === null ? `it ended with exit code ${code}` : `it was ended by ${signal}`),
    );
    const identity = child.pid === undefined ? undefined : processIdentity(child.pid);
    const pidFile = join(this.#runDir, `${service.name}.json`);
    const known: KnownProcess | undefined =
      child.pid === undefined || identity === undefined
        ? undefined
        : { pid: child.pid, identity, stopSignal: service.stopSignal };
    if (known !== undefined) {
      writeFileSync(pidFile, JSON.stringify(known), { mode: 0o600 });
      this.#watch(known);
    }
    child.unref();
    const started: ServiceProcess = {
      name: service.name,
      pid: child.pid ?? 0,
      logFile,
      ended,
      endedAs: () => endedAs,
      stop: async () => {
        if (known !== undefined && endedAs === undefined) {
          // While it is waited for, it keeps this process alive.
          child.ref();
          await endProcess(known);
          // A child of ours stays in the process table until its end has been noticed here.
          await ended;
        }
        this.#services.delete(started);
        rmSync(pidFile, { force: true });
      },
    };
    this.#services.add(started);
    return started;
  }

  /** Stops everything that was started, the newest first. */
  async stop(): Promise<void> {
    await Promise.all([...this.#services].toReversed().map((service) => service.stop()));
    this.#watchdog?.stdin?.end();
    this.#watchdog = undefined;
  }

  #watch(known: KnownProcess): void {
    if (this.#watchdog === undefined) {
      const script = fileURLToPath(new URL('./watchdog.ts', import.meta.url));
      const child = spawn(process.execPath, [script], {
        detached: true,
        stdio: ['pipe', 'ignore', 'ignore'],
        cwd: dirname(script),
        env: {},
      });
      // Without a watchdog the next start still cleans up; nothing that runs now is harmed.
      child.once('error', () => (this.#watchdog = undefined));
      child.stdin.on('error', () => (this.#watchdog = undefined));
      child.unref();
      const stdin: unknown = child.stdin;
      if (hasUnref(stdin)) stdin.unref();
      this.#watchdog = child;
    }
    this.#watchdog.stdin?.write(`${JSON.stringify(known)}\n`);
  }
}

/** Waits until a service answers. Its end before that is an error with the last lines of its log. */
export async function untilReady(
  service: ServiceProcess,
  isReady: () => Promise<boolean>,
  limitMs = 60_000,
): Promise<void> {
  const deadline = Date.now() + limitMs;
  for (;;) {
    if (await isReady()) return;
    const how = service.endedAs();
    if (how !== undefined) throw serviceFailed(service, how);
    if (Date.now() > deadline) {
      await service.stop();
      throw serviceFailed(service, `it did not answer within ${Math.round(limitMs / 1000)} s`);
    }
    await Promise.race([service.ended, new Promise((resolve) => setTimeout(resolve, 50))]);
  }
}

function serviceFailed(service: ServiceProcess, how: string): SetupError {
  return new SetupError(
    'setup_service_failed',
    `The embedded ${service.name} is not available: ${how}. Its log ${service.logFile} ends with:\n${lastLines(service.logFile)}`,
  );
}

/** The last lines of a log, indented; words that say so if there are none. */
export function lastLines(file: string, count = 12): string {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return '    (no log was written)';
    throw error;
  }
  const lines = text.trimEnd().split('\n').slice(-count);
  return lines.map((line) => `    ${line}`).join('\n');
}

function readKnownProcess(path: string): KnownProcess | undefined {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    // Cut off by a crash while it was written: the process had started in that very moment and is looked for by
    // whoever owns the data.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { pid, identity, stopSignal } = value as Partial<KnownProcess>;
  if (typeof pid !== 'number' || typeof identity !== 'string') return undefined;
  return { pid, identity, stopSignal: stopSignal === 'SIGINT' ? 'SIGINT' : 'SIGTERM' };
}

function hasUnref(value: unknown): value is { unref(): void } {
  return typeof value === 'object' && value !== null && 'unref' in value;
}
