import type { HostEndpoint } from '../ports.ts';
import type { ChannelHandlers, ExecChannel } from './channel.ts';
import { connect, type ConnectSettings, type SshConnection } from './connection.ts';
import { asError, SshError, type SshErrorCode } from './errors.ts';

/** Limits of the connections to one host. */
export interface PoolLimits {
  /** Commands at once on one connection. sshd refuses the 11th channel by default (`MaxSessions`). Default 8. */
  channelsPerConnection: number;
  /** Further channels on each connection that only cancellations may take, so that no load can keep one waiting. Default 2. */
  controlChannels: number;
  /** Connections at once to one host; what does not fit waits its turn. Default 4. */
  connectionsPerHost: number;
  /** A connection without a command is closed after this. Default 60 s. */
  idleMs: number;
  /** After a failed connect the next one to that host waits this long, then twice as long, up to `maxBackoffMs`. Default 250 ms. */
  backoffMs: number;
  /** Default 10 s. */
  maxBackoffMs: number;
}

// Of a connection that served before: a new one may do.
const NOTHING_SENT: ReadonlySet<SshErrorCode> = new Set([
  'ssh_channel_refused',
  'ssh_closed_early',
]);

/** The figures above. */
export const DEFAULT_POOL_LIMITS: PoolLimits = {
  channelsPerConnection: 8,
  controlChannels: 2,
  connectionsPerHost: 4,
  idleMs: 60_000,
  backoffMs: 250,
  maxBackoffMs: 10_000,
};

/** How one exec request wants to be treated. */
export interface ExecOptions {
  /** Goes before all others and may take the channels that are kept back. */
  control?: boolean;
  /** Gives up waiting for a turn. Has no effect once the request is sent. */
  signal?: AbortSignal | undefined;
  /** Called right before the request leaves: from here on it may arrive. */
  beforeSend?(): Promise<void>;
}

interface Member {
  connection: SshConnection;
  open: number;
  /** The server's own limit where it proved to be lower than ours. */
  cap: number;
  /** The same for cancellations, which may take more channels than others; only the server limits those. */
  most: number;
  /** Made beyond the limit because all others were full: for cancellations alone. */
  control: boolean;
  /** Whether the server has ever opened a channel on it. */
  served: boolean;
  idleTimer: NodeJS.Timeout | undefined;
}

interface Waiter {
  control: boolean;
  resolve(member: Member): void;
  reject(error: Error): void;
}

