import { z } from 'zod';
import type { Database, Unit } from '../../core/db/database.ts';
import { errorText } from '../../core/errors.ts';
import { readEvents, type EventFeed } from '../../core/events/subscribe.ts';
import type { EventType, LoggedEvent } from '../../core/events/types.ts';
import { faultPoint } from '../../core/faults.ts';
import { log } from '../../core/log.ts';
import type { Operators } from '../../core/operators.ts';
import type { Ephemeral } from '../inbox/types.ts';
import { writeState } from '../matrix/state.ts';
import type { DrawContext } from './context.ts';
import { draw } from './draw.ts';
import { PROJECTOR_STATE } from './keys.ts';
import { tickingThings } from './ticking.ts';
import { keyOf, touchedByAll, type Touched } from './touched.ts';
import { TypingLights } from './typing.ts';
import { welcome } from './welcome.ts';

const PAGE = 200;
/** How often running things are drawn again for their elapsed time, while something runs. */
export const TICK_MS = 10_000;
/**
 * How long events are let gather before they are drawn. They come in bursts, a decision makes six and its command's start two more:
 * drawn together a card is drawn once, and what they set going is not kept waiting by the drawing of it (B2, B3).
 */
const GATHER_MS = 50;
/** Events that do not wait for others: a person does. */
const AT_ONCE: ReadonlySet<EventType> = new Set<EventType>([
  'session.created',
  'session.ended',
  'approval.requested',
  'approval.hint',
  'approval.reminder',
  'question.asked',
  'pass.answering',
  'pass.ended',
  'error.raised',
]);
/** How soon a card is drawn again that points to one which was not sent yet. */
const AGAIN_MS = 3_000;
/** How often an event whose cards cannot be drawn is tried, and with which pauses, before it is passed by (R12). */
const TRIES = 3;
const TRY_AGAIN_MS = [100, 500];
/** What was passed by is tried again at each tick, so often, and so many things at most. */
const LATE_TRIES = 60;
const LATE_KEPT = 500;

const cursorShape = z.strictObject({ version: z.literal(1), cursor: z.string().regex(/^\d+$/) });

/** What the projector works with. */
export interface ProjectorOptions {
  readonly database: Database;
  readonly feed: EventFeed;
  readonly operators: Operators;
  /** IANA name of the zone in which times are shown. Default: the process's own. */
  readonly timeZone?: string | undefined;
  /** `NOMOS_STREAMING` (C13). */
  readonly streaming: boolean;
  /** Hides secrets in what commands and the agent wrote (X9). Without it nothing is hidden. */
  readonly mask?: ((text: string) => string) | undefined;
  /** Shows typing while a pass runs (C8); without it nothing is shown. */
  readonly ephemeral?: Ephemeral | undefined;
  /** For tests. */
  readonly now?: (() => Date) | undefined;
}

/**
 * Turns the event log into cards. A persistent cursor stands behind the last event whose cards were written; cursor and
 * outbox rows move in one transaction, so each event shows exactly once whatever dies (R5, J6). An event is only a reason to
 * look: what is drawn comes from the rows as they are at that moment.
 */
export class Projector {
  readonly #options: ProjectorOptions;
  readonly #typing: TypingLights;
  readonly #again = new Set<string>();
  #ticked = false;
  /** What could not be drawn when its event came, with how often it was tried since. */
  readonly #late = new Map<string, { touched: Touched; tries: number }>();
  #wake: () => void = () => {};
  #ringing = true;
  /** Something that rang is not to wait for others. */
  #atOnce = true;
  /** Where the cursor stands, as far as this projector moved it; undefined when it is to be read. */
  #known: bigint | undefined;

  constructor(options: ProjectorOptions) {
    this.#options = options;
    this.#typing = new TypingLights(options.database, options.ephemeral);
  }

