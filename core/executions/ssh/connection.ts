import net from 'node:net';
import ssh2 from 'ssh2';
import type { Client, ClientErrorExtensions, ServerHostKeyAlgorithm } from 'ssh2';
import { faultPoint } from '../../faults.ts';
import type { HostEndpoint } from '../ports.ts';
import { loadCredentials, type SshCredentials } from './credentials.ts';
import { openChannel, type ChannelHandlers, type ExecChannel } from './channel.ts';
import { loginError, socketError, timedOut, where } from './connect-errors.ts';
import { SshError } from './errors.ts';
import type { HostKeyExpectation, HostKeys } from './host-keys.ts';

/** What a connection needs besides its host. */
export interface ConnectSettings {
  credentials: SshCredentials;
  hostKeys: HostKeys;
  /** From the name look-up to the login. */
  connectTimeoutMs: number;
  /** A link that answers nothing is given up after four of these. */
  keepaliveIntervalMs: number;
}

/** A live, logged-in connection to one host. */
export interface SshConnection {
  readonly alive: boolean;
  /**
   * Sends an exec request. Rejects with `SshError`: `ssh_channel_refused` and `ssh_closed` if provably nothing was run,
   * `ssh_connection_lost` if the request may have arrived.
   */
  exec(command: string, handlers: ChannelHandlers): Promise<ExecChannel>;
  end(): void;
}

const HOST_KEY_ALGORITHMS: readonly ServerHostKeyAlgorithm[] = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'rsa-sha2-512',
  'rsa-sha2-256',
];

/** Connects and logs in, all within the connect limit. Rejects with `SshError`; `onClosed` comes once, if it had resolved. */
export async function connect(
  host: HostEndpoint,
  settings: ConnectSettings,
  onClosed: () => void,
): Promise<SshConnection> {
  const deadline = performance.now() + settings.connectTimeoutMs;
  const credentials = await loadCredentials(settings.credentials);
  const expected = await settings.hostKeys.expect(host);
  await faultPoint('ssh.connect');
  const socket = await openSocket(host, settings.connectTimeoutMs);
  const client = new ssh2.Client();
  try {
    const shown = await login(client, host, expected, {
      sock: socket,
      username: host.user,
      ...(credentials.privateKey === undefined ? {} : { privateKey: credentials.privateKey }),
      ...(credentials.agent === undefined ? {} : { agent: credentials.agent }),
      authHandler: credentials.methods,
      readyTimeout: Math.max(1, Math.ceil(deadline - performance.now())),
      keepaliveInterval: settings.keepaliveIntervalMs,
      keepaliveCountMax: 3,
      algorithms: { serverHostKey: preferred(expected.types) },
    });
    await expected.accepted(shown);
  } catch (error) {
    socket.destroy();
    throw error;
  }
  return liveConnection(client, host, socket, onClosed);
}

function openSocket(host: HostEndpoint, timeoutMs: number): Promise<net.Socket> {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ host: host.address, port: host.port, noDelay: true });
    const timer = setTimeout(() => {
      socket.destroy();
      reject(timedOut(host, timeoutMs));
    }, timeoutMs);
    socket.once('connect', () => {
      clearTimeout(timer);
      resolve(socket);
    });
    // Stays for good: an error between here and the library's own listener must not end the process.
    socket.on('error', (cause: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      reject(socketError(host, cause, timeoutMs));
    });
  });
}

// Resolves with the host key that was shown, once the host has proven to hold it and has taken the login.
function login(
  client: Client,
  host: HostEndpoint,
  expected: HostKeyExpectation,
  config: ssh2.ConnectConfig,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let shown: Buffer | undefined;
    let refused: SshError | null = null;
    let agentTrouble = '';
    client.once('ready', () => {
      if (shown === undefined)
        reject(new SshError('ssh_protocol', `${where(host)} showed no host key.`));
      else resolve(shown);
    });
    client.on('error', (error: Error & ClientErrorExtensions) => {
      if (refused !== null) return reject(refused);
      // An agent that fails is not the end: the next method is tried, and "all failed" comes if there is none.
      if (error.level === 'agent') agentTrouble = ` The agent says: ${error.message}.`;
      else reject(loginError(host, error, agentTrouble));
    });
    client.once('close', () => {
      reject(
        refused ??
          new SshError(
            'ssh_closed_early',
            `${where(host)} closed the connection during the login.`,
          ),
      );
    });
    client.connect({
      ...config,
      // Without this, ssh2 takes any key from anyone.
      hostVerifier: (key: Buffer) => {
        refused = expected.check(key);
        // The key of a later key exchange must be the one that was accepted first.
        if (refused === null && shown !== undefined && !shown.equals(key)) {
          refused = new SshError(
            'ssh_protocol',
            `${where(host)} changed its host key within a connection.`,
          );
        }
        shown ??= Buffer.from(key);
        return refused === null;
      },
    });
  });
}

function liveConnection(
  client: Client,
  host: HostEndpoint,
  socket: net.Socket,
  onClosed: () => void,
): SshConnection {
  let alive = !socket.destroyed;
  const dead = (): void => {
    if (!alive) return;
    alive = false;
    onClosed();
  };
  client.on('close', dead);
  client.on('end', dead);
  // An error is always followed by the end of the connection; the socket goes at once so that no caller waits for it.
  client.on('error', () => socket.destroy());
  return {
    get alive() {
      return alive && !socket.destroyed;
    },
    exec: (command, handlers) => openChannel(client, host, socket, command, handlers),
    end: () => {
      client.end();
    },
  };
}

function preferred(types: readonly string[]): ServerHostKeyAlgorithm[] {
  const known = (algorithm: string): boolean =>
    types.includes(algorithm.startsWith('rsa-') ? 'ssh-rsa' : algorithm);
  return [
    ...HOST_KEY_ALGORITHMS.filter(known),
    ...HOST_KEY_ALGORITHMS.filter((algorithm) => !known(algorithm)),
  ];
}