/** The connections to one host, as one user: made when needed, shared by all commands, closed when idle. */
export class HostConnections {
  readonly #host: HostEndpoint;
  readonly #settings: ConnectSettings;
  readonly #limits: PoolLimits;
  #members: Member[] = [];
  #waiters: Waiter[] = [];
  #connecting = false;
  #failures = 0;
  #notBefore = 0;
  #backoffTimer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(host: HostEndpoint, settings: ConnectSettings, limits: PoolLimits) {
    this.#host = host;
    this.#settings = settings;
    this.#limits = limits;
  }

  /** Live connections and the commands on them, for tests and metrics. */
  get load(): readonly number[] {
    return this.#members.map((member) => member.open);
  }

  /** Sends an exec request over a shared connection. Rejects as `SshConnection.exec`, or with what kept it from connecting. */
  async exec(
    command: string,
    handlers: ChannelHandlers,
    options: ExecOptions = {},
  ): Promise<ExecChannel> {
    for (;;) {
      const member = await this.#slot(options);
      try {
        // Whoever was given a turn and was cancelled in the same moment sends nothing.
        if (options.signal?.aborted === true) throw this.#cancelled();
        await options.beforeSend?.();
        const channel = await member.connection.exec(command, {
          ...handlers,
          onClose: (exit) => {
            this.#release(member);
            handlers.onClose(exit);
          },
        });
        member.served = true;
        return channel;
      } catch (error) {
        const others = member.open - 1;
        this.#release(member);
        if (!(error instanceof SshError)) throw error;
        if (error.code === 'ssh_channel_refused' && others > 0) {
          // This server takes fewer channels than we thought; nothing was run, so another connection may try.
          member.cap = Math.min(member.cap, others);
          member.most = Math.min(member.most, others);
        } else if (
          !this.#closed &&
          (error.code === 'ssh_closed' || (member.served && NOTHING_SENT.has(error.code)))
        ) {
          // The connection went before anything was sent over it, or is full at the server's end of what was given up here and has not
          // ended there; it is not given out again.
          member.cap = Number.NEGATIVE_INFINITY;
          member.connection.end();
        } else throw error;
      }
    }
  }

  /** Closes all connections. What waits is told `ssh_closed`. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#backoffTimer);
    this.#failWaiters(
      new SshError('ssh_closed', `The connections to ${this.#host.slug} are being closed.`),
    );
    for (const member of this.#members) {
      clearTimeout(member.idleTimer);
      member.connection.end();
    }
  }

  #slot(options: ExecOptions): Promise<Member> {
    if (this.#closed) {
      return Promise.reject(
        new SshError('ssh_closed', `The connections to ${this.#host.slug} are closed.`),
      );
    }
    return new Promise((resolve, reject) => {
      const { signal } = options;
      const abort = (): void => {
        this.#waiters = this.#waiters.filter((other) => other !== waiter);
        reject(this.#cancelled());
      };
      const waiter: Waiter = {
        control: options.control === true,
        resolve: (member) => {
          signal?.removeEventListener('abort', abort);
          resolve(member);
        },
        reject: (error) => {
          signal?.removeEventListener('abort', abort);
          reject(error);
        },
      };
      if (signal?.aborted === true) {
        reject(this.#cancelled());
        return;
      }
      signal?.addEventListener('abort', abort, { once: true });
      this.#waiters.push(waiter);
      this.#dispatch();
    });
  }

  // Gives out what is free, cancellations first, else in order of arrival; connects if some still wait.
  #dispatch(): void {
    this.#waiters = [
      ...this.#waiters.filter((one) => one.control),
      ...this.#waiters.filter((one) => !one.control),
    ];
    while (this.#waiters.length > 0) {
      const [waiter] = this.#waiters;
      if (waiter === undefined) break;
      const member = this.#free(waiter.control);
      if (member === undefined) break;
      this.#waiters.shift();
      member.open += 1;
      clearTimeout(member.idleTimer);
      waiter.resolve(member);
    }
    if (this.#waiters.length > 0) this.#grow();
  }

  #free(control: boolean): Member | undefined {
    const extra = control ? this.#limits.controlChannels : 0;
    return this.#members
      .filter((member) => member.connection.alive && (control || !member.control))
      .filter((member) => member.open < Math.min(member.most, member.cap + extra))
      .sort((a, b) => a.open - b.open)[0];
  }

  #grow(): void {
    if (this.#connecting || this.#closed) return;
    // Where a server's own limit leaves nothing for cancellations, they get a connection of their own.
    const cancels =
      this.#waiters.some((one) => one.control) && !this.#members.some((one) => one.control);
    if (this.#full() && !cancels) return;
    this.#connecting = true;
    const waitMs = this.#notBefore - performance.now();
    if (waitMs > 0) this.#backoffTimer = setTimeout(() => void this.#connect(), waitMs);
    else void this.#connect();
  }

  async #connect(): Promise<void> {
    let member: Member | undefined;
    try {
      const connection = await connect(this.#host, this.#settings, () => this.#lost(member));
      member = {
        connection,
        open: 0,
        cap: this.#limits.channelsPerConnection,
        most: Number.POSITIVE_INFINITY,
        control: this.#full(),
        served: false,
        idleTimer: undefined,
      };
      this.#failures = 0;
      this.#notBefore = 0;
      this.#connecting = false;
      if (this.#closed) {
        connection.end();
        return;
      }
      this.#members.push(member);
      this.#idle(member);
      if (connection.alive) this.#dispatch();
      else this.#lost(member);
    } catch (error) {
      this.#connecting = false;
      this.#notBefore =
        performance.now() +
        Math.min(this.#limits.backoffMs * 2 ** this.#failures, this.#limits.maxBackoffMs);
      this.#failures += 1;
      // With another connection alive, the commands that wait for a second one go on over that.
      if (!this.#members.some((one) => one.connection.alive)) this.#failWaiters(asError(error));
      else if (this.#waiters.length > 0) this.#grow();
    }
  }

  #full(): boolean {
    const shared = this.#members.filter((member) => !member.control);
    return shared.length >= this.#limits.connectionsPerHost;
  }

  #lost(member: Member | undefined): void {
    if (member === undefined) return;
    clearTimeout(member.idleTimer);
    this.#members = this.#members.filter((other) => other !== member);
    if (!this.#closed) this.#dispatch();
  }

  #release(member: Member): void {
    member.open -= 1;
    if (this.#closed) return;
    this.#idle(member);
    this.#dispatch();
  }

  #idle(member: Member): void {
    clearTimeout(member.idleTimer);
    if (member.open > 0) return;
    member.idleTimer = setTimeout(() => member.connection.end(), this.#limits.idleMs);
    member.idleTimer.unref();
  }

  #cancelled(): SshError {
    return new SshError(
      'ssh_cancelled',
      `The command was cancelled before it was sent to ${this.#host.slug}.`,
    );
  }

  #failWaiters(error: Error): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiters) waiter.reject(error);
  }
}
