import { existsSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** libfaketime, or undefined where it is not installed (Debian: apt-get install libfaketime). */
export function findFaketime(): string | undefined {
  if (!existsSync('/usr/lib')) return undefined;
  return readdirSync('/usr/lib')
    .map((folder) => path.join('/usr/lib', folder, 'faketime', 'libfaketime.so.1'))
    .find((file) => existsSync(file));
}

/** The clock of one program, which can be moved while it runs. Its timers go on: only what time it is changes. */
export class FakeClock {
  /** What the program is started with. */
  readonly env: NodeJS.ProcessEnv;
  readonly #file: string;

  /** `file`: where the clock's error is kept; the program must be able to read it. Throws without libfaketime. */
  constructor(file: string) {
    const library = findFaketime();
    if (library === undefined) throw new Error('libfaketime is not installed');
    this.#file = file;
    this.set(0);
    this.env = {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      // Seconds: how soon a move is seen.
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
    };
  }

  /** Lets the clock be wrong by so many seconds from now on. */
  set(offBySeconds: number): void {
    const sign = offBySeconds < 0 ? '-' : '+';
    // Never read half.
    writeFileSync(`${this.#file}.new`, `${sign}${Math.abs(offBySeconds)}\n`, { mode: 0o644 });
    renameSync(`${this.#file}.new`, this.#file);
  }
}
