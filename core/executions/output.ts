import type { Database } from '../db/database.ts';
import type { ExecutionId } from '../ids.ts';
import { log } from '../log.ts';
import { safeText } from '../text/safe.ts';
import { withoutFirstWord, withoutLastWord } from '../text/words.ts';
import { maskOutput, outputTail, type Mask } from './finish.ts';
import type { OutputStream } from './ports.ts';

/** How often the last lines go to the row, and so to the card, while a command runs. */
const FLUSH_MS = 1_000;
/** How much of the newest output is kept for that: more than a card shows, so that a masked secret stays whole in it. */
const WINDOW_BYTES = 16 * 1024;

const NOTHING: Buffer = Buffer.alloc(0);
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BLANKS: readonly number[] = [LINE_FEED, CARRIAGE_RETURN, 0x20, 0x09];

/**
 * Follows a running command's output and keeps its last lines in the row (X4). Holds a window, never the whole. Lines go into it
 * when they are whole, and of one that is not the last word is not shown: a secret that is cut in two is none that could be
 * recognised (X9).
 */
export class OutputFollower {
  readonly #database: Database;
  readonly #id: ExecutionId;
  readonly #owner: string;
  readonly #mask: Mask;
  #window: Buffer = NOTHING;
  /** Whether the window begins in the middle of a line. */
  #cut = false;
  /** The lines that are not whole yet. */
  readonly #open: Record<OutputStream, Buffer> = { stdout: NOTHING, stderr: NOTHING };
  /** Whether the stream is in a word that is longer than the window. */
  readonly #inLongWord: Record<OutputStream, boolean> = { stdout: false, stderr: false };
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(database: Database, options: { id: ExecutionId; owner: string; mask: Mask }) {
    this.#database = database;
    this.#id = options.id;
    this.#owner = options.owner;
    this.#mask = options.mask;
  }

  /** Takes a piece of output. Both streams share the window, in the order in which their lines ended. */
  add(stream: OutputStream, chunk: Uint8Array): void {
    if (this.#stopped) return;
    const text = Buffer.concat([this.#open[stream], this.#afterLongWord(stream, chunk)]);
    const end = Math.max(text.lastIndexOf(LINE_FEED), text.lastIndexOf(CARRIAGE_RETURN)) + 1;
    this.#keep(text.subarray(0, end));
    const rest = text.subarray(end);
    if (rest.length <= WINDOW_BYTES) this.#open[stream] = Buffer.from(rest);
    else {
      // A line without end goes on in pieces, between words: the other stream may come in between.
      const word = Math.max(...BLANKS.map((blank) => rest.lastIndexOf(blank))) + 1;
      this.#keep(rest.subarray(0, word));
      this.#inLongWord[stream] = rest.length - word > WINDOW_BYTES;
      this.#open[stream] = this.#inLongWord[stream] ? NOTHING : Buffer.from(rest.subarray(word));
    }
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#flushing = this.#flush();
    }, FLUSH_MS);
  }

  /** The output comes again from its start: what was not whole yet is not gone on with, or the next line is not what it was (X9). */
  restart(): void {
    this.#window = NOTHING;
    this.#cut = false;
    this.#open.stdout = NOTHING;
    this.#open.stderr = NOTHING;
    this.#inLongWord.stdout = false;
    this.#inLongWord.stderr = false;
  }

  /** Ends the following; the end of the execution stores the whole output. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#flushing;
  }

  /** A word longer than the window is not shown: cut anywhere, it might be half a secret. */
  #afterLongWord(stream: OutputStream, chunk: Uint8Array): Uint8Array {
    if (!this.#inLongWord[stream]) return chunk;
    const end = chunk.findIndex((byte) => BLANKS.includes(byte));
    if (end < 0) return NOTHING;
    this.#inLongWord[stream] = false;
    return chunk.subarray(end);
  }

  #keep(text: Buffer): void {
    const all = Buffer.concat([this.#window, text.subarray(-WINDOW_BYTES)]);
    this.#cut ||= all.length > WINDOW_BYTES || text.length > WINDOW_BYTES;
    this.#window = all.subarray(-WINDOW_BYTES);
  }

  #text(): string {
    const whole = safeText(this.#window);
    // What the window begins with may be the rest of something.
    const lines = this.#cut ? withoutFirstWord(whole) : whole;
    const open = [this.#open.stdout, this.#open.stderr].map((line) =>
      withoutLastWord(safeText(line)).replace(/[ \t]{1,256}$/, ''),
    );
    return withoutLastWord(lines) + open.filter((line) => line !== '').join('\n');
  }

  async #flush(): Promise<void> {
    const tail = outputTail(maskOutput(this.#text(), this.#mask));
    try {
      await this.#database.write(async (unit) => {
        const { count } = await unit.db.execution.updateMany({
          where: { id: this.#id, status: 'running', leaseOwner: this.#owner },
          data: { tail },
        });
        if (count === 0) return;
        const { sessionId } = await unit.db.execution.findUniqueOrThrow({
          where: { id: this.#id },
          select: { sessionId: true },
        });
        unit.emit({ type: 'execution.output', sessionId, refId: this.#id });
      });
    } catch (error) {
      // Only what the card shows meanwhile is late; the output itself is stored at the end.
      log.warn({ execution: this.#id, error }, 'could not store the last lines');
    }
  }
}
