import { Buffer } from 'node:buffer';
import { constants } from 'node:os';
import { performance } from 'node:perf_hooks';
import type { CommandTarget, OutputStream, RunEnd, RunOutput, RunRequest } from '../ports.ts';
import { SshError } from '../ssh/errors.ts';
import { OutputCapture } from './capture.ts';
import type { RemoteMessage, RemoteShell } from './frames.ts';
import type { Talk } from './talk.ts';

/** Gathers what one run puts out, and makes its end. */
export class RunRecord {
  readonly #request: RunRequest;
  #since = performance.now();
  readonly #captures = { stdout: new OutputCapture(), stderr: new OutputCapture() };

  constructor(request: RunRequest) {
    this.#request = request;
  }

  take(stream: OutputStream, chunk: Uint8Array, afterGap: boolean): void {
    if (afterGap) this.#captures[stream].gapOnce();
    this.#captures[stream].push(chunk);
    this.#request.onOutput?.(stream, chunk);
  }

  /** The request has left; what it waited for its turn does not count. */
  sent(): void {
    this.#since = performance.now();
  }

  get elapsedMs(): number {
    return performance.now() - this.#since;
  }

  output(shell: RemoteShell | undefined, end?: Extract<RemoteMessage, { type: 'end' }>): RunOutput {
    return {
      stdout: this.#captures.stdout.end(end?.stdoutBytes),
      stderr: this.#captures.stderr.end(end?.stderrBytes),
      // A target without /proc/uptime tells 0.
      durationMs:
        end !== undefined && end.durationMs > 0 ? end.durationMs : Math.round(this.elapsedMs),
      shell,
    };
  }
}

/** An exit code as an end, with the signal that it stands for by the shells' convention. */
export function exited(exitCode: number, output: RunOutput): RunEnd {
  const signal = Object.entries(constants.signals).find(
    ([, number]) => exitCode === 128 + number,
  )?.[0];
  return { kind: 'exited', exitCode, ...(signal === undefined ? {} : { signal }), ...output };
}

/** The way a target is named in a sentence. */
export function targetName(target: CommandTarget): string {
  return target.container === undefined
    ? target.host.slug
    : `${target.container.slug} (on ${target.host.slug})`;
}

/** The target ran something else than the wrapper, or nothing: no shell, no `pct`, a stopped container. */
export function unfit(target: CommandTarget, talk: Talk): SshError {
  const exit =
    talk.exit === undefined
      ? ''
      : 'code' in talk.exit
        ? `exit code ${talk.exit.code}`
        : `signal ${talk.exit.signal}`;
  const words = Buffer.from(talk.stderr, 'latin1').toString().trim();
  return new SshError(
    'ssh_target_unfit',
    `${targetName(target)} did not run our shell script (${exit})${words === '' ? '.' : `: ${words}`}`,
    {
      fields: { target: targetName(target), stderr: words },
      ...(target.container === undefined
        ? {}
        : { hint: `Is container ${target.container.pveId} running on ${target.host.slug}?` }),
    },
  );
}

/** The wrapper said why it would not begin. */
export function refusal(target: CommandTarget, reason: string, text: string): SshError {
  if (reason === 'changed') {
    return new SshError(
      'ssh_script_changed',
      `${text} on ${targetName(target)} is not what it was when this was asked for, so nothing was started.`,
      {
        hint: 'Look at what is in it now, then ask again: the new content is what is decided on then.',
        fields: { target: targetName(target), file: text },
      },
    );
  }
  return new SshError('ssh_target_unfit', `${targetName(target)} cannot run the command: ${text}`, {
    fields: { target: targetName(target), reason },
  });
}

/** Nothing ever ran under this id, and nothing will. */
export function neverStarted(target: CommandTarget): SshError {
  return new SshError(
    'ssh_never_started',
    `The command never started on ${targetName(target)}, and will not start under this id any more.`,
  );
}

/** The connection ended in the middle. */
export function lost(target: CommandTarget): SshError {
  return new SshError(
    'ssh_connection_lost',
    `The connection to ${targetName(target)} was lost while the command ran.`,
  );
}

/** Why the end of a change cannot be known. */
export function goneReason(
  target: CommandTarget,
  reason: 'rebooted' | 'lost',
  alive: boolean,
): string {
  const name = targetName(target);
  if (reason === 'rebooted') return `${name} was restarted while the command ran.`;
  const rest = alive ? 'parts of the command still run' : 'nothing of the command runs any more';
  return `What watched the command on ${name} was ended from outside; ${rest}, and its exit code was not kept.`;
}

/** Why a command that began can be neither followed nor ended. */
export function stateGone(target: CommandTarget): string {
  return `It began on ${targetName(target)}, and what is kept of it there is gone (rolled back, or its state directory deleted): it could not be ended, and may still run.`;
}

/** The end of a request that provably never left. Throws what is no failure of SSH. */
export function notSent(record: RunRecord, error: unknown): RunEnd {
  if (!(error instanceof SshError)) throw error;
  if (error.code !== 'ssh_cancelled') return { kind: 'not_started', error };
  return { kind: 'cancelled', groupGone: true, started: false, ...record.output(undefined) };
}
