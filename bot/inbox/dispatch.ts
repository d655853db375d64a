import type { Database, Unit } from '../../core/db/database.ts';
import type { MatrixInbox } from '../../core/db/rows.ts';
import { errorText } from '../../core/errors.ts';
import { faultPoint } from '../../core/faults.ts';
import { type RoomId, asId } from '../../core/ids.ts';
import { log } from '../../core/log.ts';
import type { RoomCrypto } from '../crypto/crypto.ts';
import { UnsealError } from '../crypto/unseal.ts';
import { backoffMs, pause } from '../matrix/retry.ts';
import { inboxEvent } from './event.ts';
import { TRIES, recordFailure } from './failure.ts';
import type { ReadMedia } from '../media/types.ts';
import { mediaContent } from './media.ts';
import { type Opened, openSealed, sayCannotRead } from './open.ts';
import type { InboxHandler } from './types.ts';

/** Rooms worked on side by side: well under the database's pool. */
const MAX_ROOMS = 4;
/** In case a bell was not heard. */
const SWEEP_MS = 15_000;

/** What the dispatcher works with. */
export interface DispatchOptions {
  database: Database;
  handler: InboxHandler;
  isOperator(userId: string): boolean;
  /** Without it encrypted rooms get a plain answer. */
  crypto?: RoomCrypto | undefined;
  /**
   * Reads what comes with a message, before it is worked on and outside of any transaction (C16). It may take its time: only its own room
   * waits for it. Default: nothing is read.
   */
  readMedia?(content: Record<string, unknown>, signal: AbortSignal): Promise<ReadMedia | undefined>;
  signal: AbortSignal;
}

/**
 * Hands stored events to the handler: in order within a room, rooms side by side. The effect and the event's mark commit
 * together, so each event is worked on exactly once (R4); one that cannot be worked on is told and passed by (R12).
 */
export class Dispatcher {
  readonly #options: DispatchOptions;
  readonly #active = new Map<string, Promise<void>>();
  /** Rooms whose next message waits for its key, with the timer that ends the wait. */
  readonly #held = new Map<string, NodeJS.Timeout>();
  /** Rooms that wait for a file or a transcription: they hold no connection, so others may take their place. */
  readonly #reading = new Set<string>();
  #again = true;
  #wake: () => void = () => {};

  constructor(options: DispatchOptions) {
    this.#options = options;
  }

  /** There may be new events. */
  wake(): void {
    this.#again = true;
    this.#wake();
  }

