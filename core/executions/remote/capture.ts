import { Buffer } from 'node:buffer';
import type { Captured } from '../ports.ts';

/** What is kept of one output stream (X4). */
export const CAPTURE_BYTES = 1024 * 1024;

/**
 * Keeps the first and the last half of a stream and counts the rest: memory stays the same however much comes (R13).
 * Nothing is missing as long as the stream is no longer than the limit.
 */
export class OutputCapture {
  readonly #half: number;
  #head: Buffer[] = [];
  #headBytes = 0;
  #ring: Buffer | undefined;
  #ringEnd = 0;
  #tailBytes = 0;
  #total = 0;
  /** What came after a gap; undefined while there is none. */
  #sinceGap: number | undefined;

  constructor(limitBytes: number = CAPTURE_BYTES) {
    this.#half = Math.floor(limitBytes / 2);
  }

  push(chunk: Uint8Array): void {
    this.#total += chunk.length;
    if (this.#sinceGap !== undefined) this.#sinceGap += chunk.length;
    const room = this.#half - this.#headBytes;
    if (room > 0 && this.#sinceGap === undefined) {
      // Copied: a piece of a larger buffer would keep all of that alive.
      const part = Buffer.from(chunk.subarray(0, room));
      this.#head.push(part);
      this.#headBytes += part.length;
      chunk = chunk.subarray(part.length);
    }
    if (chunk.length > 0) this.#tail(chunk.subarray(Math.max(0, chunk.length - this.#half)));
  }

  /** What comes next is the end of the stream, after a part that the target did not keep, if its total says so. */
  gapOnce(): void {
    this.#sinceGap ??= 0;
  }

  get totalBytes(): number {
    return this.#total;
  }

  /** `totalBytes`: what the target counted, where it kept only a part. */
  end(totalBytes: number = this.#total): Captured {
    const whole = this.#sinceGap === undefined || totalBytes <= this.#total;
    const tail = whole ? this.#tailBytes : Math.min(this.#tailBytes, this.#sinceGap ?? 0);
    const bytes = Buffer.concat([...this.#head, this.#lastOf(tail)]);
    const total = Math.max(totalBytes, bytes.length);
    const droppedBytes = total - bytes.length;
    return {
      bytes,
      totalBytes: total,
      droppedBytes,
      gapAt: droppedBytes > 0 ? this.#headBytes : undefined,
    };
  }

  #tail(chunk: Uint8Array): void {
    this.#ring ??= Buffer.alloc(this.#half);
    const first = Math.min(chunk.length, this.#half - this.#ringEnd);
    this.#ring.set(chunk.subarray(0, first), this.#ringEnd);
    this.#ring.set(chunk.subarray(first), 0);
    this.#ringEnd = (this.#ringEnd + chunk.length) % this.#half;
    this.#tailBytes = Math.min(this.#half, this.#tailBytes + chunk.length);
  }

  #lastOf(bytes: number): Buffer {
    if (this.#ring === undefined || bytes === 0) return Buffer.alloc(0);
    const start = (this.#ringEnd - bytes + this.#half) % this.#half;
    const first = Math.min(bytes, this.#half - start);
    return Buffer.concat([
      this.#ring.subarray(start, start + first),
      this.#ring.subarray(0, bytes - first),
    ]);
  }
}
