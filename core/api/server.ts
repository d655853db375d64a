import { createServer, STATUS_CODES, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { ConfigurationError, errorText } from '../errors.ts';
import { log } from '../log.ts';
import { createApi, type ApiParts } from './app.ts';
import type { StreamLimits } from './event-stream.ts';
import { EventStreams } from './event-streams.ts';
import { ApiMetrics } from './metrics/metrics.ts';
import { problem, PROBLEM_TYPE, type Problem } from './problem.ts';

/** A client has so long to send its head, and its whole request (Z7). */
const HEADERS_MS = 5_000;
const REQUEST_MS = 15_000;
/** A head may have so many bytes, as Node has it by default. */
const HEAD_BYTES = 16 * 1024;
/** Requests in hand have so long to end when the server stops. */
const STOP_MS = 3_000;

/** The API, listening. */
export interface ApiServer {
  url: string;
  /** The event streams that are open. */
  readonly streams: EventStreams;
  stop(): Promise<void>;
}

/**
 * Starts to listen. Throws a `ConfigurationError` that names the address when it is taken or not ours. `limits` are for
 * tests: how long a head and a whole request may take, and what holds for event streams.
 */
export async function startApi(
  parts: ApiParts,
  listen: { host: string; port: number },
  limits: { headersMs?: number; requestMs?: number; streams?: Partial<StreamLimits> } = {},
): Promise<ApiServer> {
  const streams = new EventStreams(parts, limits.streams);
  const app = createApi({
    ...parts,
    streams,
    metrics: new ApiMetrics(parts.database, {
      version: parts.version,
      streams: () => streams.size,
    }),
  });
  app.on('error', (error) => log.error({ error: errorText(error) }, 'API error'));
  const headersMs = limits.headersMs ?? HEADERS_MS;
  const server = createServer(
    {
      headersTimeout: headersMs,
      requestTimeout: limits.requestMs ?? REQUEST_MS,
      connectionsCheckingInterval: Math.min(1_000, headersMs),
      maxHeaderSize: HEAD_BYTES,
    },
    app.callback(),
  );
  tellBrokenRequests(server);
  await listening(server, listen);
  const { address, port, family } = server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    streams,
    stop: () =>
      new Promise((resolve) => {
        streams.close();
        const late = setTimeout(() => server.closeAllConnections(), STOP_MS);
        server.close(() => {
          clearTimeout(late);
          resolve();
        });
        server.closeIdleConnections();
      }),
  };
}

async function listening(server: Server, listen: { host: string; port: number }): Promise<void> {
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
}

/** Answers what never becomes a request, or not a whole one, in the same form as everything else (Z7). */
function tellBrokenRequests(server: Server): void {
  const answering = new WeakMap<Duplex, ServerResponse>();
  server.on('request', (request, response) => answering.set(request.socket, response));
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const response = answering.get(socket);
    const underWay = response !== undefined && response.headersSent && !response.writableFinished;
    if (!socket.writable || error.code === 'ECONNRESET' || underWay) {
      socket.destroy();
      return;
    }
    const found = brokenRequest(error.code);
    const body = JSON.stringify(found);
    socket.end(
      `HTTP/1.1 ${found.status} ${STATUS_CODES[found.status] ?? 'Error'}\r\n` +
        `Content-Type: ${PROBLEM_TYPE}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
        `X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n${body}`,
      () => socket.destroy(),
    );
  });
}

function brokenRequest(code: string | undefined): Problem {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return problem(431, 'head_too_large', `The head is larger than ${HEAD_BYTES} bytes.`);
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return problem(408, 'request_too_slow', 'The request took too long to arrive.');
    default:
      return problem(400, 'request_malformed', 'That is no HTTP request.');
  }
}
