import { errorText } from '../../core/errors.ts';
import { log } from '../../core/log.ts';
import { type Failure, isNoMatrixAnswer, isServerError, sortFailure } from '../matrix/errors.ts';
import { backoffMs, pause } from '../matrix/retry.ts';
import { type DeliverOptions, deliver } from './deliver.ts';
import {
  type ClaimedRow,
  type QueuedRow,
  claimRow,
  failRow,
  pendingRows,
  postponeRow,
  unclaimRow,
} from './queue.ts';
import { tellRefused } from './refused.ts';
import { UnsendableError } from './resolve.ts';
import { tellNotSaid, tellRoomTrouble } from './room-trouble.ts';
import { chooseInLane } from './select.ts';

/** Lanes sent side by side. */
const MAX_LANES = 4;
/** In case a bell was not heard. */
const SWEEP_MS = 5_000;
/** So long after a limit rows go one by one, most urgent first. */
const CAUTIOUS_MS = 60_000;
/** Synapse's default is a message in 5 s (`rc_message`), an invitation of one person in 333 s (`rc_invites`). */
const LONGEST_MESSAGE_LIMIT_MS = 15_000;
/** A row that the homeserver answers with an error of its own so often, while others pass, is given up (R12). */
const MAX_SERVER_ERRORS = 10;
/** Of a row that was tried more often than that, so many are enough: nothing may be going out besides but the word in the lobby. */
const LATE_REFUSALS = 2;
const PACES_KEPT = 10_000;

/** What the sender works with. */
export interface SenderOptions extends DeliverOptions {
  signal: AbortSignal;
}

/**
 * Sends the outbox: one row at a time in each lane, in order, lanes side by side (R5). While the homeserver limits the
 * account, everything waits and then goes one by one, what a person needs first (R10).
 */
export class Sender {
  readonly #options: SenderOptions;
  readonly #busy = new Map<string, Promise<void>>();
  /** When a card was last edited. Forgotten at a restart: then an edit goes at once. */
  readonly #lastEdit = new Map<string, number>();
  #blockedUntil = 0;
  #cautiousUntil = 0;
  /** How often something else than the homeserver refused a row while others passed. */
  readonly #refusals = new Map<bigint, number>();
  #lastSuccess = -Infinity;
  #again = true;
  #wake: () => void = () => {};
  #fatal: Error | undefined;

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  /** There may be new rows. */
  wake(): void {
    this.#again = true;
    this.#wake();
  }

