const MAX_FAILURES = 10;
const WINDOW_MS = 60_000;
/** So many addresses are remembered at most; past that the oldest go. */
const MAX_ADDRESSES = 10_000;

/** What a failed attempt came to: how many its address has now, and whether it is over the limit. */
export interface Failure {
  count: number;
  limited: boolean;
}

/**
 * Counts failed attempts by address (H3): after ten in a minute the address is refused for the rest of that minute,
 * whatever it shows. An IPv6 address counts with its whole /64, which one client has to itself.
 */
export class FailureLimit {
  readonly #entries = new Map<string, { count: number; since: number }>();
  readonly #now: () => number;

  /** `now` gives milliseconds that never go back. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Milliseconds until the address is listened to again; 0 when it is now. */
  waitMs(address: string): number {
    const entry = this.#entries.get(networkOf(address));
    if (entry === undefined || entry.count < MAX_FAILURES) return 0;
    return Math.max(0, entry.since + WINDOW_MS - this.#now());
  }

  /** Counts a failure. One that came in while the address was still under the limit may find itself over it. */
  add(address: string): Failure {
    const key = networkOf(address);
    const now = this.#now();
    const known = this.#entries.get(key);
    const entry =
      known === undefined || now - known.since >= WINDOW_MS ? { count: 0, since: now } : known;
    entry.count++;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    const oldest = this.#entries.keys().next().value;
    if (this.#entries.size > MAX_ADDRESSES && oldest !== undefined) this.#entries.delete(oldest);
    return { count: entry.count, limited: entry.count > MAX_FAILURES };
  }
}

/** What stands for an address when failures are counted: an IPv4 address, or the first 64 bits of an IPv6 one. */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!address.includes(':')) return address;
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length);
  const groups = [...before, ...Array<string>(zeros).fill('0'), ...after];
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
