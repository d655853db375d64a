/**
 * The bot's inside without a homeserver: a real database, the real projector and handlers, and a stand-in for the transport
 * that marks what the bot wants to say as sent. Tests read what then stands in the rooms.
 */
import type { Projector } from '../../bot/projector/projector.ts';
import type { InboxHandler, InboxEvent, KnownRoom, Sealed } from '../../bot/inbox/types.ts';
import type { ReadMedia } from '../../bot/media/types.ts';
import { markSent } from '../../bot/outbox/mark.ts';
import { rowContent } from '../../bot/outbox/rows.ts';
import { Database, type Unit } from '../../core/db/database.ts';
import type { MatrixOutbox } from '../../core/db/rows.ts';
import { EventFeed } from '../../core/events/subscribe.ts';
import {
  asId,
  type MatrixEventId,
  type RoomId,
  type SessionId,
  type UserId,
} from '../../core/ids.ts';
import { Operators } from '../../core/operators.ts';
import { seed } from '../../seeds/seed.ts';
import { freshDatabase } from './services.ts';

/** An admin, an approver and a viewer. */
export const ANN = asId<UserId>('@ann:example.org');
export const BOB = asId<UserId>('@bob:example.org');
export const EVE = asId<UserId>('@eve:example.org');
/** The lobby, and a room of no kind. */
export const LOBBY = asId<RoomId>('!lobby:example.org');

/** One message as it stands in a room now. */
export interface Shown {
  readonly roomId: string;
  readonly eventId: MatrixEventId;
  cardKey: string | null;
  body: string;
  html: string;
  mentions: readonly string[];
  msgtype: string;
  readonly file: { name: string; text: string; bytes: Buffer } | null;
  /** The size in pixels of one that is shown as a picture. */
  readonly picture: { width: number; height: number } | null;
  readonly thread: string | null;
  readonly replyTo: string | null;
  edits: number;
  readonly reactions: string[];
}

/** See the head of this file. */
export class BotWorld {
  database: Database;
  feed: EventFeed;
  readonly operators = new Operators([
    { userId: ANN, role: 'admin' },
    { userId: BOB, role: 'approver' },
    { userId: EVE, role: 'viewer' },
  ]);
  readonly shown: Shown[] = [];
  readonly roomNames = new Map<string, string>();
  readonly pins = new Map<string, string[]>();
  projector: Projector | undefined;
  handler: InboxHandler | undefined;
  readonly #url: string;
  #events = 0;

  private constructor(url: string, database: Database, feed: EventFeed) {
    this.#url = url;
    this.database = database;
    this.feed = feed;
  }

  static async open(): Promise<BotWorld> {
    const url = await freshDatabase();
    const database = await Database.connect(url, { connections: 4 });
    const feed = await EventFeed.open(database);
    await seed(database, {
      ontology: 'seeds/ontology.yaml',
      inventory: 'seeds/inventory.demo.yaml',
      runbooks: 'seeds/runbooks',
    });
    await database.read.matrixRoom.create({
      data: { roomId: LOBBY, kind: 'lobby', membership: 'join', state: { v: 1 } },
    });
    return new BotWorld(url, database, feed);
  }

