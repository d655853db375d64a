/** Long steps: run with their output in a log, their progress on one line, and the log's end shown if they fail. */
import { spawn } from 'node:child_process';
import {
  createWriteStream,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { processIdentity, stillRuns } from './identity.mjs';
import { SetupFailure } from './setup-failure.mjs';

/** @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set();

/** Ends the steps that run, each with everything it started. */
export function endSteps() {
  for (const { pid } of running) {
    if (pid === undefined) continue;
    try {
      process.kill(-pid, 'SIGTERM');
    } catch (error) {
      if (error.code !== 'ESRCH') throw error;
    }
  }
}

/**
 * Runs a program to its end.
 *
 * @param {{
 *   what: string, command: string, args: string[], logFile: string, wayOut: string, cwd?: string,
 *   env?: NodeJS.ProcessEnv, onLine?: (line: string) => void,
 * }} step `what` begins the sentence of a failure, `wayOut` ends it
 */
export async function runStep({ what, command, args, logFile, wayOut, cwd, env, onLine }) {
  mkdirSync(dirname(logFile), { recursive: true });
  const pidFile = `${logFile}.pid`;
  await endLeftover(pidFile);
  const log = createWriteStream(logFile, { flags: 'w', mode: 0o600 });
  log.write(`$ ${[command, ...args].join(' ')}\n`);
  return new Promise((resolve, reject) => {
    const tail = [];
    // A group of its own: ending it ends the programs that it starts in turn.
    const child = spawn(command, args, {
      cwd,
      env: env ?? process.env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.add(child);
    const identity = child.pid === undefined ? undefined : processIdentity(child.pid);
    if (identity !== undefined)
      writeFileSync(pidFile, JSON.stringify({ pid: child.pid, identity }));
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        log.write(`${line}\n`);
        tail.push(line);
        if (tail.length > 15) tail.shift();
        onLine?.(line);
      });
    }
    const finish = (problem) => {
      running.delete(child);
      rmSync(pidFile, { force: true });
      log.end();
      if (problem === undefined) return resolve();
      const shown = tail.map((line) => `    ${line}`).join('\n');
      reject(
        new SetupFailure(
          `${what} failed: ${problem}. ${wayOut}\n${shown}\n    (all of it: ${logFile})`,
        ),
      );
    };
    child.once('error', (error) => finish(error.message));
    child.once('close', (code, signal) => {
      if (code === 0) finish();
      else finish(signal === null ? `exit code ${code}` : `ended by ${signal}`);
    });
  });
}

/** A killed run of ours may have left its step at work: two at once would spoil each other's files. */
async function endLeftover(pidFile) {
  if (!existsSync(pidFile)) return;
  let known;
  try {
    known = JSON.parse(readFileSync(pidFile, 'utf8'));
  } catch {
    // Cut off by the same crash.
    return;
  }
  while (stillRuns(known)) {
    try {
      process.kill(-known.pid, 'SIGKILL');
    } catch (error) {
      if (error.code !== 'ESRCH') throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** How often a long thing is mentioned where no line can change in place. */
const STILL_MS = 20_000;

/**
 * Reports on several things that go on at once. On a terminal each has a line that changes in place; elsewhere (a log,
 * CI) a line is printed when a thing starts and when it ends.
 */
export class Progress {
  #out;
  #live;
  /** @type {Map<string, string>} */
  #rows = new Map();
  #drawn = 0;

  constructor(out = process.stderr) {
    this.#out = out;
    this.#live = out.isTTY === true && process.env.TERM !== 'dumb';
  }

  /**
   * Does a thing and reports it.
   *
   * @template T
   * @param {string} title
   * @param {(report: (text: string) => void) => Promise<T>} work
   * @returns {Promise<T>}
   */
  async run(title, work) {
    const started = Date.now();
    this.#rows.set(title, '');
    if (this.#live) this.#draw();
    else this.#out.write(`nomos: ${title} …\n`);
    const still = this.#live ? undefined : setInterval(() => this.#tell(title), STILL_MS);
    try {
      const result = await work((text) => {
        this.#rows.set(title, text);
        if (this.#live) this.#draw();
      });
      this.#finish(title, `done in ${((Date.now() - started) / 1000).toFixed(1)} s`);
      return result;
    } catch (error) {
      this.#finish(title, 'failed');
      throw error;
    } finally {
      clearInterval(still);
    }
  }

  #tell(title) {
    const text = this.#rows.get(title);
    if (text) this.#out.write(`nomos: ${title}: ${text}\n`);
  }

  #finish(title, how) {
    this.#rows.delete(title);
    this.#clear();
    this.#out.write(`nomos: ${title}: ${how}\n`);
    if (this.#live) this.#draw();
  }

  #clear() {
    if (this.#drawn > 0) this.#out.write(`\x1b[${this.#drawn}A\x1b[J`);
    this.#drawn = 0;
  }

  #draw() {
    this.#clear();
    const width = (this.#out.columns ?? 80) - 1;
    for (const [title, text] of this.#rows) {
      this.#out.write(`${`  … ${title}${text === '' ? '' : `: ${text}`}`.slice(0, width)}\n`);
      this.#drawn++;
    }
  }
}
