import type { HostEndpoint } from '../ports.ts';
import type { ConnectSettings } from './connection.ts';
import { SshError } from './errors.ts';
import { DEFAULT_POOL_LIMITS, HostConnections, type PoolLimits } from './host-connections.ts';

/** All hosts' connections, by address, port and user. */
export class ConnectionPool {
  readonly #settings: ConnectSettings;
  readonly #limits: PoolLimits;
  readonly #hosts = new Map<string, HostConnections>();
  #closed = false;

  constructor(settings: ConnectSettings, limits: Partial<PoolLimits> = {}) {
    this.#settings = settings;
    this.#limits = { ...DEFAULT_POOL_LIMITS, ...limits };
  }

  host(host: HostEndpoint): HostConnections {
    if (this.#closed) throw new SshError('ssh_closed', 'All SSH connections are closed.');
    const key = JSON.stringify([host.slug, host.address, host.port, host.user]);
    let connections = this.#hosts.get(key);
    if (connections === undefined) {
      connections = new HostConnections(host, this.#settings, this.#limits);
      this.#hosts.set(key, connections);
    }
    return connections;
  }

  close(): void {
    this.#closed = true;
    for (const connections of this.#hosts.values()) connections.close();
    this.#hosts.clear();
  }
}