  /** The process ends and another one starts: new connections, and no handler or projector until they are given. */
  async restart(): Promise<void> {
    await this.close();
    this.database = await Database.connect(this.#url, { connections: 4 });
    this.feed = await EventFeed.open(this.database);
    this.projector = undefined;
    this.handler = undefined;
  }

  async close(): Promise<void> {
    await this.feed.close();
    await this.database.close();
  }

  async write<T>(work: (unit: Unit) => Promise<T>): Promise<T> {
    return this.database.write(work);
  }

  /** Lets everything that has happened show: draws the log to its end and delivers all rows. */
  async settle(): Promise<void> {
    let moved = true;
    while (moved) {
      moved = false;
      while (await this.projector?.step()) moved = true;
      if (await this.deliver()) moved = true;
    }
  }

  /** Delivers what waits in the outbox, in order. Whether there was anything. */
  async deliver(): Promise<boolean> {
    const rows = await this.database.read.matrixOutbox.findMany({
      where: { state: 'pending' },
      orderBy: { id: 'asc' },
    });
    for (const row of rows) await this.#deliverRow(row);
    return rows.length > 0;
  }

  /** A message of an operator's, handled. Returns its event id. */
  async say(
    roomId: RoomId,
    body: string,
    options: {
      by?: UserId;
      thread?: string;
      replyTo?: string;
      content?: Record<string, unknown>;
      sealed?: Sealed;
      /** What the reader made of what came with it. */
      media?: ReadMedia;
    } = {},
  ): Promise<MatrixEventId> {
    const relation =
      options.thread === undefined
        ? options.replyTo === undefined
          ? {}
          : { 'm.relates_to': { 'm.in_reply_to': { event_id: options.replyTo } } }
        : {
            'm.relates_to': {
              rel_type: 'm.thread',
              event_id: options.thread,
              is_falling_back: options.replyTo === undefined,
              'm.in_reply_to': { event_id: options.replyTo ?? options.thread },
            },
          };
    return this.handle(
      roomId,
      'm.room.message',
      {
        msgtype: 'm.text',
        body,
        ...relation,
        ...options.content,
      },
      options.by,
      null,
      options.sealed ?? null,
      options.media,
    );
  }

  /** A reaction of an operator's, handled. Returns its event id. */
  async tap(roomId: RoomId, target: string, key: string, by?: UserId): Promise<MatrixEventId> {
    const content = { 'm.relates_to': { rel_type: 'm.annotation', event_id: target, key } };
    return this.handle(roomId, 'm.reaction', content, by);
  }

  /** An operator takes an event away: one of their own, or something that the bot said. */
  async redact(roomId: RoomId, target: MatrixEventId, by?: UserId): Promise<MatrixEventId> {
    const at = this.shown.findIndex((one) => one.eventId === target);
    if (at >= 0) this.shown.splice(at, 1);
    return this.handle(roomId, 'm.room.redaction', { redacts: target }, by, target);
  }

  /** Any event of an operator's: stored and handled as the dispatcher would, then everything settles. */
  async handle(
    roomId: RoomId,
    type: string,
    content: Record<string, unknown>,
    by: UserId = ANN,
    redacts: MatrixEventId | null = null,
    sealed: Sealed | null = null,
    media?: ReadMedia,
  ): Promise<MatrixEventId> {
    const eventId = asId<MatrixEventId>(`$op${++this.#events}`);
    await this.database.write(async (unit) => {
      await unit.db.matrixInbox.create({
        data: {
          eventId,
          roomId,
          sender: by,
          type,
          event: { type, content: content as Record<string, never> },
          state: 'done',
        },
      });
      const event: InboxEvent = {
        eventId,
        room: await this.room(roomId),
        sender: by,
        type,
        content,
        redacts,
        sealed,
        media,
      };
      await this.handler?.(unit, event);
    });
    await this.settle();
    return eventId;
  }

  async room(roomId: RoomId): Promise<KnownRoom> {
    const row = await this.database.read.matrixRoom.findUniqueOrThrow({ where: { roomId } });
    return {
      roomId,
      kind: row.kind as KnownRoom['kind'],
      sessionId: row.sessionId === null ? null : asId<SessionId>(row.sessionId),
      encrypted: row.encrypted,
    };
  }

  /** The card with this key as it stands now. Throws if there is none. */
  card(key: string): Shown {
    const found = this.shown.find((one) => one.cardKey === key);
    if (found === undefined) {
      const keys = this.shown.map((one) => one.cardKey ?? one.body.slice(0, 40));
      throw new Error(`no card ${key}; there are:\n${keys.join('\n')}`);
    }
    return found;
  }

  /** The newest message that is no card: an answer of the bot's to what somebody did. */
  lastAnswer(): Shown {
    const found = this.shown.findLast((one) => one.cardKey === null && one.file === null);
    if (found === undefined) throw new Error('the bot has answered nothing');
    return found;
  }

  async #deliverRow(row: MatrixOutbox): Promise<void> {
    const eventId = asId<MatrixEventId>(`$bot${row.id}`);
    const roomId = await this.#roomOf(row);
    switch (row.kind) {
      case 'room': {
        const sessionId = asId<SessionId>(row.lane.slice('session:'.length));
        const made = asId<RoomId>(`!task-${row.id}:example.org`);
        this.roomNames.set(made, rowContent.room.parse(row.content).name);
        await this.database.write(async (unit) => {
          await markSent(unit, row.txnId, null);
          await unit.db.session.update({ where: { id: sessionId }, data: { roomId: made } });
          await unit.db.matrixRoom.create({
            data: { roomId: made, kind: 'task', sessionId, membership: 'join', state: { v: 1 } },
          });
          unit.emit({
            type: 'session.changed',
            sessionId,
            refId: sessionId,
            data: { what: 'room' },
          });
        });
        return;
      }
      case 'send':
      case 'upload': {
        const content = row.kind === 'send' ? rowContent.send.parse(row.content) : null;
        const upload = row.kind === 'upload' ? rowContent.upload.parse(row.content) : null;
        const place = content ?? upload;
        this.shown.push({
          roomId,
          eventId,
          cardKey: row.cardKey,
          body: content?.message.body ?? upload?.picture?.words ?? upload?.file.name ?? '',
          html: content?.message.formatted_body ?? '',
          mentions: content?.message.mentions ?? [],
          msgtype:
            content?.message.msgtype ?? (upload?.picture === undefined ? 'm.file' : 'm.image'),
          file:
            upload === null
              ? null
              : {
                  name: upload.file.name,
                  text: Buffer.from(upload.file.base64, 'base64').toString(),
                  bytes: Buffer.from(upload.file.base64, 'base64'),
                },
          picture: upload?.picture ?? null,
          thread: await this.#threadOf(place?.thread),
          replyTo: this.#eventOf(place?.replyTo),
          edits: 0,
          reactions: [],
        });
        break;
      }
      case 'edit': {
        const { message } = rowContent.edit.parse(row.content);
        // By its event: a card may go on under another key.
        const { eventId: original } = await this.database.read.matrixCard.findUniqueOrThrow({
          where: { cardKey: row.cardKey ?? '' },
        });
        const card =
          this.shown.find((one) => one.eventId === original) ?? this.card(row.cardKey ?? '');
        Object.assign(card, {
          cardKey: row.cardKey,
          body: message.body,
          html: message.formatted_body ?? '',
          mentions: message.mentions,
          msgtype: message.msgtype,
          edits: card.edits + 1,
        });
        break;
      }
      case 'react': {
        const target = row.targetEvent ?? this.card(row.cardKey ?? '').eventId;
        const { key } = rowContent.react.parse(row.content);
        this.shown.find((one) => one.eventId === target)?.reactions.push(key);
        break;
      }
      case 'state': {
        const content = rowContent.state.parse(row.content);
        if ('pinCards' in content) this.pins.set(roomId, content.pinCards);
        else if (row.eventType === 'm.room.name') {
          this.roomNames.set(roomId, String(content.state['name']));
        }
        break;
      }
      case 'redact':
        break;
    }
    await this.database.write(async (unit) => markSent(unit, row.txnId, eventId));
  }

  async #roomOf(row: MatrixOutbox): Promise<string> {
    if (row.lane.startsWith('room:')) return row.lane.slice('room:'.length);
    const session = await this.database.read.session.findUniqueOrThrow({
      where: { id: row.lane.slice('session:'.length) },
    });
    return session.roomId ?? '';
  }

  async #threadOf(
    thread: { turnId: string } | { rootEvent: string } | undefined,
  ): Promise<string | null> {
    if (thread === undefined) return null;
    if ('rootEvent' in thread) return thread.rootEvent;
    const turn = await this.database.read.turn.findUniqueOrThrow({ where: { id: thread.turnId } });
    if (turn.rootEvent === null) throw new Error('something was sent before the root of its turn');
    return turn.rootEvent;
  }

  #eventOf(ref: { event: string } | { card: string } | undefined): string | null {
    if (ref === undefined) return null;
    return 'event' in ref ? ref.event : this.card(ref.card).eventId;
  }
}