  /** Sends until the signal fires. Throws when the homeserver refuses the token. */
  async run(): Promise<void> {
    const { signal } = this.#options;
    signal.addEventListener('abort', () => this.#wake(), { once: true });
    while (!signal.aborted && this.#fatal === undefined) {
      this.#again = false;
      let waitMs: number;
      try {
        waitMs = await this.#start();
      } catch (error) {
        log.error({ error: errorText(error) }, 'the outbox cannot be read; trying again');
        await pause(1_000, signal);
        continue;
      }
      if (!this.#again && !signal.aborted) await this.#rest(waitMs);
    }
    await Promise.all(this.#busy.values());
    if (this.#fatal !== undefined && !signal.aborted) throw this.#fatal;
  }

  /** Starts what can go now, and gives the time until something else can. */
  async #start(): Promise<number> {
    const now = performance.now();
    if (now < this.#blockedUntil) return this.#blockedUntil - now;
    const free = (now < this.#cautiousUntil ? 1 : MAX_LANES) - this.#busy.size;
    if (free <= 0) return SWEEP_MS;
    const lanes = await pendingRows(this.#options.database, [...this.#busy.keys()]);
    let waitMs = SWEEP_MS;
    const ready: Array<{ send: QueuedRow; urgency: number }> = [];
    for (const rows of lanes.values()) {
      const choice = chooseInLane(rows, (row) => this.#paceMs(row));
      if (choice === undefined) continue;
      if ('send' in choice) ready.push(choice);
      else waitMs = Math.min(waitMs, choice.waitMs);
    }
    ready.sort((a, b) => a.urgency - b.urgency || (a.send.id < b.send.id ? -1 : 1));
    for (const { send: row } of ready.slice(0, free)) {
      const work = this.#send(row).finally(() => {
        this.#busy.delete(row.lane);
        this.wake();
      });
      this.#busy.set(row.lane, work);
    }
    return waitMs;
  }

  async #rest(waitMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.max(1, waitMs));
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = () => {};
  }

  #paceMs(row: QueuedRow): number {
    const last = row.cardKey === null ? undefined : this.#lastEdit.get(row.cardKey);
    return last === undefined ? 0 : last + row.paceMs - performance.now();
  }

  /** Never rejects. */
  async #send(queued: QueuedRow): Promise<void> {
    const { database, signal } = this.#options;
    try {
      const claimed = await claimRow(database, queued.id);
      if (claimed === undefined) return;
      try {
        await deliver(claimed, this.#options);
        this.#lastSuccess = performance.now();
        this.#refusals.delete(queued.id);
        if (queued.kind === 'edit' && queued.cardKey !== null) this.#edited(queued.cardKey);
      } catch (error) {
        if (!signal.aborted) await this.#failed(claimed, error);
      }
    } catch (error) {
      // The database is away. The row is as it was, or tried and not marked: its next try finds out.
      log.error({ row: queued.id.toString(), error: errorText(error) }, 'an outbox row is stuck');
      await pause(1_000, signal);
    }
  }

  async #failed(claimed: ClaimedRow, error: unknown): Promise<void> {
    const { database } = this.#options;
    const { row } = claimed;
    if (error instanceof UnsendableError) {
      await this.#giveUp(claimed, `${error.code}: ${error.message}`);
      return;
    }
    const failure = sortFailure(error);
    if (failure.kind === 'token') {
      this.#fatal = new Error(failure.text, { cause: error });
      this.wake();
      return;
    }
    if (failure.kind === 'limited') {
      await this.#limited(claimed, failure.retryAfterMs);
      return;
    }
    if (row.kind === 'room') {
      // Without its room a task cannot be seen at all, so this is never given up.
      await postponeRow(database, row.id, backoffMs(row.attempts), failure.text);
      await tellRoomTrouble(database, row, failure.text);
      return;
    }
    // What stands in front of the homeserver may say anything while that is away: none of it is a word on this row.
    const refused = failure.kind === 'permanent' && !isNoMatrixAnswer(error);
    if (refused || this.#isPoison(claimed, error)) {
      await this.#giveUp(claimed, failure.text);
      if (failure.kind === 'permanent' && failure.errcode === 'M_FORBIDDEN') {
        await tellRefused(database, row, failure.text);
      }
      return;
    }
    // Nothing may be going out besides: the word in the lobby is also what shows whether the homeserver takes others.
    const final = failure.kind === 'permanent' || isServerError(error);
    if (row.attempts === MAX_SERVER_ERRORS && final) {
      await database.write((unit) => tellNotSaid(unit, row, failure.text));
    }
    await this.#postpone(claimed, failure);
  }

  async #limited(claimed: ClaimedRow, retryAfterMs: number): Promise<void> {
    const { row } = claimed;
    const invites = row.kind === 'state' && row.eventType === 'm.room.member';
    // Invitations and uploads have limits of their own, much longer than that on messages, which the making of a room
    // counts against too: they hold up their lane, not the whole account.
    const own =
      (row.kind === 'room' || row.kind === 'upload' || invites) &&
      retryAfterMs > LONGEST_MESSAGE_LIMIT_MS;
    log.warn({ retryAfterMs, lane: row.lane, kind: row.kind }, 'the homeserver limits the bot');
    if (!own) {
      // Before anything is waited for: no other lane may begin meanwhile.
      this.#blockedUntil = Math.max(this.#blockedUntil, performance.now() + retryAfterMs);
      this.#cautiousUntil = this.#blockedUntil + CAUTIOUS_MS;
    }
    await unclaimRow(this.#options.database, claimed, own ? retryAfterMs : 0);
  }

  async #postpone({ row }: ClaimedRow, failure: Failure): Promise<void> {
    const waitMs = backoffMs(row.attempts);
    const level = row.attempts === 1 || row.attempts % 10 === 0 ? 'warn' : 'debug';
    log[level](
      { lane: row.lane, attempts: row.attempts, waitMs, failure },
      'not sent; trying again',
    );
    await postponeRow(this.#options.database, row.id, waitMs, failure.text);
  }

  async #giveUp({ row }: ClaimedRow, why: string): Promise<void> {
    this.#refusals.delete(row.id);
    log.error({ lane: row.lane, kind: row.kind, card: row.cardKey, why }, 'given up sending');
    await failRow(this.#options.database, row, why);
  }

  /**
   * The homeserver itself fails at this row, again and again, while it takes others; or what stands in front of it refuses it for good.
   * A proxy's 502 or 503 says only that the homeserver is away, and no try of an outage counts (R10).
   */
  #isPoison({ row }: ClaimedRow, error: unknown): boolean {
    if (performance.now() - this.#lastSuccess >= CAUTIOUS_MS) return false;
    if (isServerError(error)) return row.attempts >= MAX_SERVER_ERRORS;
    if (!isNoMatrixAnswer(error) || sortFailure(error).kind !== 'permanent') return false;
    const times = (this.#refusals.get(row.id) ?? 0) + 1;
    this.#refusals.set(row.id, times);
    return times >= (row.attempts > MAX_SERVER_ERRORS ? LATE_REFUSALS : MAX_SERVER_ERRORS);
  }

  #edited(cardKey: string): void {
    this.#lastEdit.delete(cardKey);
    this.#lastEdit.set(cardKey, performance.now());
    // A map keeps the order of insertion: the first is the oldest.
    const oldest = this.#lastEdit.keys().next();
    if (this.#lastEdit.size > PACES_KEPT && oldest.done === false) {
      this.#lastEdit.delete(oldest.value);
    }
  }
}
