import { NomosError, type Fault } from '../../errors.ts';

/** What went wrong between here and a command's start, told apart. */
export type SshErrorCode =
  /** The host's name does not resolve. */
  | 'ssh_name_not_found'
  /** Nothing listens on that port. */
  | 'ssh_refused'
  /** No route, or the network is down. */
  | 'ssh_unreachable'
  /** No answer within the connect limit. */
  | 'ssh_timeout'
  /** The host took the connection and ended it before the login was through. */
  | 'ssh_closed_early'
  /** The host shows another key than the one that is known for it. */
  | 'ssh_host_key_changed'
  /** The host shows a key that known_hosts marks as revoked. */
  | 'ssh_host_key_revoked'
  /** The known_hosts file that is configured, or the store of pinned keys, cannot be read. */
  | 'ssh_known_hosts_unreadable'
  /** The host does not take the key for this user. */
  | 'ssh_login_refused'
  /** There is no usable key: no file, no agent, or a file that cannot be read. */
  | 'ssh_key_unusable'
  /** The host opened no channel, or did not take the request to run something. */
  | 'ssh_channel_refused'
  /** What answers is not SSH, or the wrapper's words could not be understood. */
  | 'ssh_protocol'
  /** The link went away after a request was sent, which may have arrived. */
  | 'ssh_connection_lost'
  /** This process is letting go of its connections. */
  | 'ssh_closed'
  /** It was cancelled while it waited for its turn. */
  | 'ssh_cancelled'
  /** The command cannot be handed over at all: empty, too long, or with a NUL in it. */
  | 'ssh_command_invalid'
  /** The wrapper refused to begin: no private directory, no `setsid`, a full disk. */
  | 'ssh_target_unfit'
  /** A script is not what it was when the command was asked for, so the command was not started. */
  | 'ssh_script_changed'
  /** This id was given up before anything ran under it. */
  | 'ssh_never_started';

const FAULTS: Partial<Record<SshErrorCode, Fault>> = {
  ssh_host_key_changed: 'operator',
  ssh_host_key_revoked: 'operator',
  ssh_known_hosts_unreadable: 'operator',
  ssh_key_unusable: 'operator',
  ssh_command_invalid: 'model',
  ssh_closed: 'system',
  ssh_cancelled: 'operator',
  ssh_never_started: 'system',
};

/** A failure of SSH or of the wrapper on the target, by one of the codes above. */
export class SshError extends NomosError {
  declare readonly code: SshErrorCode;

  constructor(
    code: SshErrorCode,
    message: string,
    options: { fields?: Record<string, unknown>; hint?: string; cause?: unknown } = {},
  ) {
    super(code, FAULTS[code] ?? 'target', message, options);
  }
}

/** Whatever was thrown, as an error. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
