import { Buffer } from 'node:buffer';
import { faultPoint } from '../../faults.ts';
import { errorText } from '../../errors.ts';
import type { OutputStream } from '../ports.ts';
import type { ChannelExit, ExecChannel } from '../ssh/channel.ts';
import { asError, SshError } from '../ssh/errors.ts';
import type { HostConnections } from '../ssh/host-connections.ts';
import { MessageReader, type RemoteMessage, type RemoteShell } from './frames.ts';
import type { ExecRequest } from './protocol.ts';

/** A message that settles how an action ended. */
export type FinalMessage = Extract<RemoteMessage, { type: 'refused' | 'void' | 'end' | 'gone' }>;

/** What came out of one exec request that may have arrived. */
export interface Talk {
  /** The wrapper ran; without it nothing of ours did. */
  begun: boolean;
  shell: RemoteShell | undefined;
  final: FinalMessage | undefined;
  /** What the server said about the process; undefined if the channel ended with the connection. */
  exit: ChannelExit | undefined;
  /** The beginning of standard error where that is not the command's own. */
  stderr: string;
  /** Why it ended early, if it did. */
  error: SshError | undefined;
}

/** What a talk reports while it goes on. */
export interface TalkOptions {
  id: string;
  control?: boolean;
  signal?: AbortSignal | undefined;
  /** The fault point before the request leaves. */
  faultPoint: string;
  /** After `started`, standard output and error are the command's own. */
  raw?: boolean;
  onOutput(stream: OutputStream, chunk: Uint8Array, afterGap: boolean): void;
  /** The channel is there: the request is on its way. */
  onChannel?(channel: ExecChannel): void;
}

/** After the process has ended, whatever still holds its channel open is waited for this long. */
const LINGER_MS = 2_000;

const STDERR_CHARS = 2_000;

/**
 * Sends one request of the protocol and takes in what is said until the channel ends. Rejects with `SshError`
 * only if provably nothing was sent that could run.
 */
export async function talk(
  host: HostConnections,
  request: ExecRequest,
  options: TalkOptions,
): Promise<Talk> {
  const result: Talk = {
    begun: false,
    shell: undefined,
    final: undefined,
    exit: undefined,
    stderr: '',
    error: undefined,
  };
  let channel: ExecChannel | undefined;
  let linger: NodeJS.Timeout | undefined;
  let passed: Promise<void> = Promise.resolve();

  const reader = new MessageReader(
    options.id,
    (message) => {
      switch (message.type) {
        case 'begin':
          result.begun = true;
          break;
        case 'started':
        case 'exists':
        case 'attached':
          result.shell = message.shell;
          passed = faultPoint(`remote.${message.type}`);
          // What a test throws there is told where it is waited for, at the end.
          passed.catch(() => {});
          break;
        case 'output':
          options.onOutput(message.stream, message.bytes, message.afterGap);
          break;
        case 'keepalive':
          break;
        default:
          result.final = message;
      }
    },
    options.raw === true ? (chunk) => options.onOutput('stdout', chunk, false) : undefined,
  );

  const closed = new Promise<void>((resolve, reject) => {
    host
      .exec(
        request.exec,
        {
          onStdout: (chunk) => {
            if (result.error !== undefined) return;
            try {
              reader.push(chunk);
            } catch (error) {
              result.error = asSshError(error);
              channel?.close();
            }
          },
          onStderr: (chunk) => {
            if (options.raw === true && result.shell !== undefined)
              options.onOutput('stderr', chunk, false);
            else if (result.stderr.length < STDERR_CHARS)
              result.stderr += Buffer.from(chunk).toString('latin1');
          },
          onExit: () => {
            linger = setTimeout(() => channel?.close(), LINGER_MS);
          },
          onClose: (exit) => {
            clearTimeout(linger);
            result.exit = exit;
            resolve();
          },
        },
        {
          control: options.control === true,
          signal: options.signal,
          beforeSend: () => faultPoint(options.faultPoint),
        },
      )
      .then((opened) => {
        channel = opened;
        if (result.error !== undefined) opened.close();
        if (request.stdin !== '') opened.write(request.stdin);
        if (!request.holdStdin) opened.endInput();
        options.onChannel?.(opened);
      })
      .catch((error: unknown) => {
        if (error instanceof SshError && error.code === 'ssh_connection_lost') {
          result.error = error;
          resolve();
        } else reject(asError(error));
      });
  });
  await closed;
  await passed;
  return result;
}

function asSshError(error: unknown): SshError {
  if (error instanceof SshError) return error;
  return new SshError(
    'ssh_protocol',
    `What the target said could not be taken in: ${errorText(error)}`,
    { cause: error },
  );
}
