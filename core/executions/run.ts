import type { Database } from '../db/database.ts';
import type { Execution } from '../db/rows.ts';
import type { EventFeed } from '../events/subscribe.ts';
import { faultPoint } from '../faults.ts';
import { targetShape } from '../graph/targets.ts';
import type { ExecutionId } from '../ids.ts';
import { leases } from '../leases.ts';
import { log } from '../log.ts';
import { claimExecution, renewExecutionLease, runningFor, takeOverExecution } from './claim.ts';
import { finishExecution, type Mask } from './finish.ts';
import { OutputFollower } from './output.ts';
import type { CommandTarget, RemoteRunner, RunEnd, RunOutput, RunRequest } from './ports.ts';
import { fixedFiles } from './scripts.ts';
import { SshError } from './ssh/errors.ts';

/** What running an execution needs. */
export interface RunDeps {
  database: Database;
  feed: EventFeed;
  runner: RemoteRunner;
  mask: Mask;
  /** This worker's name: the owner of its leases. */
  owner: string;
  /** Fires when the process ends: commands are let go of, to be attached to again (J7). */
  shutdown: AbortSignal;
}

const REATTACH_FIRST_MS = 1_000;
const REATTACH_LONGEST_MS = 30_000;
/** How long after its time limit a change whose host stays away is still waited for. */
const REATTACH_GRACE_MS = 5 * 60_000;

/** Claims a queued execution and sees it through to its end. Does nothing when it is not to be had. */
export async function runExecution(deps: RunDeps, id: ExecutionId): Promise<void> {
  const claim = await claimExecution(deps.database, id, deps.owner);
  if (claim.kind !== 'claimed') {
    if (claim.kind !== 'not_due')
      log.info({ execution: id, claim: claim.kind }, 'execution not started');
    return;
  }
  await seeThrough(deps, claim.execution, 'run');
}

/** Takes over an execution whose worker is gone, and attaches to what it started. Never starts a command (X7). */
export async function resumeExecution(deps: RunDeps, id: ExecutionId): Promise<void> {
  const execution = await takeOverExecution(deps.database, id, deps.owner);
  if (execution !== null) await seeThrough(deps, execution, 'reattach');
}

async function seeThrough(
  deps: RunDeps,
  execution: Execution,
  how: 'run' | 'reattach',
): Promise<void> {
  const id = execution.id as ExecutionId;
  const watch = new Watch(deps, execution);
  const output = new OutputFollower(deps.database, { id, owner: deps.owner, mask: deps.mask });
  try {
    const request: RunRequest = {
      executionId: id,
      target: commandTarget(execution),
      command: execution.command,
      kind: execution.risk === 'read_only' ? 'read' : 'change',
      timeoutMs: execution.timeoutMs,
      fixed: fixedFiles(execution.scripts),
      onOutput: (stream, chunk) => output.add(stream, chunk),
      onRestart: () => output.restart(),
      signal: watch.cancelled,
    };
    await faultPoint('execution.before_start');
    const end = await Promise.race([follow(deps, execution, request, how, watch), watch.gone]);
    if (end === 'gone') {
      // A change goes on without us; a read would go on for nobody.
      if (request.kind === 'read') watch.endIt();
      log.info({ execution: id }, 'execution let go of');
      return;
    }
    await faultPoint('execution.ended');
    await output.stop();
    await finishExecution(deps.database, { id, owner: deps.owner, end, mask: deps.mask });
  } finally {
    watch.stop();
    await output.stop();
  }
}

/** Runs or attaches, and attaches again for as long as the connection is what fails and not the command. */
async function follow(
  deps: RunDeps,
  execution: Execution,
  request: RunRequest,
  how: 'run' | 'reattach',
  watch: Watch,
): Promise<RunEnd> {
  if (how === 'reattach' && request.kind === 'read') return interruptedRead();
  const limitMs = request.timeoutMs + REATTACH_GRACE_MS;
  let ranForMs = how === 'run' ? 0 : await runningFor(deps.database, request.executionId);
  let since = performance.now();
  const leftMs = (): number => limitMs - ranForMs - (performance.now() - since);
  // Another worker's command may have waited for its turn for as long as it seems to run: it has its whole time from now on.
  const mayRunMs = (): number =>
    how === 'run' ? leftMs() : Math.max(leftMs(), request.timeoutMs - (performance.now() - since));
  const reattach = (): Promise<RunEnd> =>
    deps.runner.reattach({ ...request, overdueMs: Math.max(0, mayRunMs()) });
  let end = how === 'run' ? await deps.runner.run(request) : await reattach();
  if (how === 'run' && end.kind === 'connection_lost') {
    // Counted from when it was sent: it may have waited for its turn.
    ranForMs = end.durationMs;
    since = performance.now();
  }
  // That something came from it proves that it began, whatever is found there later.
  let begun = how === 'reattach' && execution.tail !== '';
  let before: RunOutput = NO_OUTPUT;
  let pauseMs = REATTACH_FIRST_MS;
  while (
    end.kind === 'connection_lost' &&
    request.kind === 'change' &&
    !deps.shutdown.aborted &&
    !watch.over
  ) {
    begun ||= end.shell !== undefined;
    if (end.stdout.totalBytes + end.stderr.totalBytes > 0) before = end;
    if (leftMs() < 0) {
      return {
        ...end,
        kind: 'unknown',
        reason: `The connection was lost and the host did not come back: ${end.error.message}`,
        alive: false,
      };
    }
    log.warn(
      { execution: execution.id, error: end.error.message },
      'connection lost; attaching again',
    );
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    pauseMs = Math.min(pauseMs * 2, REATTACH_LONGEST_MS);
    end = await reattach();
  }
  return begun && neverStarted(end) ? vanished(before) : end;
}

