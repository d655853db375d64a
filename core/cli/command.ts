/** Where a command reads and writes. */
export interface CommandIo {
  stdin: AsyncIterable<string | Uint8Array>;
  stdout: { write(text: string): unknown };
  stderr: { write(text: string): unknown };
}

/** One command of `nomos`. */
export interface Command {
  name: string;
  /** What `nomos <name> --help` prints; empty when the command prints it by itself. */
  usage: string;
  /** Runs it and gives the exit code: 0 done, 1 it failed, 2 it was called wrongly. */
  run(argv: string[], io: CommandIo): Promise<number>;
}

/** A command was called wrongly: the message says what is allowed. */
export class UsageError extends Error {}

/** Exit codes, the same for every command. */
export const EXIT = { ok: 0, failed: 1, usage: 2 } as const;
