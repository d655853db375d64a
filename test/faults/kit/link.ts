import net from 'node:net';

/** A line to a server of loopback that can be cut for good, as it is when a process is killed, or be held for a while. */
export class Link {
  readonly #server: net.Server;
  readonly #sockets = new Set<net.Socket>();
  #cut = false;
  #held = false;

  private constructor(port: number) {
    this.#server = net.createServer((near) => {
      if (this.#cut) return void near.destroy();
      const far = net.connect(port, '127.0.0.1');
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(one);
        one.setNoDelay(true);
        one.on('error', () => other.destroy());
        one.on('close', () => {
          this.#sockets.delete(one);
          other.destroy();
        });
      }
      near.pipe(far);
      far.pipe(near);
      if (this.#held) for (const one of [near, far]) one.pause();
    });
  }

  static async open(port: number): Promise<Link> {
    const link = new Link(port);
    await new Promise<void>((resolve) => link.#server.listen(0, '127.0.0.1', resolve));
    return link;
  }

  /** Where the near end listens. */
  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the link is cut');
    return address.port;
  }

  /** Ends every connection and takes no more. */
  cut(): void {
    this.#cut = true;
    for (const one of this.#sockets) one.destroy();
    this.#server.close();
  }

  /** Ends every connection that there is; new ones are taken. */
  drop(): void {
    for (const one of this.#sockets) one.destroy();
  }

  /** Lets nothing through, without an end of any connection, until `release`. */
  hold(): void {
    this.#held = true;
    for (const one of this.#sockets) one.pause();
  }

  release(): void {
    this.#held = false;
    for (const one of this.#sockets) one.resume();
  }
}

/** A line to the server that a URL names, and the URL that leads over it. */
export async function lineTo(url: string): Promise<{ line: Link; url: string }> {
  const through = new URL(url);
  const line = await Link.open(Number(through.port));
  through.port = String(line.port);
  return { line, url: through.href };
}
