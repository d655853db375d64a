import { setTimeout as delay } from 'node:timers/promises';
import type { CancelEnd, CommandTarget, RunEnd, RunRequest } from '../ports.ts';
import type { ExecChannel } from '../ssh/channel.ts';
import { SshError, type SshErrorCode } from '../ssh/errors.ts';
import type { ConnectionPool } from '../ssh/pool.ts';
import { cancelEnd, finalEnd, withoutEnd, type Forced } from './change-ends.ts';
import { notSent, RunRecord } from './ends.ts';
import { attachRequest, cancelRequest, startRequest, type ExecRequest } from './protocol.ts';
import { talk } from './talk.ts';

/** Time limits around changes, in milliseconds. */
export interface ChangeTimes {
  /** Between TERM and KILL on the target. */
  graceMs: number;
  /** How long a re-attachment goes on trying to reach its target. */
  reattachForMs: number;
  /** How much later than it should a target may tell the end of a timed-out or cancelled command. */
  slackMs: number;
}

// What may be over in a moment. Other errors (a changed key, a refused login) do not mend themselves.
const TRANSIENT: ReadonlySet<SshErrorCode> = new Set([
  'ssh_name_not_found',
  'ssh_refused',
  'ssh_unreachable',
  'ssh_timeout',
  'ssh_closed_early',
  'ssh_connection_lost',
  'ssh_channel_refused',
]);
const CANCEL_TRIES = 3;
const RETRY_MS = 250;

/** Changes: commands that a target runs at most once per id, with a wrapper that outlives the connection. */
export class Changes {
  readonly #pool: ConnectionPool;
  readonly #times: ChangeTimes;

  constructor(pool: ConnectionPool, times: ChangeTimes) {
    this.#pool = pool;
    this.#times = times;
  }

  async run(request: RunRequest): Promise<RunEnd> {
    const record = new RunRecord(request);
    try {
      const { target, executionId, command, timeoutMs, fixed } = request;
      const { graceMs } = this.#times;
      const exec = startRequest(target, executionId, command, timeoutMs, graceMs, fixed);
      return await this.#follow(request, record, exec, true);
    } catch (error) {
      return notSent(record, error);
    }
  }

  async reattach(request: RunRequest): Promise<RunEnd> {
    const giveUpAt = performance.now() + this.#times.reattachForMs;
    for (;;) {
      const record = new RunRecord(request);
      request.onRestart?.();
      let end: RunEnd;
      try {
        end = await this.#follow(
          request,
          record,
          attachRequest(request.target, request.executionId),
          false,
        );
      } catch (error) {
        if (!(error instanceof SshError)) throw error;
        end = { kind: 'connection_lost', error, ...record.output(undefined) };
      }
      if (
        end.kind !== 'connection_lost' ||
        !TRANSIENT.has(end.error.code) ||
        performance.now() > giveUpAt
      )
        return end;
      await delay(RETRY_MS);
    }
  }

  async cancel(executionId: string, target: CommandTarget): Promise<CancelEnd> {
    for (let tries = 1; ; tries += 1) {
      const end = await this.#cancelOnce(executionId, target);
      if (end.kind !== 'failed' || !TRANSIENT.has(end.error.code) || tries === CANCEL_TRIES)
        return end;
      await delay(RETRY_MS);
    }
  }

  async #cancelOnce(executionId: string, target: CommandTarget): Promise<CancelEnd> {
    let hungUp: NodeJS.Timeout | undefined;
    try {
      const said = await talk(this.#pool.host(target.host), cancelRequest(target, executionId), {
        id: executionId,
        control: true,
        faultPoint: 'remote.cancel',
        onOutput: () => {},
        onChannel: (channel) => {
          hungUp = setTimeout(() => channel.close(), this.#times.graceMs + this.#times.slackMs);
        },
      });
      return cancelEnd(target, said);
    } catch (error) {
      if (error instanceof SshError) return { kind: 'failed', error };
      throw error;
    } finally {
      clearTimeout(hungUp);
    }
  }

  // Takes in what a start or an attachment says, and ends the command when that is asked or it overstays.
  async #follow(
    request: RunRequest,
    record: RunRecord,
    exec: ExecRequest,
    starting: boolean,
  ): Promise<RunEnd> {
    const { target, executionId, signal, timeoutMs, overdueMs = timeoutMs } = request;
    const { graceMs, slackMs } = this.#times;
    let channel: ExecChannel | undefined;
    let forced: Forced | undefined;
    let hangUp: NodeJS.Timeout | undefined;
    let forcing: Promise<void> | undefined;
    let forcedWhy: Forced['why'] | undefined;
    let over = false;

    const force = (why: 'cancel' | 'overdue'): void => {
      // Told at once: the end of the command may come before that of the cancellation.
      forcedWhy ??= why;
      forcing ??= this.cancel(executionId, target).then((end) => {
        forced = { why, end };
        // The channel tells the end itself, with the last of the output, unless it is as dead as that.
        if (!over) hangUp = setTimeout(() => channel?.close(), end.kind === 'failed' ? 0 : slackMs);
      });
      // Told where it is waited for, if it still is.
      forcing.catch(() => {});
    };
    const cancel = (): void => force('cancel');
    let overdue: NodeJS.Timeout | undefined;
    try {
      const said = await talk(this.#pool.host(target.host), exec, {
        id: executionId,
        // An attachment is made even for a command that is to be cancelled: something may run.
        signal: starting ? signal : undefined,
        faultPoint: starting ? 'remote.start' : 'remote.attach',
        onOutput: (stream, chunk, afterGap) => record.take(stream, chunk, afterGap),
        onChannel: (opened) => {
          channel = opened;
          record.sent();
          overdue = setTimeout(() => force('overdue'), overdueMs + graceMs + slackMs);
          // Until now the signal only kept the request from being sent.
          if (signal?.aborted === true) cancel();
          else signal?.addEventListener('abort', cancel, { once: true });
        },
      });
      over = true;
      if (said.final !== undefined)
        return finalEnd(request, record, said, said.final, starting, forcedWhy);
      await forcing;
      return withoutEnd(request, record, said, starting, forced);
    } finally {
      over = true;
      clearTimeout(overdue);
      clearTimeout(hangUp);
      signal?.removeEventListener('abort', cancel);
    }
  }
}
