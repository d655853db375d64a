import { randomUUID } from 'node:crypto';
import { Bash, getCommandNames, latin1FromBytes, stdoutAsBytes } from 'just-bash';
import type { CommandName } from 'just-bash';
import { PINNED_ENV } from '../../../core/policy/environment.ts';
import { bindCommands, liveOutputs } from './command.ts';
import type { CommandTable } from './command.ts';
import { withLiveOutput } from './live.ts';
import type { Machine } from './machine.ts';

/** Shells that may run on one machine at once. */
const MAX_SHELLS = 32;

/** What no shell may exceed; a demo needs little, and a runaway must not be felt by others. */
const LIMITS = {
  maxSourceBytes: 256 * 1024,
  maxCommandCount: 10_000,
  maxLoopIterations: 10_000,
  // Appending to an array copies it, and nothing else gets a turn meanwhile.
  maxArrayElements: 2_000,
  maxOutputSize: 8 * 1024 * 1024,
  maxStringLength: 4 * 1024 * 1024,
  maxHeredocSize: 1024 * 1024,
  maxLiveBytes: 64 * 1024 * 1024,
  maxInputBytes: 64 * 1024 * 1024,
  maxArchiveBytes: 16 * 1024 * 1024,
  maxArchiveCompressedBytes: 16 * 1024 * 1024,
  maxBraceExpansionResults: 10_000,
  maxExecutionTimeMs: 2 * 3600 * 1000,
} as const;

/** The pinned path with /usr/bin in front: that is where this shell keeps its own commands. */
const PATH = `/usr/bin:${PINNED_ENV['PATH'] ?? ''}`;

/** Left out: what starts worker threads or what a small server does not have. */
const LEFT_OUT = new Set(['sqlite3', 'xan', 'yq', 'html-to-markdown', 'rg', 'help', 'clear']);

/** One command to run. */
export interface ShellRun {
  readonly command: string;
  /** Receives output as it comes. */
  output(stream: 'stdout' | 'stderr', bytes: Buffer): void;
  /** Stops the command. */
  readonly signal: AbortSignal;
}

/** How a command ended: by itself, because it was stopped, or because its machine went down. */
export type ShellEnd =
  | { readonly kind: 'exited'; readonly exitCode: number }
  | { readonly kind: 'stopped' }
  | { readonly kind: 'machine_down' };

/** The shell of a simulated machine. Nothing that it does reaches outside this process's memory. */
export class Shell {
  readonly machine: Machine;
  readonly #bash: Bash;
  #running = 0;

  constructor(machine: Machine, commands: CommandTable) {
    this.machine = machine;
    this.#bash = new Bash({
      fs: machine.fs,
      cwd: '/root',
      env: { ...PINNED_ENV, PATH, HOME: '/root', USER: 'root', LOGNAME: 'root' },
      commands: getCommandNames().filter((name) => !LEFT_OUT.has(name)) as CommandName[],
      customCommands: bindCommands(machine, commands),
      executionLimitProfile: 'hardened',
      executionLimits: LIMITS,
      processInfo: { pid: 4211, ppid: 1, uid: 0, gid: 0 },
    });
    for (const name of [...getCommandNames(), ...Object.keys(commands)]) {
      if (LEFT_OUT.has(name)) continue;
      for (const folder of ['/usr/sbin', '/sbin']) {
        const script = `#!/bin/sh\n/usr/bin/${name} "$@"\n`;
        machine.fs.writeFileSync(`${folder}/${name}`, script, 'utf8', { mode: 0o755 });
      }
    }
  }

  /** Runs a command to its end. Never rejects for what the command does. */
  async run({ command, output, signal }: ShellRun): Promise<ShellEnd> {
    const { machine } = this;
    if (!machine.up) return { kind: 'machine_down' };
    if (this.#running >= MAX_SHELLS) {
      output('stderr', Buffer.from('bash: fork: retry: Resource temporarily unavailable\n'));
      return { kind: 'exited', exitCode: 254 };
    }
    const life = machine.life;
    const stop = AbortSignal.any([signal, life]);
    const token = randomUUID();
    const stdout = machine.fs.openLive((text, encoding) =>
      output('stdout', bytesOf(text, encoding)),
    );
    const stderr = machine.fs.openLive((text, encoding) =>
      output('stderr', bytesOf(text, encoding)),
    );
    liveOutputs.set(token, (text) => output('stdout', Buffer.from(text)));
    this.#running += 1;
    try {
      const script = withLiveOutput(command, { stdout: stdout.path, stderr: stderr.path, token });
      const result = await this.#bash.exec(script, { signal: stop, rawScript: true });
      if (life.aborted) return { kind: 'machine_down' };
      if (signal.aborted) return { kind: 'stopped' };
      if (result.stdout !== '') {
        output('stdout', Buffer.from(latin1FromBytes(stdoutAsBytes(result)), 'latin1'));
      }
      if (result.stderr !== '') output('stderr', Buffer.from(result.stderr));
      return { kind: 'exited', exitCode: result.exitCode & 255 };
    } catch (error) {
      // A shell that fails in itself fails its command, not the machine.
      output('stderr', Buffer.from(`bash: ${error instanceof Error ? error.message : 'failed'}\n`));
      return { kind: 'exited', exitCode: 126 };
    } finally {
      this.#running -= 1;
      liveOutputs.delete(token);
      stdout.close();
      stderr.close();
    }
  }
}

function bytesOf(text: string, encoding: string): Buffer {
  const bytes = encoding === 'binary' || encoding === 'latin1';
  // oxlint-disable-next-line no-control-regex -- what does not fit a byte cannot be meant as bytes
  return Buffer.from(text, bytes && /^[\0-\xff]*$/.test(text) ? 'latin1' : 'utf8');
}
