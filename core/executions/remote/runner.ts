import type { HostKeyStore, RemoteRunner, RunEnd } from '../ports.ts';
import type { SshCredentials } from '../ssh/credentials.ts';
import { HostKeys } from '../ssh/host-keys.ts';
import type { PoolLimits } from '../ssh/host-connections.ts';
import { ConnectionPool } from '../ssh/pool.ts';
import { Changes } from './change.ts';
import { RunRecord, targetName } from './ends.ts';
import { DEFAULT_GRACE_MS } from './protocol.ts';
import { Reads } from './read.ts';

/** What a runner is made of. Times are in milliseconds. */
export interface RemoteRunnerOptions {
  credentials: SshCredentials;
  /** Its entries go before what was pinned at first use. Undefined: first use decides for every host. */
  knownHostsFile?: string | undefined;
  hostKeys: HostKeyStore;
  limits?: Partial<PoolLimits>;
  /** From the name look-up to the login. Default 10 s (X3). */
  connectTimeoutMs?: number;
  /** A link that answers nothing is given up after four of these. Default 7 s, so that a dead one is found within 30 s. */
  keepaliveIntervalMs?: number;
  /** Between TERM and KILL. Default 3 s. */
  graceMs?: number;
  /** How long `reattach` goes on trying to reach its target before it answers `connection_lost`. Default 30 s. */
  reattachForMs?: number;
  /** How much later than it should a target may tell an end before it is asked, then hung up on. Default 15 s. */
  slackMs?: number;
}

/** Runs commands over SSH, changes at most once per execution id (X7). */
export function createRemoteRunner(options: RemoteRunnerOptions): RemoteRunner {
  const pool = new ConnectionPool(
    {
      credentials: options.credentials,
      hostKeys: new HostKeys({ knownHostsFile: options.knownHostsFile, store: options.hostKeys }),
      connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
      keepaliveIntervalMs: options.keepaliveIntervalMs ?? 7_000,
    },
    options.limits,
  );
  const times = {
    graceMs: options.graceMs ?? DEFAULT_GRACE_MS,
    reattachForMs: options.reattachForMs ?? 30_000,
    slackMs: options.slackMs ?? 15_000,
  };
  const changes = new Changes(pool, times);
  const reads = new Reads(pool, times);
  return {
    run: (request) => (request.kind === 'read' ? reads.run(request) : changes.run(request)),
    reattach: (request) => {
      if (request.kind === 'change') return changes.reattach(request);
      const end: RunEnd = {
        kind: 'unknown',
        reason: `A read on ${targetName(request.target)} ends with its connection and leaves nothing to attach to; it can be made again.`,
        alive: false,
        ...new RunRecord(request).output(undefined),
      };
      return Promise.resolve(end);
    },
    cancel: (executionId, target) => changes.cancel(executionId, target),
    close: () => {
      pool.close();
      return Promise.resolve();
    },
  };
}