  /** Works until the signal fires. */
  async run(signal: AbortSignal): Promise<void> {
    const ring = (event?: LoggedEvent): void => {
      this.#ringing = true;
      this.#atOnce ||= event === undefined || AT_ONCE.has(event.type);
      this.#wake();
    };
    const unsubscribe = this.#options.feed.subscribe(ring);
    const onAbort = (): void => ring();
    signal.addEventListener('abort', onAbort, { once: true });
    let tickAt = 0;
    try {
      while (!signal.aborted) {
        if (this.#ringing) await this.#pause(GATHER_MS, () => this.#atOnce);
        this.#ringing = false;
        this.#atOnce = false;
        try {
          while ((await this.step()) && !signal.aborted);
          await this.#redrawUnlinked();
          if (performance.now() >= tickAt) {
            await this.tick();
            tickAt = performance.now() + TICK_MS;
          }
        } catch (error) {
          log.error({ error: errorText(error) }, 'cards could not be drawn; trying again');
          await rest(1_000, signal);
          continue;
        }
        await this.#pause(
          this.#again.size > 0 ? AGAIN_MS : tickAt - performance.now(),
          () => this.#ringing,
        );
      }
    } finally {
      unsubscribe();
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Draws what the next events touch. False when there are none. */
  async step(): Promise<boolean> {
    const { database } = this.#options;
    const cursor = (this.#known ??= await this.#cursor());
    const events = await readEvents(database, cursor, PAGE);
    const last = events.at(-1);
    if (last === undefined) return false;
    this.#known = undefined;
    try {
      await this.#project(events);
    } catch (error) {
      log.warn(
        { error: errorText(error) },
        'a batch of events could not be drawn; taking them one by one',
      );
      for (const event of events) await this.#projectAlone(event);
    }
    this.#known = last.id;
    await this.#typing.follow(events);
    return true;
  }

  /** Draws again what shows elapsed time, and the offer to resume what looks stuck (C9); welcomes people to a new lobby. */
  async tick(): Promise<void> {
    await welcome(this.#options.database);
    await this.#typing.refresh();
    const first = !this.#ticked;
    await this.#drawEach(await tickingThings(this.#options.database.read, this.#now(), { first }));
    this.#ticked = true;
    await this.#drawLate();
  }

  /** Together, or, where one cannot be drawn, each by itself: it harms no other (R12). */
  async #drawEach(touched: readonly Touched[]): Promise<void> {
    const { database } = this.#options;
    if (touched.length === 0) return;
    try {
      await database.write(async (unit) => this.#draw(unit, touched));
    } catch {
      for (const one of touched) {
        try {
          await database.write(async (unit) => this.#draw(unit, [one]));
        } catch (error) {
          await database.read.$queryRaw`SELECT 1`;
          log.debug({ card: keyOf(one), error: errorText(error) }, 'a card could not be drawn');
        }
      }
    }
  }

  async #drawLate(): Promise<void> {
    const { database } = this.#options;
    for (const [key, late] of this.#late) {
      try {
        await database.write(async (unit) => {
          const since = await eventsSince(unit, late.touched);
          // How the switch is by now stands in the lobby already.
          if (late.touched.kind === 'switch' && since.length > 0) return;
          await this.#draw(unit, [late.touched, ...touchedByAll(since).filter(isSettling)]);
        });
        this.#late.delete(key);
      } catch (error) {
        await database.read.$queryRaw`SELECT 1`;
        if (++late.tries < LATE_TRIES) continue;
        this.#late.delete(key);
        log.error({ card: key, error: errorText(error) }, 'a card is given up');
      }
    }
  }

  async #redrawUnlinked(): Promise<void> {
    const sessions = [...this.#again];
    if (sessions.length === 0) return;
    this.#again.clear();
    await this.#drawEach(sessions.map((sessionId): Touched => ({ kind: 'task', sessionId })));
  }

  async #project(events: readonly LoggedEvent[]): Promise<void> {
    const last = events.at(-1);
    if (last === undefined) return;
    await this.#options.database.write(async (unit) => {
      // Taken first, so that two of us cannot draw one event twice.
      if ((await lockCursor(unit)) >= last.id) return;
      await this.#draw(unit, touchedByAll(events));
      await moveCursor(unit, last.id);
      await faultPoint('projector.before_commit');
    });
  }

  /** One event by itself; one that cannot be drawn after some tries is told in the log and passed by, so that the rest goes on. */
  async #projectAlone(event: LoggedEvent): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#project([event]);
        return;
      } catch (error) {
        // If the database is away this throws as well, and the event waits.
        await this.#options.database.read.$queryRaw`SELECT 1`;
        if (attempt < TRIES) {
          await new Promise((resolve) => setTimeout(resolve, TRY_AGAIN_MS[attempt - 1] ?? 0));
          continue;
        }
        log.error(
          {
            event: String(event.id),
            type: event.type,
            session: event.sessionId,
            error: errorText(error),
          },
          'an event could not be drawn and is passed by',
        );
        for (const touched of touchedByAll([event])) {
          if (this.#late.size < LATE_KEPT) this.#late.set(keyOf(touched), { touched, tries: 0 });
        }
        await this.#options.database.write(async (unit) => moveCursor(unit, event.id));
        return;
      }
    }
  }

  async #draw(unit: Unit, touched: readonly Touched[]): Promise<void> {
    const { operators, streaming } = this.#options;
    const timeZone = this.#options.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
    const context: DrawContext = {
      unit,
      operators,
      streaming,
      mask: this.#options.mask ?? ((text) => text),
      view: { now: this.#now(), timeZone },
    };
    for (const one of touched) {
      const again = await draw(context, one);
      if (again !== undefined) this.#again.add(again);
    }
  }

  async #cursor(): Promise<bigint> {
    const row = await this.#options.database.read.matrixState.findUnique({
      where: { key: PROJECTOR_STATE },
    });
    return row === null ? 0n : BigInt(cursorShape.parse(row.value).cursor);
  }

  #now(): Date {
    return this.#options.now?.() ?? new Date();
  }

  /** Waits so long, or until something rings and `enough` says that it is to be looked at. */
  async #pause(ms: number, enough: () => boolean): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.max(0, ms));
      this.#wake = () => {
        if (!enough()) return;
        clearTimeout(timer);
        resolve();
      };
      this.#wake();
    });
    this.#wake = () => {};
  }
}

