import type net from 'node:net';
import type { Client, ClientChannel } from 'ssh2';
import type { HostEndpoint } from '../ports.ts';
import { channelError, where } from './connect-errors.ts';
import { SshError } from './errors.ts';

/** How a channel tells what happens on it. `onClose` comes exactly once, last; its `exit` is what the server said, if it did. */
export interface ChannelHandlers {
  onStdout(chunk: Buffer): void;
  onStderr(chunk: Buffer): void;
  onExit?(): void;
  onClose(exit: ChannelExit | undefined): void;
}

/** How the process on a channel ended. */
export type ChannelExit = { code: number } | { signal: string };

/** One running exec request. */
export interface ExecChannel {
  write(text: string): void;
  endInput(): void;
  close(): void;
}

/** How long a live server may take to answer an exec request. */
const EXEC_ANSWER_MS = 30_000;

/** How long the answer to a close is waited for. */
const CLOSE_ANSWER_MS = 500;

/**
 * Sends an exec request over a live connection. Rejects with `SshError`: `ssh_channel_refused`, `ssh_closed` and
 * `ssh_closed_early` if provably nothing was run, `ssh_connection_lost` if the request may have arrived.
 */
export function openChannel(
  client: Client,
  host: HostEndpoint,
  socket: net.Socket,
  command: string,
  handlers: ChannelHandlers,
): Promise<ExecChannel> {
  return new Promise((resolve, reject) => {
    // A server that answers keepalives but no request is as good as gone.
    const unanswered = setTimeout(() => socket.destroy(), EXEC_ANSWER_MS);
    try {
      client.exec(command, (error, channel) => {
        clearTimeout(unanswered);
        if (error === undefined) resolve(wire(channel, handlers));
        else reject(channelError(host, error, !socket.destroyed));
      });
    } catch (cause) {
      clearTimeout(unanswered);
      // ssh2 throws before it sends anything when the socket is gone.
      reject(
        new SshError(
          'ssh_closed',
          `The connection to ${where(host)} was closed before the command was sent.`,
          { cause },
        ),
      );
    }
  });
}

function wire(channel: ClientChannel, handlers: ChannelHandlers): ExecChannel {
  let exit: ChannelExit | undefined;
  let over = false;
  const finish = (): void => {
    if (over) return;
    over = true;
    handlers.onClose(exit);
  };
  channel.on('data', (chunk: Buffer) => {
    if (!over) handlers.onStdout(chunk);
  });
  channel.stderr.on('data', (chunk: Buffer) => {
    if (!over) handlers.onStderr(chunk);
  });
  channel.on('exit', (code: number | null, signal?: string) => {
    exit = code === null ? { signal: signal ?? 'unknown' } : { code };
    handlers.onExit?.();
  });
  channel.once('close', finish);
  // Writing to a channel that closes meanwhile fails; its close is what counts.
  channel.on('error', () => {});
  return {
    write: (text) => {
      channel.write(text);
    },
    endInput: () => {
      channel.end();
    },
    close: () => {
      channel.close();
      // OpenSSH answers a close only once the process on the channel has ended, which may be never.
      setTimeout(finish, CLOSE_ANSWER_MS);
    },
  };
}
