import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { FakeClock, findFaketime } from '../../support/fake-clock.ts';
import type { Link } from './link.ts';

const MAIN = fileURLToPath(new URL('../../../core/main.ts', import.meta.url));
const LOG_KEPT = 400_000;

/** How a process of Nomos ended. */
export interface ProcessEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** What a worker is joined to by a line that can be held. */
export type Service = 'database' | 'Redis';

/** Something of Nomos that works, can be killed, and is started again. */
export interface Worker {
  readonly name: string;
  /** How often it was started. */
  readonly starts: number;
  /** Starts it; `killAt` names the fault point (`name#n`) at which it ends itself. Does not wait until it is up. */
  start(killAt?: string): void;
  /** Settles when the life that was started last is over. */
  readonly ended: Promise<ProcessEnd>;
  readonly alive: boolean;
  /** Whether its start is over and it works. */
  readonly up: boolean;
  /** What it printed in this life. */
  readonly log: string;
  /** What it printed in the lives before this one: the end of it. */
  readonly history: string;
  /** Where its API listens, while it is up and has one. */
  readonly apiUrl: string | undefined;
  /** Lets its clock be wrong by so many seconds. Undefined where that cannot be. */
  readonly setClock: ((offBySeconds: number) => void) | undefined;
  /** Lets nothing through between it and a service, and ends no connection either, until the function that it gives is called. */
  part(from: Service): () => void;
  /** Sends a signal. False when it does not run. */
  signal(signal: NodeJS.Signals): boolean;
  /** Ends it by a signal and waits for its end. */
  end(signal: NodeJS.Signals): Promise<ProcessEnd>;
}

const children = new Set<ChildProcess>();

/** Ends every process that is still there, at once: for when the kit itself is ended. */
export function endAllProcesses(): void {
  for (const child of children) child.kill('SIGKILL');
}

/** One process of the program, started again and again over a run. */
export class NomosProcess implements Worker {
  readonly name: string;
  readonly roles: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #cwd: string;
  readonly #lines: Readonly<Record<Service, Link>>;
  #child: ChildProcess | undefined;
  #log = '';
  #ended: Promise<ProcessEnd> = Promise.resolve({ code: 0, signal: null });
  readonly setClock: Worker['setClock'];
  starts = 0;
  history = '';

  constructor(options: {
    name: string;
    roles: string;
    env: NodeJS.ProcessEnv;
    cwd: string;
    /** The lines over which its environment names the services. */
    lines: Readonly<Record<Service, Link>>;
  }) {
    this.#lines = options.lines;
    this.name = options.name;
    this.roles = options.roles;
    const clock =
      findFaketime() === undefined
        ? undefined
        : new FakeClock(path.join(options.cwd, `clock-${options.name}`));
    this.setClock = clock && ((offBySeconds) => clock.set(offBySeconds));
    this.#env = { ...options.env, ...clock?.env };
    this.#cwd = options.cwd;
  }

  start(killAt?: string): void {
    if (this.alive) throw new Error(`${this.name} runs already`);
    this.history = (this.history + this.#log).slice(-LOG_KEPT);
    this.#log = `--- life ${++this.starts} of ${this.name}, to be killed at ${killAt ?? 'nothing'}\n`;
    const child = spawn(process.execPath, [MAIN, 'start', '--role', this.roles], {
      cwd: this.#cwd,
      env: {
        ...this.#env,
        ...(killAt === undefined ? {} : { NOMOS_FAULT_KILL: killAt }),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        this.#log = (this.#log + chunk.toString()).slice(-LOG_KEPT);
      });
    }
    this.#child = child;
    children.add(child);
    child.once('exit', () => children.delete(child));
    this.#ended = once(child, 'exit').then(([code, signal]): ProcessEnd => ({ code, signal }));
  }

  get ended(): Promise<ProcessEnd> {
    return this.#ended;
  }

  get alive(): boolean {
    const child = this.#child;
    return child !== undefined && child.exitCode === null && child.signalCode === null;
  }

  get up(): boolean {
    return this.alive && this.#log.includes('is running (');
  }

  get log(): string {
    return this.#log;
  }

  get apiUrl(): string | undefined {
    return this.up ? /API at (http:\/\/[^ ]+)\./.exec(this.#log)?.[1] : undefined;
  }

  part(from: Service): () => void {
    const line = this.#lines[from];
    line.hold();
    return () => line.release();
  }

  signal(signal: NodeJS.Signals): boolean {
    return this.alive && this.#child?.kill(signal) === true;
  }

  async end(signal: NodeJS.Signals): Promise<ProcessEnd> {
    this.signal(signal);
    return this.#ended;
  }
}
