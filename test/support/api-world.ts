import { request, type IncomingHttpHeaders } from 'node:http';
import { connect, type Socket } from 'node:net';
import { startApi, type ApiServer } from '../../core/api/server.ts';
import type { StreamLimits } from '../../core/api/event-stream.ts';
import { createToken, type Scope } from '../../core/api/tokens.ts';
import { createMasker } from '../../core/executions/masking/masker.ts';
import { Operators, type Operator } from '../../core/operators.ts';
import { checkAnswer } from './api-contract.ts';
import { ann, bob, CoreWorld, eve } from './core-world.ts';

/** A secret that this installation knows, as a configured key would be. */
export const KNOWN_SECRET = 'k3y-that-the-config-knows-9f2b';

/** What the API answered. */
export interface ApiAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  body: Record<string, unknown>;
}

/** The API on a port of its own, over a database of its own. */
export class ApiWorld implements AsyncDisposable {
  readonly core: CoreWorld;
  readonly server: ApiServer;
  #tokens = 0;

  private constructor(core: CoreWorld, server: ApiServer) {
    this.core = core;
    this.server = server;
  }

  static async open(
    options: {
      headersMs?: number;
      requestMs?: number;
      redis?: boolean;
      streams?: Partial<StreamLimits>;
    } = {},
  ): Promise<ApiWorld> {
    const core = await CoreWorld.open();
    const server = await startApi(
      {
        database: core.database,
        feed: await core.feed(),
        operators: new Operators([ann, bob, eve]),
        languages: ['en'],
        mask: createMasker([KNOWN_SECRET]).mask,
        version: '9.8.7',
        timeZone: 'Europe/Berlin',
        redisReady: () => options.redis,
      },
      { host: '127.0.0.1', port: 0 },
      options,
    );
    return new ApiWorld(core, server);
  }

  /** A token with these scopes, acting as this operator. */
  async token(scopes: Scope[], operator: Operator | undefined = ann): Promise<string> {
    const { token } = await createToken(this.core.database, {
      name: `t${++this.#tokens}`,
      scopes,
      operator: operator.userId,
    });
    return token;
  }

  /** Sends a request, takes the answer apart and holds it against the API's description. `body` is sent as JSON unless it is text or bytes. */
  async call(
    method: string,
    path: string,
    options: { token?: string; body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<ApiAnswer> {
    const { body } = options;
    const raw = typeof body === 'string' || Buffer.isBuffer(body);
    const bytes = body === undefined ? undefined : raw ? body : JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const sent = request(
        new URL(this.server.url + path),
        {
          method,
          headers: {
            ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
            ...(bytes === undefined
              ? {}
              : {
                  'content-type': 'application/json',
                  'content-length': String(Buffer.byteLength(bytes)),
                }),
            ...options.headers,
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () => {
            const text = Buffer.concat(chunks).toString('utf8');
            const answer = taken(response.statusCode ?? 0, response.headers, text);
            try {
              if (answer.status < 300 && method !== 'HEAD') checkAnswer(method, path, answer.body);
              resolve(answer);
            } catch (error) {
              reject(error instanceof Error ? error : new Error(String(error)));
            }
          });
        },
      );
      sent.on('error', reject);
      sent.end(bytes);
    });
  }

  get(path: string, token?: string): Promise<ApiAnswer> {
    return this.call('GET', path, token === undefined ? {} : { token });
  }

  post(path: string, token: string, body: unknown = {}): Promise<ApiAnswer> {
    return this.call('POST', path, { token, body });
  }

  /** A bare connection, for requests that no client would send. */
  async raw(): Promise<{ socket: Socket; all: Promise<string> }> {
    const { hostname, port } = new URL(this.server.url);
    const socket = connect(Number(port), hostname);
    const chunks: Buffer[] = [];
    const all = new Promise<string>((resolve) => {
      socket.on('data', (chunk: Buffer) => chunks.push(chunk));
      socket.on('error', () => {});
      socket.on('close', () => resolve(Buffer.concat(chunks).toString('utf8')));
    });
    await new Promise((resolve) => socket.once('connect', resolve));
    return { socket, all };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.stop();
    await this.core[Symbol.asyncDispose]();
  }
}

function taken(status: number, headers: IncomingHttpHeaders, text: string): ApiAnswer {
  const json = /json/.test(headers['content-type'] ?? '');
  const body: unknown = text === '' || !json ? {} : JSON.parse(text);
  return { status, headers, text, body: body as Record<string, unknown> };
}