  /** Keys came for messages of these rooms: what waits for one is tried again. */
  release(roomIds: readonly RoomId[]): void {
    for (const roomId of roomIds) {
      clearTimeout(this.#held.get(roomId));
      this.#held.delete(roomId);
    }
    this.wake();
  }

  /** Works until the signal fires, then until the events at hand are done. */
  async run(): Promise<void> {
    const { signal } = this.#options;
    signal.addEventListener('abort', () => this.#wake(), { once: true });
    while (!signal.aborted) {
      this.#again = false;
      try {
        await this.#start();
      } catch (error) {
        log.error({ error: errorText(error) }, 'the inbox cannot be read; trying again');
        await pause(1_000, signal);
        continue;
      }
      if (!this.#again && !signal.aborted) await this.#rest();
    }
    await Promise.all(this.#active.values());
    for (const timer of this.#held.values()) clearTimeout(timer);
  }

  /** Starts work on each room that has events and is not being worked on. */
  async #start(): Promise<void> {
    const free = MAX_ROOMS - (this.#active.size - this.#reading.size);
    if (free <= 0) return;
    const rooms = await this.#options.database.read.$queryRaw<Array<{ room_id: string }>>`
      SELECT i.room_id FROM matrix_inbox i LEFT JOIN matrix_rooms r USING (room_id)
      WHERE i.state = 'pending' AND r.kind IS DISTINCT FROM 'new'
        AND NOT i.room_id = ANY(${[...this.#active.keys(), ...this.#held.keys()]})
      GROUP BY i.room_id ORDER BY min(i.position) LIMIT ${free}`;
    for (const { room_id: roomId } of rooms) {
      const work = this.#workOn(asId<RoomId>(roomId)).finally(() => {
        this.#active.delete(roomId);
        this.wake();
      });
      this.#active.set(roomId, work);
    }
  }

  async #rest(): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, SWEEP_MS);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = () => {};
  }

  async #workOn(roomId: RoomId): Promise<void> {
    const { database, signal } = this.#options;
    let failures = 0;
    while (!signal.aborted) {
      try {
        const row = await database.read.matrixInbox.findFirst({
          where: { roomId, state: 'pending' },
          orderBy: { position: 'asc' },
        });
        if (row === null) return;
        if (await this.#open(row)) return;
        failures = 0;
      } catch (error) {
        // The database or the homeserver is away. Nothing was counted against the event.
        failures++;
        log.error(
          { roomId, error: errorText(error) },
          'the inbox cannot be worked on; trying again',
        );
        await pause(backoffMs(failures), signal);
      }
    }
  }

  /** Decrypts what is encrypted, and hands it on. Whether the room must wait for a key. */
  async #open(row: MatrixInbox): Promise<boolean> {
    const { database, crypto, isOperator } = this.#options;
    const sealed = row.type === 'm.room.encrypted' && row.clear === null;
    if (!sealed || crypto === undefined || !isOperator(row.sender)) {
      await this.#handle(row);
      return false;
    }
    let opened: Opened;
    try {
      opened = await openSealed(database, crypto, row);
    } catch (error) {
      // Anything else is no fault of this event: it waits until that is over.
      if (!(error instanceof UnsealError)) throw error;
      await this.#failed(row, error);
      return false;
    }
    if (opened === 'dealt_with') return false;
    if ('row' in opened) {
      await this.#handle(opened.row);
      return false;
    }
    this.#held.set(
      row.roomId,
      setTimeout(() => this.release([asId<RoomId>(row.roomId)]), opened.waitMs),
    );
    return true;
  }

  async #handle(row: MatrixInbox): Promise<void> {
    const { database } = this.#options;
    const media = await this.#mediaOf(row);
    let thrown: unknown;
    try {
      await database.write(async (unit) => {
        const [claimed] = await unit.db.matrixInbox.updateManyAndReturn({
          where: { eventId: row.eventId, state: 'pending' },
          data: { state: 'done', handledAt: new Date() },
        });
        if (claimed === undefined) return;
        try {
          await this.#effect(unit, claimed, media);
        } catch (error) {
          thrown = error;
          throw error;
        }
        await faultPoint('inbox.before_commit');
      });
    } catch (error) {
      if (thrown === undefined) throw error;
      await this.#failed(row, thrown);
    }
  }

  async #failed(row: MatrixInbox, error: unknown): Promise<void> {
    const { database, signal } = this.#options;
    const attempts = row.attempts + 1;
    log.error(
      { eventId: row.eventId, attempts, error: errorText(error) },
      'an event could not be worked on',
    );
    await database.write(async (unit) => recordFailure(unit, row, attempts, error));
    await pause(attempts < TRIES ? backoffMs(attempts) : 0, signal);
  }

  async #mediaOf(row: MatrixInbox): Promise<ReadMedia | undefined> {
    const { database, readMedia, isOperator, signal } = this.#options;
    if (readMedia === undefined || !isOperator(row.sender)) return undefined;
    const content = await mediaContent(database.read, row);
    if (content === undefined) return undefined;
    this.#reading.add(row.roomId);
    // There is room for another one meanwhile.
    this.wake();
    try {
      return await readMedia(content, signal);
    } finally {
      this.#reading.delete(row.roomId);
    }
  }

  async #effect(unit: Unit, row: MatrixInbox, media: ReadMedia | undefined): Promise<void> {
    const room = await unit.db.matrixRoom.findUniqueOrThrow({ where: { roomId: row.roomId } });
    if (!this.#options.isOperator(row.sender)) {
      // An operator when it was stored, none any more.
      unit.audit({
        actor: row.sender,
        action: 'stranger.ignored',
        subject: row.eventId,
        data: { roomId: row.roomId, type: row.type },
      });
      await unit.db.matrixInbox.update({
        where: { eventId: row.eventId },
        data: { state: 'ignored' },
      });
      return;
    }
    if (await isTakenBack(unit, row)) {
      await unit.db.matrixInbox.update({
        where: { eventId: row.eventId },
        data: { state: 'ignored' },
      });
      return;
    }
    const sealed = row.type === 'm.room.encrypted' && row.clear === null;
    if (sealed) await sayCannotRead(unit, room);
    else await this.#options.handler(unit, { ...inboxEvent(row, room), media });
  }
}

/**
 * Whether its sender took an event back while it waited for its key, for a recording before it, or for the bot: the redaction
 * stands behind it in the inbox. Worked on first, it would have an effect that nobody wants any more (A7, T13).
 */
async function isTakenBack(unit: Unit, row: MatrixInbox): Promise<boolean> {
  const found = await unit.db.$queryRaw<unknown[]>`
    SELECT 1 FROM matrix_inbox r JOIN matrix_inbox i ON i.event_id = ${row.eventId}
    WHERE r.room_id = ${row.roomId} AND r.state = 'pending' AND r.type = 'm.room.redaction' AND r.sender = ${row.sender}
      -- Clients take away an edit with what it edits.
      AND coalesce(r.event->>'redacts', r.event->'content'->>'redacts') IN (i.event_id,
        CASE WHEN i.event->'content'->'m.relates_to'->>'rel_type' = 'm.replace'
          THEN i.event->'content'->'m.relates_to'->>'event_id' END) LIMIT 1`;
  return found.length > 0;
}
