import { InMemoryFs } from 'just-bash';
import type { CpOptions, FileContent, FsStat, RmOptions } from 'just-bash';

type ReadOptions = Parameters<InMemoryFs['readFile']>[1];
type WriteOptions = Parameters<InMemoryFs['writeFile']>[2];

/** Most that a machine's files may hold, so that no shell can fill this process's memory. */
const MAX_BYTES = 32 * 1024 * 1024;

/** Writes to a path below this go to the reader of a running command instead of into a file. */
const LIVE_PREFIX = '/dev/.live/';

/**
 * The files of a simulated machine, all in memory. Beside plain files there are large ones, which only claim a
 * size (a backup of 200 GiB is a name and a number here), and computed ones as below /proc.
 */
export class MachineFs extends InMemoryFs {
  readonly #sizes = new Map<string, number>();
  readonly #computed = new Map<string, () => string>();
  readonly #live = new Map<string, (text: string, encoding: string) => void>();
  #liveCount = 0;

  constructor() {
    super({}, { maxTotalBytes: MAX_BYTES });
  }

  /** Puts a file here that claims to be `bytes` long. */
  addLarge(path: string, bytes: number, modified: Date): void {
    this.writeFileSync(path, '', 'utf8', { mtime: modified });
    this.#sizes.set(path, bytes);
  }

  /** Puts a file here whose content is worked out each time that it is read. */
  addComputed(path: string, content: () => string): void {
    this.writeFileSync(path, '');
    this.#computed.set(path, content);
  }

  /** A path that hands on what is written to it; `close` takes it away again. */
  openLive(receive: (text: string, encoding: string) => void): { path: string; close: () => void } {
    this.#liveCount += 1;
    const path = `${LIVE_PREFIX}${this.#liveCount}`;
    this.#live.set(path, receive);
    return { path, close: () => this.#live.delete(path) };
  }

  /** What the large files at and below a path claim to take, in bytes. */
  claimedBelow(path: string): number {
    let total = 0;
    for (const [file, bytes] of this.#sizes) if (isBelow(file, path)) total += bytes;
    return total;
  }

  override async readFile(path: string, options?: ReadOptions): Promise<string> {
    return this.#computed.get(path)?.() ?? super.readFile(path, options);
  }

  override async readFileBuffer(path: string): Promise<Uint8Array> {
    const computed = this.#computed.get(path);
    return computed ? Buffer.from(computed()) : super.readFileBuffer(path);
  }

  override async writeFile(
    path: string,
    content: FileContent,
    options?: WriteOptions,
  ): Promise<void> {
    if (path.startsWith(LIVE_PREFIX)) {
      this.#receive(path, content, options);
      return;
    }
    await super.writeFile(path, content, options);
    this.#sizes.delete(path);
    this.#computed.delete(path);
  }

  override async appendFile(
    path: string,
    content: FileContent,
    options?: WriteOptions,
  ): Promise<void> {
    if (path.startsWith(LIVE_PREFIX)) this.#receive(path, content, options);
    else await super.appendFile(path, content, options);
  }

  override async stat(path: string): Promise<FsStat> {
    return this.#claim(path, await super.stat(path));
  }

  override async lstat(path: string): Promise<FsStat> {
    return this.#claim(path, await super.lstat(path));
  }

  override async rm(path: string, options?: RmOptions): Promise<void> {
    await super.rm(path, options);
    for (const file of this.#sizes.keys()) if (isBelow(file, path)) this.#sizes.delete(file);
  }

  override async cp(from: string, to: string, options?: CpOptions): Promise<void> {
    await super.cp(from, to, options);
    this.#carry(from, to);
  }

  override async mv(from: string, to: string): Promise<void> {
    const moved = [...this.#sizes].filter(([file]) => isBelow(file, from));
    await super.mv(from, to);
    for (const [file] of moved) this.#sizes.delete(file);
    for (const [file, bytes] of moved) this.#sizes.set(to + file.slice(from.length), bytes);
  }

  #carry(from: string, to: string): void {
    // Collected first: a copy below its own source would else be copied again and again.
    const copied = Array.from(this.#sizes).filter(([file]) => isBelow(file, from));
    for (const [file, bytes] of copied) this.#sizes.set(to + file.slice(from.length), bytes);
  }

  #claim(path: string, stat: FsStat): FsStat {
    const bytes = this.#sizes.get(path);
    return bytes !== undefined && stat.isFile ? { ...stat, size: bytes } : stat;
  }

  #receive(path: string, content: FileContent, options?: WriteOptions): void {
    const encoding = (typeof options === 'string' ? options : options?.encoding) ?? 'utf8';
    const text = typeof content === 'string' ? content : Buffer.from(content).toString('latin1');
    const kind = typeof content === 'string' ? encoding : 'latin1';
    if (text !== '') this.#live.get(path)?.(text, kind);
  }
}

function isBelow(file: string, path: string): boolean {
  return path === '/' || file === path || file.startsWith(path.endsWith('/') ? path : `${path}/`);
}
