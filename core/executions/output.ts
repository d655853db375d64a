import type { Database } from '../db/database.ts';
import type { ExecutionId } from '../ids.ts';
import { log } from '../log.ts';
import { safeText } from '../text/safe.ts';
import { outputTail, type Mask } from './finish.ts';
import type { OutputStream } from './ports.ts';

/** How often the last lines go to the row, and so to the card, while a command runs. */
const FLUSH_MS = 1_000;
/** How much of the newest output is kept for that: more than a card shows, so that a masked secret stays whole in it. */
const WINDOW_BYTES = 16 * 1024;

/** Follows a running command's output and keeps its last lines in the row (X4). Holds a window, never the whole. */
export class OutputFollower {
  readonly #database: Database;
  readonly #id: ExecutionId;
  readonly #owner: string;
  readonly #mask: Mask;
  #window: Buffer = Buffer.alloc(0);
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(database: Database, options: { id: ExecutionId; owner: string; mask: Mask }) {
    this.#database = database;
    this.#id = options.id;
    this.#owner = options.owner;
    this.#mask = options.mask;
  }

  /** Takes a piece of output. Both streams share the window, in the order in which they came. */
  add(_stream: OutputStream, chunk: Uint8Array): void {
    if (this.#stopped) return;
    const fresh = chunk.length > WINDOW_BYTES ? chunk.subarray(chunk.length - WINDOW_BYTES) : chunk;
    this.#window = Buffer.concat([this.#window, fresh]).subarray(-WINDOW_BYTES);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#flushing = this.#flush();
    }, FLUSH_MS);
  }

  /** Ends the following; the end of the execution stores the whole output. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#flushing;
  }

  async #flush(): Promise<void> {
    const tail = outputTail(this.#mask(safeText(this.#window)));
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
