import { randomBytes, timingSafeEqual } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { join, resolve as absolute } from 'node:path';
import { passwordLogin } from '../services/matrix-accounts.ts';
import { onFreePort } from '../services/ports.ts';
import { readState, writeState } from '../services/state.ts';
import { buildChatPage } from './build.ts';
import { loadFiles } from './files.ts';
import type { StaticFile } from './files.ts';
import { proxy } from './proxy.ts';

/** How the chat page is served. */
export interface ChatPageOptions {
  /** NOMOS_HOME: the built page and the key are kept there. */
  readonly home: string;
  readonly homeserverUrl: string;
  /** Whose chat it is. Each browser signs in as a device of its own. */
  readonly session: { readonly userId: string; readonly password: string };
  /** A port that must be used. Default: the one of last time, else 8080 to 8089, else any free one. */
  readonly port?: number | undefined;
  /** The room to open first, asked for at each load of the page. Default: the list of rooms. */
  readonly lobby?: () => string | undefined;
}

/** A chat page that is served. */
export interface ChatPage {
  /** The address to open, with the key that lets a browser in. A secret: it is the operator's account. */
  readonly url: string;
  readonly port: number;
  stop(): Promise<void>;
}

interface ChatState {
  readonly key: string;
  readonly port?: number;
}

/**
 * Builds the chat page if need be and serves it on 127.0.0.1, with the homeserver behind the same address.
 *
 * Whoever has the address with its key is the operator. Without the key, other users of this machine and pages of
 * other origins get nothing: names other than those of loopback are refused (DNS rebinding), no answer carries CORS
 * headers, and the key moves into a cookie that only this origin's own pages send.
 */
export async function startChatPage(options: ChatPageOptions): Promise<ChatPage> {
  const home = absolute(options.home);
  mkdirSync(home, { recursive: true });
  const files = loadFiles(await buildChatPage(home));
  const stateFile = join(home, 'chat.json');
  const state: ChatState = readState<ChatState>(stateFile) ?? {
    key: randomBytes(16).toString('hex'),
  };
  const usual = Array.from({ length: 10 }, (_, index) => 8080 + index);
  const wish = {
    name: 'the chat page',
    fixed: options.port,
    preferred: state.port === undefined ? usual : [state.port, ...usual],
  };
  const { server, port } = await onFreePort(wish, async (chosen) => ({
    server: await listen(chosen, new ChatRequests(options, files, state.key, chosen)),
    port: chosen,
  }));
  writeState(stateFile, { ...state, port });
  return { url: `http://127.0.0.1:${port}/?key=${state.key}`, port, stop: () => close(server) };
}

function listen(port: number, requests: ChatRequests): Promise<Server> {
  const server = createServer((request, response) => {
    requests.answer(request, response).catch((error: unknown) => {
      if (response.headersSent) return response.destroy();
      const text = error instanceof Error ? error.message : String(error);
      return sendJson(response, 502, { error: `The homeserver does not answer: ${text}` });
    });
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}

class ChatRequests {
  readonly #options: ChatPageOptions;
  readonly #files: ReadonlyMap<string, StaticFile>;
  readonly #key: string;
  readonly #cookie: string;

  constructor(
    options: ChatPageOptions,
    files: ReadonlyMap<string, StaticFile>,
    key: string,
    port: number,
  ) {
    this.#options = options;
    this.#files = files;
    this.#key = key;
    // Cookies are shared by all ports of a host.
    this.#cookie = `nomos_chat_${port}`;
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    setHeaders(response);
    if (!isLoopbackName(request.headers.host)) {
      return sendText(response, 421, 'This page is served to this machine only.');
    }
    const url = readTarget(request.url ?? '/');
    if (url === undefined) return sendText(response, 400, 'Not an address of this page.');
    const { pathname, searchParams } = url;
    if (pathname.startsWith('/_matrix/')) {
      return proxy(request, response, url, this.#options.homeserverUrl);
    }
    const offered = searchParams.get('key');
    if (offered !== null && request.method === 'GET' && pathname === '/') {
      if (same(offered, this.#key)) {
        const cookie = `${this.#cookie}=${this.#key}; Path=/; HttpOnly; SameSite=Strict; Max-Age=31536000`;
        response.setHeader('set-cookie', cookie);
        // A page, not a redirect: a browser that came from elsewhere would not send a strict cookie along with one.
        return this.#file(response, '/index.html');
      }
      return sendText(response, 403, STRANGER);
    }
    if (pathname === '/session') return this.#session(request, response);
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return sendText(response, 405, 'Only GET is allowed here.');
    }
    return this.#file(response, pathname === '/' ? '/index.html' : pathname);
  }

  #file(response: ServerResponse, path: string): void {
    const file = this.#files.get(path);
    if (file === undefined) return sendText(response, 404, 'Not found.');
    response.writeHead(200, file.headers);
    response.end(file.content);
  }

  async #session(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const site = request.headers['sec-fetch-site'];
    const origin = request.headers.origin;
    const foreign =
      (site !== undefined && site !== 'same-origin') ||
      (origin !== undefined && origin !== `http://${request.headers.host}`);
    if (foreign || !this.#isKnown(request)) return sendJson(response, 403, { error: STRANGER });
    if (request.method === 'GET')
      return sendJson(response, 200, { lobby: this.#options.lobby?.() });
    if (request.method !== 'POST') return sendJson(response, 405, { error: 'GET or POST.' });
    const { userId, password } = this.#options.session;
    const session = await passwordLogin(
      this.#options.homeserverUrl,
      userId,
      password,
      'Nomos chat page',
    );
    if (session === undefined) {
      return sendJson(response, 502, { error: `The homeserver does not let ${userId} in.` });
    }
    const { deviceId, accessToken } = session;
    return sendJson(response, 200, { userId: session.userId, deviceId, accessToken });
  }

  #isKnown(request: IncomingMessage): boolean {
    return (request.headers.cookie ?? '').split(/; */).some((cookie) => {
      const [name, value] = cookie.split('=');
      return name === this.#cookie && value !== undefined && same(value, this.#key);
    });
  }
}

const STRANGER =
  'This browser is not let in yet: open the address that `npm start` printed, with its key.';

const POLICY = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' blob: data:",
  "media-src 'self' blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'self'",
].join('; ');

function setHeaders(response: ServerResponse): void {
  response.setHeader('content-security-policy', POLICY);
  response.setHeader('x-content-type-options', 'nosniff');
  response.setHeader('referrer-policy', 'no-referrer');
  response.setHeader('cross-origin-resource-policy', 'same-origin');
  response.setHeader('cross-origin-opener-policy', 'same-origin');
}

/** A request's target as a URL: a path alone. One that names a host of its own, or is no URL, gives undefined. */
function readTarget(target: string): URL | undefined {
  if (!target.startsWith('/') || /^[/\\]{2}/.test(target)) return undefined;
  return URL.parse(target, 'http://loopback') ?? undefined;
}

/** Any port is right: the page may be reached through a tunnel (`ssh -L`). */
function isLoopbackName(host: string | undefined): boolean {
  return host !== undefined && /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/i.test(host);
}

function same(offered: string, key: string): boolean {
  const [one, other] = [Buffer.from(offered), Buffer.from(key)];
  return one.length === other.length && timingSafeEqual(one, other);
}

function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'no-store',
  });
  response.end(`${text}\n`);
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(JSON.stringify(body));
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
