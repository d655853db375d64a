import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';

/** Why no network namespace can be made here; undefined if one can. */
export function netnsMissing(): string | undefined {
  if (userInfo().uid !== 0) return 'network namespaces are made by root only';
  if (!['/usr/sbin/ip', '/sbin/ip', '/usr/bin/ip', '/bin/ip'].some((file) => existsSync(file)))
    return 'ip is not installed (Debian: apt-get install iproute2)';
  const name = `nomos-try-${process.pid}`;
  const tried = spawnSync('ip', ['netns', 'add', name], { encoding: 'utf8' });
  if (tried.status !== 0) return `no network namespace can be made: ${tried.stderr.trim()}`;
  const link = spawnSync(
    'ip',
    ['-n', name, 'link', 'add', 'try0', 'type', 'veth', 'peer', 'name', 'try1'],
    {
      encoding: 'utf8',
    },
  );
  ip('netns', 'del', name);
  return link.status === 0 ? undefined : `no link can be made: ${link.stderr.trim()}`;
}

let serial = 0;

/**
 * A host of its own on a cable of its own: a network namespace, joined to this one by a pair of virtual interfaces. The cable
 * can be pulled, so that neither side hears of the other any more and neither is told.
 */
export class CabledHost implements Disposable {
  readonly #name: string;
  readonly #near: string;
  /** The address of the host at the far end. */
  readonly address: string;

  constructor() {
    serial += 1;
    this.#name = `nomos-${process.pid}-${serial}`;
    this.#near = `nm${process.pid % 100_000}-${serial}`;
    // From the range for tests of networks (RFC 2544), four addresses for each.
    const block = (process.pid * 16 + serial) % 16_384;
    const base = `198.18.${Math.floor(block / 64)}.`;
    const first = (block % 64) * 4;
    this.address = `${base}${first + 2}`;
    ip('netns', 'add', this.#name);
    ip('link', 'add', this.#near, 'type', 'veth', 'peer', 'name', 'far', 'netns', this.#name);
    ip('addr', 'add', `${base}${first + 1}/30`, 'dev', this.#near);
    ip('link', 'set', this.#near, 'up');
    ip('-n', this.#name, 'addr', 'add', `${this.address}/30`, 'dev', 'far');
    ip('-n', this.#name, 'link', 'set', 'lo', 'up');
    this.plug();
  }

  /** What a program that is to run there is started by. */
  get launcher(): readonly string[] {
    return ['ip', 'netns', 'exec', this.#name];
  }

  /** Pulls the cable: nothing gets through, and nobody is told. */
  pull(): void {
    ip('-n', this.#name, 'link', 'set', 'far', 'down');
  }

  /** Puts it in again. */
  plug(): void {
    ip('-n', this.#name, 'link', 'set', 'far', 'up');
  }

  [Symbol.dispose](): void {
    ip('netns', 'del', this.#name);
  }
}

function ip(...args: readonly string[]): void {
  const { status, stderr } = spawnSync('ip', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${stderr}`);
}
