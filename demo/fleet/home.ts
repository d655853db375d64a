import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ssh2 from 'ssh2';
import { isMap, isSeq, parseDocument } from 'yaml';
import { z } from 'zod';
import { errorText } from '../../core/errors.ts';
import { DemoFleetError } from './errors.ts';

/** Machines of the demo fleet that have an SSH server, by slug, in the order of their usual ports. */
export const HOST_SLUGS = ['host:pve-1', 'host:web-1', 'host:db-1', 'host:nas-1'] as const;

/** A key pair as texts: the private one in OpenSSH's format, the public one as a line of authorized_keys. */
export interface KeyPair {
  readonly privateKey: string;
  readonly publicKey: string;
}

/** What the fleet keeps in its folder, so that keys stay pinned and ports stay the same from start to start. */
export interface FleetHome {
  readonly folder: string;
  readonly privateKeyPath: string;
  readonly clientKey: KeyPair;
  readonly hostKeys: ReadonlyMap<string, KeyPair>;
  readonly ports: ReadonlyMap<string, number>;
}

const portsSchema = z.record(z.string(), z.int().min(1).max(65_535));

/**
 * Opens the fleet's folder, made if it is not there, with keys made at the first time (ed25519, readable by their owner
 * only). Throws `DemoFleetError` that names the file that cannot be used.
 */
export function openHome(folder: string): FleetHome {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const privateKeyPath = join(folder, 'id_ed25519');
  const hostKeys = HOST_SLUGS.map(
    (slug) => [slug, keyPair(join(folder, `host_key_${slug.slice(5)}`))] as const,
  );
  return {
    folder,
    privateKeyPath,
    clientKey: keyPair(privateKeyPath),
    hostKeys: new Map(hostKeys),
    ports: readPorts(join(folder, 'ports.json')),
  };
}

/**
 * Writes down the ports that were taken: for the next start, as known_hosts, and in the inventory that Nomos is given,
 * which is the seed with the real ports. Returns the paths of the last two.
 */
export function writeHome(
  home: FleetHome,
  ports: ReadonlyMap<string, number>,
  seedPath: string,
): { inventoryPath: string; knownHostsPath: string } {
  const inventoryPath = join(home.folder, 'inventory.yaml');
  const knownHostsPath = join(home.folder, 'known_hosts');
  replaceFile(join(home.folder, 'ports.json'), `${JSON.stringify(Object.fromEntries(ports))}\n`);
  replaceFile(inventoryPath, inventoryWith(readFileSync(seedPath, 'utf8'), ports));
  const lines = [...ports].map(([slug, port]) => {
    const [type = '', key = ''] = home.hostKeys.get(slug)?.publicKey.split(' ') ?? [];
    return `[127.0.0.1]:${port} ${type} ${key}\n`;
  });
  replaceFile(knownHostsPath, lines.join(''));
  return { inventoryPath, knownHostsPath };
}

function keyPair(path: string): KeyPair {
  const existing = readIfThere(path);
  if (existing !== undefined) {
    const parsed = ssh2.utils.parseKey(existing);
    if (parsed instanceof Error || parsed.type !== 'ssh-ed25519') {
      throw new DemoFleetError(`${path} is not an ed25519 private key.`, {
        hint: 'Delete it to have a new one made.',
        fields: { file: path },
        cause: parsed instanceof Error ? parsed : undefined,
      });
    }
    return { privateKey: existing, publicKey: publicLine(parsed.getPublicSSH()) };
  }
  const made = soundKeyPair();
  writeFileSync(path, made.private, { mode: 0o600, flag: 'wx' });
  writeFileSync(`${path}.pub`, `${made.public}\n`, { mode: 0o644 });
  return { privateKey: made.private, publicKey: made.public };
}

/**
 * A new key pair that can be read back. ssh2 1.17 drops leading zero bytes of an ed25519 key and so spoils about one pair in
 * two hundred, which no program can then read.
 */
export function soundKeyPair(
  generate: () => { private: string; public: string } = () =>
    ssh2.utils.generateKeyPairSync('ed25519', { comment: 'nomos-demo-fleet' }),
): { private: string; public: string } {
  for (let tries = 0; tries < 20; tries += 1) {
    const made = generate();
    if (!(ssh2.utils.parseKey(made.private) instanceof Error)) return made;
  }
  throw new DemoFleetError('No usable ed25519 key could be made.');
}

function publicLine(blob: Buffer): string {
  return `ssh-ed25519 ${blob.toString('base64')} nomos-demo-fleet`;
}

function readPorts(path: string): Map<string, number> {
  const text = readIfThere(path);
  if (text === undefined) return new Map();
  try {
    return new Map(Object.entries(portsSchema.parse(JSON.parse(text))));
  } catch (error) {
    throw new DemoFleetError(`${path} cannot be read: ${errorText(error)}`, {
      hint: 'Delete it to have new ports chosen.',
      fields: { file: path },
    });
  }
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function inventoryWith(seed: string, ports: ReadonlyMap<string, number>): string {
  const document = parseDocument(seed);
  const entities = document.get('entities');
  if (!isSeq(entities)) throw new DemoFleetError('The demo inventory has no list of entities.');
  for (const item of entities.items) {
    if (!isMap(item)) continue;
    const port = ports.get(String(item.get('slug')));
    if (port !== undefined) item.setIn(['attributes', 'ssh_port'], port);
  }
  return document.toString({ lineWidth: 0 });
}

/** Whoever reads the file sees the old one or the new one, never half of one. */
function replaceFile(path: string, text: string): void {
  writeFileSync(`${path}.new`, text, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}
