import type { SshError } from './ssh/errors.ts';

/** A machine that is reached over SSH. `slug` is its entity's name and appears in errors; `user` is the login. */
export interface HostEndpoint {
  slug: string;
  /** A name or an IP address, without a port. */
  address: string;
  port: number;
  user: string;
}

/** A container that is entered by `pct exec` on its Proxmox host. A container with an SSH of its own is just a host here. */
export interface ContainerRef {
  slug: string;
  /** The container's number on its Proxmox host: 100 to 999999999. */
  pveId: number;
}

/** Where a command goes: there or nowhere. Nothing in here ever picks another host, another user or a local shell (X12). */
export interface CommandTarget {
  host: HostEndpoint;
  container?: ContainerRef;
}

/** Which of the two outputs of a command a chunk belongs to. */
export type OutputStream = 'stdout' | 'stderr';

/** One command on one target. */
export interface RunRequest {
  /** The execution's id, a UUID in lower case: names the command on the target, so that it starts at most once (X7). */
  executionId: string;
  target: CommandTarget;
  /** The operator's or the agent's command: any text without a NUL, at most `MAX_COMMAND_BYTES` of UTF-8. */
  command: string;
  /**
   * `change`: through the wrapper that claims the id on the target, outlives the connection and can be attached to again.
   * `read`: directly, ends with its connection, leaves nothing behind, and may be made again by whoever lost it.
   */
  kind: 'read' | 'change';
  /**
   * Files whose content must be this when the command starts, or it does not: paths that are absolute or seen from the login's home,
   * in printable ASCII. For changes only; `ssh_script_changed` tells of one that differs. Default none.
   */
  fixed?: ReadonlyArray<{ path: string; sha256: string }>;
  /** The command is ended after this long, by the target itself for a change. */
  timeoutMs: number;
  /**
   * Called with each piece of output as it arrives, in order within a stream. After a re-attachment the output comes again
   * from its start. Past `TARGET_OUTPUT_CAP_BYTES` the target keeps a change's output back until its end.
   */
  onOutput?(stream: OutputStream, chunk: Uint8Array): void;
  /** Called before a re-attachment brings the output again from its start. */
  onRestart?(): void;
  /** For a re-attachment: how much longer from now on the target may take before it is told to end the command. Default `timeoutMs`. */
  overdueMs?: number;
  /** Cancels: ends the command's whole process group on the target, not the connection alone. */
  signal?: AbortSignal;
}

/** What was kept of one output stream. */
export interface Captured {
  /** At most 1 MiB: everything, or the first half and the last half with a gap at `gapAt`. */
  bytes: Uint8Array;
  /** What the command wrote. */
  totalBytes: number;
  /** `totalBytes` less what is in `bytes`; 0 when nothing is missing. */
  droppedBytes: number;
  /** Where in `bytes` the missing part belongs; undefined when nothing is missing. */
  gapAt: number | undefined;
}

/** What every ended run knows. */
export interface RunOutput {
  stdout: Captured;
  stderr: Captured;
  /** By the target's own clock where it told it, else from the request to the end. */
  durationMs: number;
  /** The shell that ran it, `sh` where the target has no bash; undefined when that is not known. */
  shell: 'bash' | 'sh' | undefined;
}

/** How a run ended, as truthfully as it can be known. */
export type RunEnd =
  | ({
      kind: 'exited';
      exitCode: number;
      /** The signal that an exit code over 128 stands for by the shells' convention; a command may also choose such a code. */
      signal?: string | undefined;
    } & RunOutput)
  /** The server said that a signal ended it. */
  | ({ kind: 'signalled'; signal: string } & RunOutput)
  /** The time limit ended it. `groupGone`: proven that no process of its session is left. */
  | ({ kind: 'timed_out'; groupGone: boolean } & RunOutput)
  /** `signal` or `cancel` ended it. `started` is false when it was still waiting for its turn. */
  | ({ kind: 'cancelled'; groupGone: boolean; started: boolean } & RunOutput)
  /**
   * Provably this request ran nothing and will not. With `ssh_never_started` nothing ever ran under this id and nothing will; with any
   * other code that holds for whoever is the only one to start it, which the claim of the row sees to.
   */
  | { kind: 'not_started'; error: SshError }
  /** The link went after the request left. A change may still be running: re-attach. A read ends with its link. */
  | ({ kind: 'connection_lost'; error: SshError } & RunOutput)
  /** It was started and its end cannot be known: check before repeating. `alive`: some of its processes still run. */
  | ({ kind: 'unknown'; reason: string; alive: boolean } & RunOutput);

/** What a cancellation found on the target. */
export type CancelEnd =
  /** It never started, and from now on cannot. */
  | { kind: 'never_started' }
  /** It has ended: by this cancellation, by its time limit, or by itself before either. */
  | { kind: 'ended'; by: 'cancel' | 'timeout' | 'exit'; exitCode: number; groupGone: boolean }
  /** The wrapper was gone; what was left of the command was ended, `alive` if not all of it. */
  | { kind: 'unknown'; reason: string; alive: boolean }
  /** The target could not be asked. */
  | { kind: 'failed'; error: SshError };

/** Runs commands on targets. Never rejects for what a target or a network does: that is a `RunEnd`. */
export interface RemoteRunner {
  run(request: RunRequest): Promise<RunEnd>;
  /** Follows what an earlier `run` of this id started, or proves that it never did. Never starts the command. */
  reattach(request: RunRequest): Promise<RunEnd>;
  /** Ends a change by its id, whoever started it. */
  cancel(executionId: string, target: CommandTarget): Promise<CancelEnd>;
  /** Lets go of all connections. Changes go on at their targets, reads end. */
  close(): Promise<void>;
}

/** A host's public key as it is remembered. */
export interface PinnedKey {
  /** `ssh-ed25519`, `ecdsa-sha2-nistp256`, `rsa-sha2-512` are all named by the key's own type, as in known_hosts. */
  type: string;
  /** The key in base64, as in known_hosts. */
  publicKey: string;
  /** `SHA256:…`, as `ssh-keygen -l` prints it. */
  fingerprint: string;
}

/** Where host keys that were seen at first use are kept. The known_hosts file goes before it and is never written. */
export interface HostKeyStore {
  get(host: HostEndpoint): Promise<PinnedKey | null>;
  /** Keeps the key if the host has none yet; a key that is there already stays. */
  pin(host: HostEndpoint, key: PinnedKey): Promise<void>;
}
