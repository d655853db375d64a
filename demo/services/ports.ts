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

/**
 * A port to listen on.
 *
 * @param wish.fixed a port that somebody asked for: taken is an error
 * @param wish.preferred ports to try first, in order; when all are taken the system gives any free one
 * @param wish.name what the port is for, in the error's words
 * @param wish.setting the name of the setting that changes the port, for the error
 */
export async function choosePort(wish: {
  readonly name: string;
  readonly fixed?: number | undefined;
  readonly preferred?: readonly number[];
  readonly setting?: string;
}): Promise<number> {
  if (wish.fixed !== undefined) {
    if (await portIsFree(wish.fixed)) return wish.fixed;
    const wayOut =
      wish.setting === undefined ? 'choose another one' : `set ${wish.setting} to another port`;
    throw new SetupError(
      'setup_port_taken',
      `Port ${wish.fixed} for ${wish.name} is taken by another program: end that program or ${wayOut}.`,
    );
  }
  for (const port of wish.preferred ?? []) {
    if (await portIsFree(port)) return port;
  }
  return listenOnce(0, '127.0.0.1');
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
