import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../core/main.ts', import.meta.url));

/** Nomos as a process of its own, as an owner starts it. */
export class NomosProcess implements AsyncDisposable {
  readonly child: ChildProcess;
  readonly #dir: string;
  #log = '';

  private constructor(child: ChildProcess, dir: string) {
    this.child = child;
    this.#dir = dir;
    for (const stream of [child.stdout, child.stderr])
      stream?.on(
        'data',
        (chunk: Buffer) => (this.#log = (this.#log + chunk.toString()).slice(-50_000)),
      );
  }

  /** Starts it with these variables and nothing else of the environment but what Node needs. `roles`: all. */
  static start(env: NodeJS.ProcessEnv, roles?: string): NomosProcess {
    const dir = mkdtempSync(path.join(tmpdir(), 'nomos-bench-'));
    writeFileSync(
      path.join(dir, 'inventory.yaml'),
      env['BENCH_INVENTORY'] ?? 'version: 1\nentities: []\n',
    );
    const key = path.join(dir, 'key');
    if (env['NOMOS_SSH_KEY_FILE'] === undefined)
      execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
    const child = spawn(
      process.execPath,
      [MAIN, 'start', ...(roles === undefined ? [] : ['--role', roles])],
      {
        cwd: dir,
        env: {
          PATH: process.env['PATH'],
          HOME: dir,
          NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
          NOMOS_SSH_KEY_FILE: key,
          NOMOS_INVENTORY: path.join(dir, 'inventory.yaml'),
          NOMOS_LOG_LEVEL: 'info',
          ...env,
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    return new NomosProcess(child, dir);
  }

  /** What it has logged and printed, the last of it. */
  get log(): string {
    return this.#log;
  }

  /** Memory that it holds, by the kernel, in MiB: now (`VmRSS`) or at most so far (`VmHWM`). */
  async memoryMiB(which: 'VmRSS' | 'VmHWM'): Promise<number> {
    const status = await readFile(`/proc/${this.child.pid}/status`, 'utf8');
    return Number(new RegExp(`${which}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1024;
  }

  /** Waits until its words match, and gives the match. Throws with its log if it ends before. */
  async said(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this.#log);
      if (found !== null) return found;
      if (this.child.exitCode !== null) throw new Error(`Nomos ended:\n${this.#log}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      const gone = once(this.child, 'exit');
      this.child.kill('SIGTERM');
      await gone;
    }
    rmSync(this.#dir, { recursive: true, force: true });
  }
}
