import type { CancelEnd, CommandTarget, RunEnd, RunRequest } from '../ports.ts';
import { SshError } from '../ssh/errors.ts';
import {
  exited,
  goneReason,
  lost,
  neverStarted,
  refusal,
  type RunRecord,
  stateGone,
  targetName,
  unfit,
} from './ends.ts';
import type { FinalMessage, Talk } from './talk.ts';

/** Why a command is being ended from here, and what came of it. */
export interface Forced {
  why: 'cancel' | 'overdue';
  end: CancelEnd;
}

/**
 * For a channel that ended without telling how the command did. `forced`: what a cancellation found meanwhile. A command that it
 * found ended is attached to again all the same: only that brings the rest of its output.
 */
export function withoutEnd(
  request: RunRequest,
  record: RunRecord,
  said: Talk,
  starting: boolean,
  forced: Forced | undefined,
): RunEnd {
  const { target } = request;
  const output = record.output(said.shell);
  if (forced?.end.kind === 'never_started') {
    // It began, as this channel was told: what is gone is its state on the target, and with it the way to end it.
    if (said.shell !== undefined)
      return { kind: 'unknown', reason: stateGone(target), alive: true, ...output };
    return forced.why === 'cancel'
      ? { kind: 'cancelled', groupGone: true, started: false, ...output }
      : { kind: 'not_started', error: neverStarted(target) };
  }
  const error =
    said.error ?? (said.begun || said.exit === undefined ? lost(target) : unfit(target, said));
  // Only a start that never reached the wrapper is known to have done nothing; an attachment says nothing about the start.
  if (error.code === 'ssh_target_unfit' && starting) return { kind: 'not_started', error };
  return { kind: 'connection_lost', error, ...output };
}

/** The end that the wrapper told. `why`: what it was ended for from here, if it was. */
export function finalEnd(
  request: RunRequest,
  record: RunRecord,
  said: Talk,
  final: FinalMessage,
  starting: boolean,
  why: Forced['why'] | undefined,
): RunEnd {
  const { target, signal, timeoutMs } = request;
  switch (final.type) {
    case 'void':
      if (signal?.aborted === true)
        return { kind: 'cancelled', groupGone: true, started: false, ...record.output(said.shell) };
      return { kind: 'not_started', error: neverStarted(target) };
    case 'refused':
      return starting
        ? { kind: 'not_started', error: refusal(target, final.reason, final.text) }
        : {
            kind: 'connection_lost',
            error: refusal(target, final.reason, final.text),
            ...record.output(said.shell),
          };
    case 'gone':
      return {
        kind: 'unknown',
        reason: goneReason(target, final.reason, final.alive),
        alive: final.alive,
        ...record.output(said.shell),
      };
    case 'end': {
      const output = record.output(said.shell, final);
      if (final.cause === 'exit') return exited(final.exitCode, output);
      const { groupGone } = final;
      // An overdue command that was ended from here, by us or by a worker before us, ran into its time limit, whatever the
      // target calls it: what nobody cancelled was not cancelled.
      const overdue =
        why === 'overdue' || (signal?.aborted !== true && final.durationMs >= timeoutMs);
      return final.cause === 'timeout' || overdue
        ? { kind: 'timed_out', groupGone, ...output }
        : { kind: 'cancelled', groupGone, started: true, ...output };
    }
  }
}

/** What a cancellation was told. */
export function cancelEnd(target: CommandTarget, said: Talk): CancelEnd {
  const { final } = said;
  switch (final?.type) {
    case 'void':
      return { kind: 'never_started' };
    case 'end':
      return {
        kind: 'ended',
        by: final.cause,
        exitCode: final.exitCode,
        groupGone: final.groupGone,
      };
    case 'gone':
      return {
        kind: 'unknown',
        reason: goneReason(target, final.reason, final.alive),
        alive: final.alive,
      };
    case 'refused':
      return { kind: 'failed', error: refusal(target, final.reason, final.text) };
    default:
      break;
  }
  if (said.error !== undefined) return { kind: 'failed', error: said.error };
  if (!said.begun && said.exit !== undefined) return { kind: 'failed', error: unfit(target, said) };
  return {
    kind: 'failed',
    error: new SshError(
      'ssh_connection_lost',
      `${targetName(target)} did not tell the end of the cancelled command in time.`,
    ),
  };
}
