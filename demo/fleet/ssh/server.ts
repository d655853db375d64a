import { timingSafeEqual } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import ssh2 from 'ssh2';
import type { Connection, ParsedKey, PublicKeyAuthContext, Server } from 'ssh2';
import type { FleetHost } from '../fleet.ts';
import { HostSessions } from './session.ts';
import type { FleetCommand } from './session.ts';

/** As many as sshd allows by default on one connection. */
const MAX_SESSIONS = 10;
const MAX_CONNECTIONS = 40;
const LOGIN_MS = 20_000;

/** What a host's SSH server needs. Keys are texts in OpenSSH's format. */
export interface ServerOptions {
  readonly host: FleetHost;
  readonly hostKey: string;
  /** The one key that may log in, as user root. */
  readonly clientKey: string;
  /** The port to take; another free one is taken when it is in use, unless `exact`. 0 takes any. */
  readonly port: number;
  readonly exact: boolean;
  onCommand(command: FleetCommand): void;
}

/** A running SSH server on 127.0.0.1. */
export interface RunningServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Starts a host's SSH server. While its machine is down nothing listens on its port. */
export async function serveHost(options: ServerOptions): Promise<RunningServer> {
  const allowed = ssh2.utils.parseKey(options.clientKey);
  if (allowed instanceof Error) throw allowed;
  const sessions = new HostSessions(options.host, (command) => options.onCommand(command));
  const connections = new Set<Connection>();
  const make = (): Server =>
    new ssh2.Server({ hostKeys: [options.hostKey], ident: 'Nomos-demo-fleet' }, (connection) => {
      if (connections.size >= MAX_CONNECTIONS) {
        connection.end();
        return;
      }
      connections.add(connection);
      admit(connection, allowed, sessions);
      connection.on('close', () => connections.delete(connection));
    });

  let server = make();
  const port = await listen(server, options.port, options.exact);
  let closed = false;
  options.host.machine.watch((up) => {
    if (up) {
      if (closed) return;
      server = make();
      void listen(server, port, true);
    } else {
      server.close();
      for (const connection of connections) connection.end();
    }
  });
  return {
    port,
    close: async () => {
      closed = true;
      for (const connection of connections) connection.end();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function admit(connection: Connection, allowed: ParsedKey, sessions: HostSessions): void {
  const tooLate = setTimeout(() => connection.end(), LOGIN_MS);
  // What a client does wrong, such as leaving in the middle of a handshake, ends its own connection only.
  connection.on('error', () => connection.end());
  connection.on('close', () => clearTimeout(tooLate));
  connection.on('authentication', (context) => {
    if (
      context.method === 'publickey' &&
      context.username === 'root' &&
      isAllowed(context, allowed)
    ) {
      context.accept();
    } else {
      context.reject(['publickey']);
    }
  });
  connection.on('ready', () => {
    clearTimeout(tooLate);
    // Small answers would else wait up to 40 ms each for the one before to be acknowledged.
    if ('setNoDelay' in connection && typeof connection.setNoDelay === 'function') {
      connection.setNoDelay(true);
    }
    let open = 0;
    connection.on('session', (accept, reject) => {
      if (open >= MAX_SESSIONS) {
        reject();
        return;
      }
      open += 1;
      const session = accept();
      session.on('close', () => (open -= 1));
      sessions.serve(session);
    });
  });
}

/** Without a signature the client only asks whether the key would do; the answer then proves nothing yet. */
function isAllowed(context: PublicKeyAuthContext, allowed: ParsedKey): boolean {
  const blob = allowed.getPublicSSH();
  const { algo, data } = context.key;
  if (algo !== allowed.type || data.length !== blob.length || !timingSafeEqual(data, blob))
    return false;
  if (!context.signature || !context.blob) return true;
  return allowed.verify(context.blob, context.signature, context.hashAlgo) === true;
}

function listen(server: Server, port: number, exact: boolean): Promise<number> {
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException): void => {
      if (error.code !== 'EADDRINUSE' || exact || port === 0) reject(error);
      else listen(server, 0, true).then(resolve, reject);
    };
    server.once('error', failed);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', failed);
      resolve((server.address() as AddressInfo).port);
    });
  });
}
