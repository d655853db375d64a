/** A line of a machine's journal. */
export interface JournalLine {
  readonly atMs: number;
  /** The unit it belongs to; empty for the kernel. */
  readonly unit: string;
  /** The name before the colon, such as `nginx` or `systemd`. */
  readonly ident: string;
  readonly pid: number;
  readonly text: string;
  /** syslog's number: 3 error, 4 warning, 6 information. */
  readonly priority: number;
}

/** Lines that a machine keeps; older ones are dropped as a real journal does when it is full. */
const MAX_LINES = 5_000;

/** The journal of one machine. */
export class Journal {
  readonly #lines: JournalLine[] = [];
  readonly #followers = new Set<(line: JournalLine) => void>();

  /** All lines, oldest first. */
  get lines(): readonly JournalLine[] {
    return this.#lines;
  }

  add(line: JournalLine): void {
    this.#lines.push(line);
    if (this.#lines.length > MAX_LINES) this.#lines.shift();
    for (const follow of this.#followers) follow(line);
  }

  /** Sorts what was written in any order when the machine was set up. */
  settle(): void {
    this.#lines.sort((a, b) => a.atMs - b.atMs);
  }

  /** Calls back for each new line until the returned function is called. */
  follow(receive: (line: JournalLine) => void): () => void {
    this.#followers.add(receive);
    return () => this.#followers.delete(receive);
  }
}