/** Locks the cursor's row, which the first look makes, and gives where it stands. */
async function lockCursor(unit: Unit): Promise<bigint> {
  const begin = JSON.stringify({ version: 1, cursor: '0' });
  const [row] = await unit.db.$queryRaw<Array<{ value: unknown }>>`
    INSERT INTO matrix_state (key, value) VALUES (${PROJECTOR_STATE}, ${begin}::jsonb)
    ON CONFLICT (key) DO UPDATE SET updated_at = now() RETURNING value`;
  return BigInt(cursorShape.parse(row?.value).cursor);
}

/** What was told after an event that is drawn late, and bears on how it is to be drawn: that an error was dealt with, another switch. */
async function eventsSince({ db }: Unit, touched: Touched): Promise<LoggedEvent[]> {
  if (touched.kind !== 'switch' && touched.kind !== 'error') return [];
  const { id, sessionId } = touched.event;
  const types: readonly EventType[] =
    touched.kind === 'switch'
      ? ['settings.changed']
      : sessionId === null
        ? ['error.settled']
        : ['message.received', 'session.changed'];
  const rows = await db.event.findMany({
    where: {
      ...{ id: { gt: id }, type: { in: [...types] } },
      ...(touched.kind === 'switch' ? { refId: 'paused' } : { sessionId }),
    },
    orderBy: { id: 'asc' },
  });
  return rows.map((row) => ({
    ...row,
    type: row.type as EventType,
    data: z.record(z.string(), z.unknown()).parse(row.data),
  }));
}

function isSettling({ kind }: Touched): boolean {
  return kind === 'message' || kind === 'resumed' || kind === 'settled';
}

async function moveCursor(unit: Unit, cursor: bigint): Promise<void> {
  await writeState(unit, PROJECTOR_STATE, { version: 1, cursor: String(cursor) });
}

async function rest(ms: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}
