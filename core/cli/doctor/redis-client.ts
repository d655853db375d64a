import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { connect as tlsConnect } from 'node:tls';

const TIMEOUT_MS = 5_000;
const DEFAULT_PORT = 6379;

/** An answer: text, a number, a list, or nothing. An error of the server is thrown as `RedisRefusal`. */
export type Reply = string | number | null | Reply[];

/** The server understood and refused: its words. */
export class RedisRefusal extends Error {}

/**
 * As much of a Redis client as it takes to look at a server: the real one is behind another door. Commands are sent one at a
 * time over RESP2.
 */
export class RedisLook {
  readonly #socket: Socket;
  readonly #bytes: AsyncIterator<Buffer>;
  #buffer = Buffer.alloc(0);

  private constructor(socket: Socket) {
    this.#socket = socket;
    this.#bytes = (socket as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  }

  /** Connects and logs in as the URL says. Throws what the network or the server said. */
  static async open(url: string): Promise<RedisLook> {
    const { protocol, hostname, port, username, password } = new URL(url);
    const where = {
      host: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: port === '' ? DEFAULT_PORT : Number(port),
    };
    const secure = protocol === 'rediss:';
    const socket = secure
      ? tlsConnect({ ...where, servername: where.host })
      : createConnection(where);
    socket.setTimeout(TIMEOUT_MS, () =>
      socket.destroy(Object.assign(new Error('no answer in time'), { code: 'ETIMEDOUT' })),
    );
    await once(socket, secure ? 'secureConnect' : 'connect');
    const look = new RedisLook(socket);
    if (password !== '') {
      const user = username === '' ? [] : [decodeURIComponent(username)];
      await look.send('AUTH', ...user, decodeURIComponent(password));
    }
    return look;
  }

  /** Sends a command and gives its answer. */
  async send(...parts: string[]): Promise<Reply> {
    const words = parts.map((part) => `$${Buffer.byteLength(part)}\r\n${part}\r\n`);
    this.#socket.write(`*${parts.length}\r\n${words.join('')}`);
    return this.#reply();
  }

  /** Ends the connection. */
  close(): void {
    this.#socket.destroy();
  }

  async #reply(): Promise<Reply> {
    const line = await this.#line();
    const rest = line.slice(1);
    switch (line[0]) {
      case '+':
        return rest;
      case '-':
        throw new RedisRefusal(rest);
      case ':':
        return Number(rest);
      case '$':
        return Number(rest) < 0 ? null : this.#text(Number(rest));
      case '*': {
        const items: Reply[] = [];
        for (let left = Number(rest); left > 0; left--) items.push(await this.#reply());
        return items;
      }
      default:
        throw new Error('what answers there is no Redis server');
    }
  }

  async #line(): Promise<string> {
    for (;;) {
      const end = this.#buffer.indexOf('\r\n');
      if (end >= 0) return this.#take(end, 2);
      if (this.#buffer.length > 64 * 1024) throw new Error('what answers there is no Redis server');
      await this.#more();
    }
  }

  async #text(length: number): Promise<string> {
    while (this.#buffer.length < length + 2) await this.#more();
    return this.#take(length, 2);
  }

  #take(length: number, skip: number): string {
    const text = this.#buffer.subarray(0, length).toString('utf8');
    this.#buffer = this.#buffer.subarray(length + skip);
    return text;
  }

  async #more(): Promise<void> {
    const { done, value } = await this.#bytes.next();
    if (done === true) throw new Error('it closed the connection');
    this.#buffer = Buffer.concat([this.#buffer, value]);
  }
}
