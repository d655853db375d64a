import type { ClientErrorExtensions } from 'ssh2';
import type { HostEndpoint } from '../ports.ts';
import { SshError } from './errors.ts';

/** How a host is named in a sentence. */
export function where(host: HostEndpoint): string {
  return `${host.slug} (${host.address}, port ${host.port})`;
}

/** No answer within the connect limit. */
export function timedOut(host: HostEndpoint, timeoutMs: number): SshError {
  return new SshError(
    'ssh_timeout',
    `${where(host)} did not answer within ${Math.round(timeoutMs / 1000)} s.`,
    {
      fields: { host: host.slug },
      hint: 'Is it switched on, and does a firewall drop the connection?',
    },
  );
}

/** What kept a TCP connection from being made, told apart. */
export function socketError(
  host: HostEndpoint,
  cause: NodeJS.ErrnoException,
  timeoutMs: number,
): SshError {
  const fields = { host: host.slug, errno: cause.code };
  switch (cause.code) {
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new SshError(
        'ssh_name_not_found',
        `The name "${host.address}" of ${host.slug} does not resolve (${cause.code}).`,
        {
          fields,
          hint: 'Correct its address in the inventory, or the resolver of the machine that Nomos runs on.',
          cause,
        },
      );
    case 'ECONNREFUSED':
      return new SshError(
        'ssh_refused',
        `${where(host)} refuses connections: nothing listens there.`,
        {
          fields,
          hint: 'Is sshd running there, and is the port right?',
          cause,
        },
      );
    case 'ETIMEDOUT':
      return timedOut(host, timeoutMs);
    default:
      return new SshError('ssh_unreachable', `${where(host)} cannot be reached: ${cause.message}`, {
        fields,
        cause,
      });
  }
}

/** What went wrong between the connection and the login. */
export function loginError(
  host: HostEndpoint,
  cause: Error & ClientErrorExtensions,
  agentTrouble: string,
): SshError {
  const fields = { host: host.slug, user: host.user };
  switch (cause.level) {
    case 'client-authentication':
      return new SshError(
        'ssh_login_refused',
        `${where(host)} does not let "${host.user}" in with our key.${agentTrouble}`,
        {
          fields,
          hint: `Add the public key to ~/.ssh/authorized_keys of ${host.user} there.`,
          cause,
        },
      );
    case 'client-timeout':
      return new SshError(
        'ssh_timeout',
        `${where(host)} took the connection but did not finish the SSH login in time.`,
        { fields, cause },
      );
    case 'client-socket':
      return new SshError(
        'ssh_closed_early',
        `The connection to ${where(host)} broke during the login: ${cause.message}`,
        { fields, cause },
      );
    default:
      if (/lost before handshake/.test(cause.message)) {
        return new SshError(
          'ssh_closed_early',
          `${where(host)} closed the connection before the SSH handshake.`,
          {
            fields,
            hint: 'Is it sshd that listens on that port? It does so itself when too many logins are under way (MaxStartups).',
            cause,
          },
        );
      }
      return new SshError(
        'ssh_protocol',
        `${where(host)} does not speak SSH as expected: ${cause.message}`,
        { fields, cause },
      );
  }
}

/**
 * Why an exec request came to nothing, and whether it may have arrived. `alive`: the connection stands. ssh2 says "Unable to exec" as
 * well when the link breaks before the answer comes, and "No response" only while the channel is not open, before anything was sent.
 */
export function channelError(host: HostEndpoint, cause: Error, alive: boolean): SshError {
  const fields = { host: host.slug };
  if (/Channel open failure/.test(cause.message)) {
    return new SshError(
      'ssh_channel_refused',
      `${where(host)} opened no channel: ${cause.message}`,
      {
        fields,
        hint: 'sshd limits the channels of a connection (MaxSessions).',
        cause,
      },
    );
  }
  if (/No response from server/.test(cause.message)) {
    return new SshError(
      'ssh_closed_early',
      `${where(host)} closed the connection before the command was sent.`,
      { fields, cause },
    );
  }
  if (alive && /Unable to exec/.test(cause.message)) {
    return new SshError(
      'ssh_channel_refused',
      `${where(host)} does not let "${host.user}" run commands.`,
      { fields, cause },
    );
  }
  return new SshError(
    'ssh_connection_lost',
    `The connection to ${where(host)} broke while the command was being sent.`,
    { fields, cause },
  );
}
