import type { RunEnd, RunRequest } from '../ports.ts';
import type { ExecChannel } from '../ssh/channel.ts';
import type { ConnectionPool } from '../ssh/pool.ts';
import { exited, lost, notSent, refusal, RunRecord, unfit } from './ends.ts';
import { READ_STOPPED, READ_STOPPED_SOME_LEFT, readRequest } from './protocol.ts';
import { talk, type Talk } from './talk.ts';

/** Time limits around reads, in milliseconds. */
export interface ReadTimes {
  /** Between TERM and KILL on the target. */
  graceMs: number;
  /** How much longer than it should a target may take to end a stopped read. */
  slackMs: number;
}

// The target's own limit comes after ours: it is there for when nobody is left to stop the command.
const REMOTE_LIMIT_LATER_MS = 2_000;

/** Reads: commands that change nothing, end with their channel and leave nothing behind. */
export class Reads {
  readonly #pool: ConnectionPool;
  readonly #times: ReadTimes;

  constructor(pool: ConnectionPool, times: ReadTimes) {
    this.#pool = pool;
    this.#times = times;
  }

  async run(request: RunRequest): Promise<RunEnd> {
    const { target, executionId, command, timeoutMs, signal } = request;
    const { graceMs, slackMs } = this.#times;
    const record = new RunRecord(request);
    let channel: ExecChannel | undefined;
    let stopped: 'cancel' | 'timeout' | undefined;
    let hangUp: NodeJS.Timeout | undefined;
    let limit: NodeJS.Timeout | undefined;

    // The end of its input is the target's word to end the command.
    const stop = (why: 'cancel' | 'timeout'): void => {
      if (stopped !== undefined) return;
      stopped = why;
      channel?.endInput();
      hangUp = setTimeout(() => channel?.close(), graceMs + slackMs);
    };
    const cancel = (): void => stop('cancel');
    try {
      const exec = readRequest(
        target,
        executionId,
        command,
        timeoutMs + REMOTE_LIMIT_LATER_MS,
        graceMs,
      );
      const said = await talk(this.#pool.host(target.host), exec, {
        id: executionId,
        signal,
        raw: true,
        faultPoint: 'remote.read',
        onOutput: (stream, chunk) => record.take(stream, chunk, false),
        onChannel: (opened) => {
          channel = opened;
          limit = setTimeout(() => stop('timeout'), timeoutMs);
          if (signal?.aborted === true) cancel();
          else signal?.addEventListener('abort', cancel, { once: true });
        },
      });
      if (stopped === undefined && record.elapsedMs >= timeoutMs && wasStopped(said))
        stopped = 'timeout';
      return readEnd(request, record, said, stopped);
    } catch (error) {
      return notSent(record, error);
    } finally {
      clearTimeout(limit);
      clearTimeout(hangUp);
      signal?.removeEventListener('abort', cancel);
    }
  }
}

function readEnd(
  request: RunRequest,
  record: RunRecord,
  said: Talk,
  stopped: 'cancel' | 'timeout' | undefined,
): RunEnd {
  const { target } = request;
  const output = record.output(said.shell);
  if (said.final?.type === 'refused')
    return { kind: 'not_started', error: refusal(target, said.final.reason, said.final.text) };
  if (stopped !== undefined && (wasStopped(said) || said.exit === undefined)) {
    const groupGone =
      said.exit !== undefined && 'code' in said.exit && said.exit.code === READ_STOPPED;
    return stopped === 'timeout'
      ? { kind: 'timed_out', groupGone, ...output }
      : { kind: 'cancelled', groupGone, started: said.shell !== undefined, ...output };
  }
  if (said.exit === undefined)
    return { kind: 'connection_lost', error: said.error ?? lost(target), ...output };
  if (!said.begun) return { kind: 'not_started', error: unfit(target, said) };
  return 'code' in said.exit
    ? exited(said.exit.code, output)
    : { kind: 'signalled', signal: said.exit.signal, ...output };
}

function wasStopped(said: Talk): boolean {
  const { exit } = said;
  return (
    exit !== undefined &&
    'code' in exit &&
    (exit.code === READ_STOPPED || exit.code === READ_STOPPED_SOME_LEFT)
  );
}
