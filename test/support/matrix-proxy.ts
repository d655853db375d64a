import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the proxy does with a request. */
export type Verdict =
  | 'pass'
  /** Carries it out, and breaks the connection in place of the answer. */
  | 'lose answer'
  /** Breaks the connection and carries nothing out. */
  | 'cut'
  /** Carries it out, and breaks the connection in the middle of the answer. */
  | 'half'
  /** Answers itself: a text as it is, anything else as JSON. */
  | { status: number; body: unknown };

/** A request that came. */
export interface Seen {
  method: string;
  /** Decoded, without the query. */
  path: string;
  body: string;
  atMs: number;
}

/** Stands between the bot and the homeserver, as a bad line or a strict homeserver would. */
export class HomeserverProxy {
  readonly seen: Seen[] = [];
  rule: (request: Seen) => Verdict = () => 'pass';
  readonly #server: Server;

  private constructor(target: string) {
    this.#server = createServer((request, response) => {
      this.#serve(target, request, response).catch(() => response.destroy());
    });
  }

  /** Starts one on a free port of loopback. */
  static async open(target: string): Promise<HomeserverProxy> {
    const proxy = new HomeserverProxy(target);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  /** `http://127.0.0.1:<port>` */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Stops it and breaks what is open. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(target: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const seen: Seen = {
      method: request.method ?? '',
      path: decodeURIComponent((request.url ?? '').split('?')[0] ?? ''),
      body: body.toString('utf8'),
      atMs: performance.now(),
    };
    this.seen.push(seen);
    const verdict = this.rule(seen);
    if (verdict === 'cut') {
      response.destroy();
      return;
    }
    if (typeof verdict === 'object') {
      // Text stands for what no homeserver says: a page, or a line of some other server.
      const text = typeof verdict.body === 'string' ? verdict.body : undefined;
      const type =
        text === undefined ? 'application/json' : text.startsWith('<') ? 'text/html' : 'text/plain';
      response.writeHead(verdict.status, { 'content-type': type });
      response.end(text ?? JSON.stringify(verdict.body));
      return;
    }
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    const answer = await fetch(target + (request.url ?? ''), {
      method: seen.method,
      headers: {
        authorization: request.headers.authorization ?? '',
        'content-type': request.headers['content-type'] ?? 'application/json',
      },
      ...(body.length === 0 ? {} : { body }),
      signal: gone.signal,
    });
    const content = Buffer.from(await answer.arrayBuffer());
    if (verdict === 'lose answer') {
      response.destroy();
      return;
    }
    if (verdict === 'half') {
      response.writeHead(answer.status, {
        'content-type': 'application/json',
        'content-length': content.length,
      });
      response.write(content.subarray(0, content.length / 2), () => response.destroy());
      return;
    }
    response.writeHead(answer.status, { 'content-type': 'application/json' });
    response.end(content);
  }
}