function neverStarted(end: RunEnd): boolean {
  return (
    (end.kind === 'not_started' && end.error.code === 'ssh_never_started') ||
    (end.kind === 'cancelled' && !end.started)
  );
}

/** It began, and its target knows nothing of it any more: a container that was rolled back, a state directory that was deleted. */
function vanished({ stdout, stderr, durationMs, shell }: RunOutput): RunEnd {
  return {
    kind: 'unknown',
    reason:
      'It had begun, and what its target kept of it is gone: was it rolled back, or its state directory deleted? It may still run there.',
    alive: false,
    ...{ stdout, stderr, durationMs, shell },
  };
}

const NOTHING = { bytes: new Uint8Array(), totalBytes: 0, droppedBytes: 0, gapAt: undefined };
const NO_OUTPUT: RunOutput = { stdout: NOTHING, stderr: NOTHING, durationMs: 0, shell: undefined };

function commandTarget(execution: Execution): CommandTarget {
  const { host, container } = targetShape.parse(execution.target);
  return container === undefined ? { host } : { host, container };
}

/** A read ends with its worker. Nothing was changed, so it is told as a failure that may simply be repeated. */
function interruptedRead(): RunEnd {
  return {
    kind: 'connection_lost',
    error: new SshError(
      'ssh_connection_lost',
      'It only looked, and the process that ran it went away. It changed nothing and may be repeated.',
    ),
    ...NO_OUTPUT,
  };
}

/** Keeps the lease, and listens for a request to cancel, for as long as an execution is worked on. */
class Watch {
  readonly cancelled: AbortSignal;
  /** Settles when the row is no longer ours, or the process ends. */
  readonly gone: Promise<'gone'>;
  readonly #timer: NodeJS.Timeout;
  readonly #unsubscribe: () => void;
  #forget: () => void = () => {};
  readonly #cancel = new AbortController();
  #over = false;

  constructor(deps: RunDeps, execution: Execution) {
    const id = execution.id as ExecutionId;
    const cancel = this.#cancel;
    this.cancelled = cancel.signal;
    if (execution.cancelRequestedAt !== null) cancel.abort();
    this.#unsubscribe = deps.feed.subscribe((event) => {
      if (event.type === 'execution.cancel_requested' && event.refId === id) cancel.abort();
    });
    let lose: (value: 'gone') => void = () => {};
    this.gone = new Promise((resolve) => (lose = resolve));
    if (deps.shutdown.aborted) lose('gone');
    else {
      // Taken away at the end: the process's signal outlives every execution, and would keep them all.
      const letGo = (): void => lose('gone');
      deps.shutdown.addEventListener('abort', letGo, { once: true });
      this.#forget = () => deps.shutdown.removeEventListener('abort', letGo);
    }
    const beat = async (): Promise<void> => {
      if (!(await renewExecutionLease(deps.database, id, deps.owner))) return lose('gone');
      const row = await deps.database.read.execution.findUnique({
        where: { id },
        select: { cancelRequestedAt: true },
      });
      if (row?.cancelRequestedAt != null) cancel.abort();
    };
    this.#timer = setInterval(() => {
      // A database that is away for a moment is no reason to let go: the lease says when it is.
      beat().catch((error: unknown) => log.warn({ execution: id, error }, 'heartbeat failed'));
    }, leases().heartbeatMs);
  }

  /** Whether the execution is not worked on here any more. */
  get over(): boolean {
    return this.#over;
  }

  /** Ends what runs, though nobody cancelled it. */
  endIt(): void {
    this.#cancel.abort();
  }

  stop(): void {
    this.#over = true;
    clearInterval(this.#timer);
    this.#unsubscribe();
    this.#forget();
  }
}
