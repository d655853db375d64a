import type { Unit } from '../../core/db/database.ts';
import {
  asId,
  type MatrixEventId,
  type RoomId,
  type SessionId,
  type TurnId,
  type UserId,
} from '../../core/ids.ts';
import type { Operator, Operators } from '../../core/operators.ts';
import type { Language } from '../../core/approvals/words/intent.ts';
import type { Card } from '../cards/card.ts';
import type { View } from '../cards/view.ts';
import type { InboxEvent } from '../inbox/types.ts';
import { sendMessage, type AtEvent } from '../outbox/enqueue.ts';

/** What the handlers know besides the event at hand. */
export interface HandlerSettings {
  readonly operators: Operators;
  /** Word lists for assent and confirmation (`NOMOS_LANGUAGES`). */
  readonly languages: readonly Language[];
  readonly botUserId: UserId;
  /** The bot's display name, which clients put before a message that mentions it. */
  readonly botName: string;
  /** IANA name of the zone in which times are shown. */
  readonly timeZone: string;
}

/** One event being worked on: everything it does goes through `unit`. */
export interface HandlerContext extends HandlerSettings {
  readonly unit: Unit;
  readonly event: InboxEvent;
  readonly operator: Operator;
  readonly view: View;
}

/** Where an answer goes. */
export interface AnswerPlace {
  /** The thread; without it the answer stands on the room's main timeline. */
  readonly turnId?: TurnId | undefined;
  /** A thread that is no turn, such as one in the lobby. */
  readonly rootEvent?: MatrixEventId | undefined;
  /** What it answers; by default the event that is being worked on. */
  readonly to?: AtEvent | undefined;
}

/** Answers an operator in the room where they are. */
export async function answer(
  context: HandlerContext,
  card: Card,
  place: AnswerPlace = {},
): Promise<void> {
  const { room, eventId } = context.event;
  const thread =
    place.turnId !== undefined
      ? { turnId: place.turnId }
      : place.rootEvent !== undefined
        ? { rootEvent: place.rootEvent }
        : undefined;
  await sendMessage(context.unit, {
    to: { room: room.roomId },
    message: card,
    ...(thread === undefined ? {} : { thread }),
    replyTo: place.to ?? { event: eventId },
  });
}

/** The names by which the bot may be called at the beginning of a message. */
export function botNames({ botName, botUserId }: HandlerSettings): string[] {
  return [botName, botUserId];
}

/** A turn of a task, as a place where things happen. */
export interface TurnPlace {
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
}

/** The room's task, or undefined outside of task rooms. */
export function sessionOf(event: InboxEvent): SessionId | undefined {
  return event.room.kind === 'task' && event.room.sessionId !== null
    ? event.room.sessionId
    : undefined;
}

/** A room id from a row. */
export function roomIdOf(value: string | null): RoomId | null {
  return value === null ? null : asId<RoomId>(value);
}
