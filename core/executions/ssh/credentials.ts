import { readFile } from 'node:fs/promises';
import ssh2 from 'ssh2';
import { errorText } from '../../errors.ts';
import { SshError } from './errors.ts';

/** How this program proves who it is: a private key file, an agent's socket, or both, the file first. */
export interface SshCredentials {
  /** A private key in OpenSSH or PEM form, without a passphrase. */
  keyFile?: string | undefined;
  /** The path of an SSH agent's socket, as in `SSH_AUTH_SOCK`. */
  agentSocket?: string | undefined;
}

/** What the SSH library needs of them. */
export interface LoadedCredentials {
  privateKey?: Buffer;
  agent?: string;
  methods: ('publickey' | 'agent')[];
}

/** Reads the key anew for each connection, so that a replaced file counts at once. Throws `SshError` (`ssh_key_unusable`). */
export async function loadCredentials(credentials: SshCredentials): Promise<LoadedCredentials> {
  const loaded: LoadedCredentials = { methods: [] };
  if (credentials.keyFile !== undefined) {
    loaded.privateKey = await readKey(credentials.keyFile);
    loaded.methods.push('publickey');
  }
  if (credentials.agentSocket !== undefined) {
    loaded.agent = credentials.agentSocket;
    loaded.methods.push('agent');
  }
  if (loaded.methods.length === 0) {
    throw new SshError('ssh_key_unusable', 'There is no SSH key to log in with.', {
      hint: 'Set NOMOS_SSH_KEY_FILE to a private key, or SSH_AUTH_SOCK to a running agent.',
    });
  }
  return loaded;
}

async function readKey(file: string): Promise<Buffer> {
  let bytes: Buffer;
  try {
    bytes = await readFile(file);
  } catch (cause) {
    throw new SshError(
      'ssh_key_unusable',
      `The SSH key file ${file} cannot be read: ${errorText(cause)}`,
      {
        hint: 'Correct NOMOS_SSH_KEY_FILE, or the rights of the file.',
        cause,
      },
    );
  }
  const parsed = ssh2.utils.parseKey(bytes);
  if (parsed instanceof Error) {
    const locked = /passphrase/i.test(parsed.message);
    throw new SshError(
      'ssh_key_unusable',
      `The SSH key file ${file} cannot be used: ${parsed.message}`,
      {
        hint: locked
          ? 'Load the key into an agent and set SSH_AUTH_SOCK.'
          : 'A private key in OpenSSH or PEM form is needed.',
      },
    );
  }
  return bytes;
}
