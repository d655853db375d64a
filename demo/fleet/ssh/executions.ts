import { encodeMessage } from '../../../core/executions/remote/frames.ts';
import type { EndCause } from '../../../core/executions/remote/frames.ts';
import type { Shell, ShellEnd } from '../machine/shell.ts';

type OutputStream = 'stdout' | 'stderr';

/** Whoever listens to an execution: gets bytes of the protocol, then is told that there are no more. */
export interface Follower {
  send(bytes: Buffer): void;
  finish(): void;
}

/** Output of ended executions that is kept whole, in bytes; of the oldest beyond that only the end is. */
const KEPT_BYTES = 16 * 1024 * 1024;
/** What is kept of each stream of an older one, in bytes. */
const KEPT_TAIL = 4_096;
/** Exit code of a command that a signal ended. */
const TERMINATED = 143;

interface Run {
  readonly startedMs: number;
  readonly stopper: AbortController;
  readonly followers: Set<Follower>;
  readonly bytes: Record<OutputStream, number>;
  chunks: { stream: OutputStream; afterGap: boolean; bytes: Buffer }[];
  cause: EndCause;
  /** The last thing that is said about it; undefined while it runs. */
  last: Buffer | undefined;
}

/**
 * What the remote wrapper's state directory is on a real machine: which execution ids were claimed, what became of them
 * and what they said. One for each machine and container; it outlives connections and reboots.
 */
export class Executions {
  readonly #shell: Shell;
  readonly #claims = new Map<string, Run | 'void'>();
  readonly #ended: Run[] = [];
  #keptBytes = 0;

  constructor(shell: Shell) {
    this.#shell = shell;
  }

  /** Claims the id and runs the command, or follows what the id was claimed for before. Returns how to leave. */
  start(id: string, command: string, timeoutMs: number, follower: Follower): () => void {
    const before = this.#claims.get(id);
    if (before === 'void') return answer(follower, { type: 'void' });
    if (before) {
      follower.send(encodeMessage({ type: 'exists', shell: 'bash' }));
      return follow(before, follower);
    }
    const run: Run = {
      startedMs: performance.now(),
      stopper: new AbortController(),
      followers: new Set(),
      bytes: { stdout: 0, stderr: 0 },
      chunks: [],
      cause: 'exit',
      last: undefined,
    };
    this.#claims.set(id, run);
    follower.send(encodeMessage({ type: 'started', shell: 'bash' }));
    const leave = follow(run, follower);
    void this.#play(run, command, timeoutMs);
    return leave;
  }

  /** Follows an execution from its first byte. Never starts one; an unknown id can no longer be started afterwards. */
  attach(id: string, follower: Follower): () => void {
    const run = this.#claims.get(id);
    if (!run || run === 'void') {
      this.#claims.set(id, 'void');
      return answer(follower, { type: 'void' });
    }
    follower.send(encodeMessage({ type: 'attached', shell: 'bash' }));
    return follow(run, follower);
  }

  /** Ends an execution and tells its end, without its output. */
  cancel(id: string, follower: Follower): () => void {
    const run = this.#claims.get(id);
    if (!run || run === 'void') {
      this.#claims.set(id, 'void');
      return answer(follower, { type: 'void' });
    }
    if (run.last) {
      follower.send(run.last);
      follower.finish();
      return () => undefined;
    }
    run.followers.add({
      send: () => undefined,
      finish: () => {
        if (run.last) follower.send(run.last);
        follower.finish();
      },
    });
    stop(run, 'cancel');
    return () => undefined;
  }

  async #play(run: Run, command: string, timeoutMs: number): Promise<void> {
    const timer = setTimeout(() => stop(run, 'timeout'), Math.min(timeoutMs, MAX_TIMER_MS));
    const end = await this.#shell.run({
      command,
      signal: run.stopper.signal,
      output: (stream, bytes) => {
        run.bytes[stream] += bytes.length;
        run.chunks.push({ stream, afterGap: false, bytes });
        const frame = encodeMessage({ type: 'output', stream, afterGap: false, bytes });
        for (const follower of run.followers) follower.send(frame);
      },
    });
    clearTimeout(timer);
    run.last = encodeMessage(lastMessage(run, end));
    for (const follower of run.followers) {
      follower.send(run.last);
      follower.finish();
    }
    run.followers.clear();
    this.#keep(run);
  }

  #keep(run: Run): void {
    this.#ended.push(run);
    this.#keptBytes += run.bytes.stdout + run.bytes.stderr;
    while (this.#keptBytes > KEPT_BYTES) {
      const oldest = this.#ended.shift();
      if (!oldest) break;
      this.#keptBytes -= oldest.bytes.stdout + oldest.bytes.stderr;
      oldest.chunks = (['stdout', 'stderr'] as const).flatMap((stream) => tail(oldest, stream));
    }
  }
}

/** The longest that a timer of this runtime can be set to. */
const MAX_TIMER_MS = 2_147_483_647;

function stop(run: Run, cause: EndCause): void {
  if (run.last || run.stopper.signal.aborted) return;
  run.cause = cause;
  run.stopper.abort();
}

function follow(run: Run, follower: Follower): () => void {
  for (const chunk of run.chunks) follower.send(encodeMessage({ type: 'output', ...chunk }));
  if (run.last) {
    follower.send(run.last);
    follower.finish();
    return () => undefined;
  }
  run.followers.add(follower);
  return () => run.followers.delete(follower);
}

function answer(follower: Follower, message: { type: 'void' }): () => void {
  follower.send(encodeMessage(message));
  follower.finish();
  return () => undefined;
}

function lastMessage(run: Run, end: ShellEnd): Parameters<typeof encodeMessage>[0] {
  if (end.kind === 'machine_down') return { type: 'gone', reason: 'rebooted', alive: false };
  return {
    type: 'end',
    cause: end.kind === 'stopped' ? run.cause : 'exit',
    exitCode: end.kind === 'stopped' ? TERMINATED : end.exitCode,
    groupGone: true,
    durationMs: performance.now() - run.startedMs,
    stdoutBytes: run.bytes.stdout,
    stderrBytes: run.bytes.stderr,
  };
}

function tail(run: Run, stream: OutputStream): Run['chunks'] {
  const whole = Buffer.concat(
    run.chunks.filter((chunk) => chunk.stream === stream).map(({ bytes }) => bytes),
  );
  if (whole.length <= KEPT_TAIL)
    return whole.length > 0 ? [{ stream, afterGap: false, bytes: whole }] : [];
  return [{ stream, afterGap: true, bytes: Buffer.from(whole.subarray(-KEPT_TAIL)) }];
}
