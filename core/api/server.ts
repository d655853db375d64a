import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ConfigurationError, errorText } from '../errors.ts';
import { log } from '../log.ts';
import { createApi, type ApiDeps } from './app.ts';

/** A client has so long to send its head, and its whole request (Z7). */
const HEADERS_MS = 5_000;
const REQUEST_MS = 15_000;

/** The API, listening. */
export interface ApiServer {
  url: string;
  stop(): Promise<void>;
}

/** Starts to listen. Throws a `ConfigurationError` that names the address when it is taken or not ours. */
export async function startApi(
  deps: ApiDeps,
  listen: { host: string; port: number },
): Promise<ApiServer> {
  const app = createApi(deps);
  app.on('error', (error) => log.error({ error: errorText(error) }, 'API error'));
  const server = createServer(
    { headersTimeout: HEADERS_MS, requestTimeout: REQUEST_MS, connectionsCheckingInterval: 1_000 },
    app.callback(),
  );
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const taken = error.code === 'EADDRINUSE';
      reject(
        new ConfigurationError(
          `The API cannot listen on ${listen.host}:${listen.port}: ${taken ? 'another program listens there' : error.message}.`,
          { hint: 'Set NOMOS_API_LISTEN to another host:port.', cause: error },
        ),
      );
    });
    server.listen(listen.port, listen.host, resolve);
  });
  const { address, port, family } = server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
