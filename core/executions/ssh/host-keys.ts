import { readFile } from 'node:fs/promises';
import { errorText } from '../../errors.ts';
import type { HostEndpoint, HostKeyStore, PinnedKey } from '../ports.ts';
import { SshError } from './errors.ts';
import { entriesFor, parseKnownHosts, publicKeyOf, type KnownHostsEntry } from './known-hosts.ts';

/** What is known about one host before a connection to it. */
export interface HostKeyExpectation {
  /** The types of the known keys: the host is asked for one of these first. Empty at first use. */
  types: string[];
  /** Null if the presented key may be trusted, else why not. */
  check(presented: Buffer): SshError | null;
  /** To be called once the host has proven that it holds the key: pins it at first use. */
  accepted(presented: Buffer): Promise<void>;
}

/**
 * Decides which host keys are trusted (X3, Z5): those of the known_hosts file where it names the host, else the one that was
 * pinned at first use. Never one that differs from what is known.
 */
export class HostKeys {
  readonly #file: string | undefined;
  readonly #store: HostKeyStore;

  constructor(options: { knownHostsFile?: string | undefined; store: HostKeyStore }) {
    this.#file = options.knownHostsFile;
    this.#store = options.store;
  }

  /** Throws `SshError` (`ssh_known_hosts_unreadable`) rather than trusting a host for want of its file. */
  async expect(host: HostEndpoint): Promise<HostKeyExpectation> {
    const listed = entriesFor(await this.#entries(), host.address, host.port);
    const known = listed.filter((entry) => !entry.revoked);
    if (known.length > 0) return this.#listed(host, listed, known);
    const pinned = await this.#stored(() => this.#store.get(host));
    return {
      types: pinned === null ? [] : [pinned.type],
      check: (presented) => {
        const key = publicKeyOf(presented);
        if (listed.some((entry) => entry.key.publicKey === key.publicKey))
          return revoked(host, key);
        return pinned === null || pinned.publicKey === key.publicKey
          ? null
          : changed(host, pinned, key, undefined);
      },
      accepted: async (presented) => {
        if (pinned !== null) return;
        const key = publicKeyOf(presented);
        await this.#stored(() => this.#store.pin(host, key));
        // Another process may have pinned one in the meantime: the first one counts.
        const kept = await this.#stored(() => this.#store.get(host));
        if (kept !== null && kept.publicKey !== key.publicKey)
          throw changed(host, kept, key, undefined);
      },
    };
  }

  #listed(
    host: HostEndpoint,
    listed: readonly KnownHostsEntry[],
    known: readonly KnownHostsEntry[],
  ): HostKeyExpectation {
    return {
      types: [...new Set(known.map((entry) => entry.key.type))],
      check: (presented) => {
        const key = publicKeyOf(presented);
        if (listed.some((entry) => entry.revoked && entry.key.publicKey === key.publicKey))
          return revoked(host, key);
        if (known.some((entry) => entry.key.publicKey === key.publicKey)) return null;
        const old = known.find((entry) => entry.key.type === key.type) ?? known[0];
        return old === undefined
          ? null
          : changed(host, old.key, key, { file: this.#file ?? '', line: old.line });
      },
      accepted: async () => {},
    };
  }

  async #stored<T>(use: () => Promise<T>): Promise<T> {
    try {
      return await use();
    } catch (cause) {
      throw new SshError(
        'ssh_known_hosts_unreadable',
        `The pinned host keys cannot be used: ${errorText(cause)}`,
        { cause },
      );
    }
  }

  async #entries(): Promise<KnownHostsEntry[]> {
    if (this.#file === undefined) return [];
    try {
      return parseKnownHosts(await readFile(this.#file, 'utf8'));
    } catch (cause) {
      throw new SshError(
        'ssh_known_hosts_unreadable',
        `The known hosts file ${this.#file} cannot be read: ${errorText(cause)}`,
        {
          hint: 'Correct NOMOS_KNOWN_HOSTS, or unset it to pin host keys at first use.',
          cause,
        },
      );
    }
  }
}

function changed(
  host: HostEndpoint,
  old: PinnedKey,
  key: PinnedKey,
  place: { file: string; line: number } | undefined,
): SshError {
  const name = `${host.slug} (${host.address}, port ${host.port})`;
  const where =
    place === undefined ? 'pinned at first use' : `in ${place.file}, line ${place.line}`;
  return new SshError(
    'ssh_host_key_changed',
    `The SSH host key of ${name} is not the one that is known. Known (${where}): ${old.type} ${old.fingerprint}. ` +
      `Shown now: ${key.type} ${key.fingerprint}. Nothing was sent to it: it may be another machine.`,
    {
      fields: { host: host.slug, old: old.fingerprint, new: key.fingerprint },
      hint:
        'Compare the new fingerprint on the machine itself (ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub). If it is right, ' +
        (place === undefined
          ? `remove the pinned key of ${host.slug}; the next connection pins the new one.`
          : 'replace that line.'),
    },
  );
}

function revoked(host: HostEndpoint, key: PinnedKey): SshError {
  return new SshError(
    'ssh_host_key_revoked',
    `${host.slug} (${host.address}, port ${host.port}) shows the key ${key.fingerprint}, which the known hosts file marks as revoked.`,
    {
      fields: { host: host.slug, new: key.fingerprint },
      hint: 'Give the machine a new host key and list that one.',
    },
  );
}
