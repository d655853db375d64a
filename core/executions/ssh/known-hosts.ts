import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { PinnedKey } from '../ports.ts';

/** One line of a known_hosts file that binds a key to hosts. */
export interface KnownHostsEntry {
  /** The line's number in its file, from 1. */
  line: number;
  revoked: boolean;
  /** The first field: patterns by commas, or one hashed name. */
  hosts: string;
  key: PinnedKey;
}

/**
 * Reads the text of an OpenSSH known_hosts file. Lines that are no entry are skipped as OpenSSH does, and so are certificate
 * authorities (`@cert-authority`): host certificates are not offered by the SSH library in use.
 */
export function parseKnownHosts(text: string): KnownHostsEntry[] {
  const entries: KnownHostsEntry[] = [];
  for (const [index, raw] of text.split('\n').entries()) {
    const fields = raw.trim().split(/[ \t]+/);
    const marker = fields[0]?.startsWith('@') === true ? fields.shift() : undefined;
    const [hosts, type, publicKey] = fields;
    if (hosts === undefined || hosts === '' || hosts.startsWith('#')) continue;
    if (type === undefined || publicKey === undefined) continue;
    if (marker !== undefined && marker !== '@revoked') continue;
    const bytes = Buffer.from(publicKey, 'base64');
    if (bytes.length === 0) continue;
    entries.push({
      line: index + 1,
      revoked: marker === '@revoked',
      hosts,
      key: publicKeyOf(bytes),
    });
  }
  return entries;
}

/** The entries that speak about this address and port, by name, wildcard, negation or hash. */
export function entriesFor(
  entries: readonly KnownHostsEntry[],
  address: string,
  port: number,
): KnownHostsEntry[] {
  const name = address.toLowerCase();
  const wanted = port === 22 ? name : `[${name}]:${port}`;
  return entries.filter((entry) =>
    entry.hosts.startsWith('|')
      ? hashMatches(entry.hosts, wanted)
      : listMatches(entry.hosts, wanted),
  );
}

/** A key from its wire form, with its type and its fingerprint as `ssh-keygen -l` prints it. */
export function publicKeyOf(bytes: Buffer): PinnedKey {
  const length = bytes.length >= 4 ? bytes.readUInt32BE(0) : 0;
  return {
    type: bytes.subarray(4, 4 + length).toString('latin1'),
    publicKey: bytes.toString('base64'),
    fingerprint: `SHA256:${createHash('sha256').update(bytes).digest('base64').replace(/=+$/, '')}`,
  };
}

// `|1|salt|hash`: HMAC-SHA1 of the name under the salt, so that the file tells nobody which hosts are in it.
function hashMatches(field: string, wanted: string): boolean {
  const [, kind, salt, hash] = field.split('|');
  if (kind !== '1' || salt === undefined || hash === undefined) return false;
  const expected = Buffer.from(hash, 'base64');
  const actual = createHmac('sha1', Buffer.from(salt, 'base64')).update(wanted).digest();
  return expected.length === actual.length && timingSafeEqual(expected, actual);
}

function listMatches(field: string, wanted: string): boolean {
  let matched = false;
  for (const item of field.toLowerCase().split(',')) {
    const negated = item.startsWith('!');
    if (!wildcard(negated ? item.slice(1) : item).test(wanted)) continue;
    if (negated) return false;
    matched = true;
  }
  return matched;
}

function wildcard(pattern: string): RegExp {
  const source = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${source}$`);
}
