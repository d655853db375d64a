import { createServer } from 'node:net';
import { SetupError, systemCode } from './errors.ts';

/** Whether a TCP port of the address can be listened on now. */
export function portIsFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  return listenOnce(port, host).then(
    () => true,
    (error: unknown) => {
      const code = systemCode(error);
      if (code === 'EADDRINUSE' || code === 'EACCES') return false;
      throw error;
    },
  );
}

/** What a port is for, and which would do. */
export interface PortWish {
  /** What the port is for, in an error's words. */
  readonly name: string;
  /** A port that somebody asked for: taken is an error. */
  readonly fixed?: number | undefined;
  /** Ports to try first, in order; when all are taken the system gives any free one. */
  readonly preferred?: readonly number[];
}

/**
 * Starts something on a free port. Between the look and the start another program can take the port, say a second Nomos
 * that starts at the same time: then the start is made again on another one.
 *
 * @param start rejects if it could not listen; whether that was for want of the port is found out here
 */
export async function onFreePort<T>(
  wish: PortWish,
  start: (port: number) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const port = await choosePort(wish);
    try {
      return await start(port);
    } catch (error) {
      if (attempt === 3 || (await portIsFree(port))) throw error;
      if (wish.fixed !== undefined) throw portTaken(wish.name, port);
    }
  }
}

async function choosePort(wish: PortWish): Promise<number> {
  if (wish.fixed !== undefined) {
    if (await portIsFree(wish.fixed)) return wish.fixed;
    throw portTaken(wish.name, wish.fixed);
  }
  for (const port of wish.preferred ?? []) {
    if (await portIsFree(port)) return port;
  }
  return listenOnce(0, '127.0.0.1');
}

function portTaken(name: string, port: number): SetupError {
  return new SetupError(
    'setup_port_taken',
    `Port ${port} for ${name} is taken by another program: end that program or choose another port.`,
  );
}

function listenOnce(port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ port, host, exclusive: true }, () => {
      const address = server.address();
      const chosen = typeof address === 'object' && address !== null ? address.port : port;
      server.close(() => resolve(chosen));
    });
  });
}
