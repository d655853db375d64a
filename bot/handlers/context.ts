import type { Unit } from '../../core/db/database.ts';
import {
  asId,
  type MatrixEventId,
  type RoomId,
  type SessionId,
  type TurnId,
  type UserId,
} from '../../core/ids.ts';
import { roleCovers, type Operator, type Operators } from '../../core/operators.ts';
import type { NewAttachment } from '../../core/tasks/attachments.ts';
import type { Language } from '../../core/approvals/words/intent.ts';
import type { Card } from '../cards/card.ts';
import { answerTo } from '../cards/replies.ts';
import { rich } from '../cards/rich.ts';
import type { View } from '../cards/view.ts';
import type { InboxEvent } from '../inbox/types.ts';
import {
  PRIORITY,
  sendMessage,
  uploadFile,
  type AtEvent,
  type InThread,
} from '../outbox/enqueue.ts';
import type { PictureRenderer } from '../pictures/render.ts';
import type { Png } from '../pictures/state.ts';
import type { MessageContent } from './content.ts';

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
  readonly pictures: PictureRenderer;
  /** Set while the words of a recording are worked on: they were heard by a model, not typed (C16). */
  readonly spoken?: true;
  /** What came with the message that is worked on, for the agent (C16). */
  readonly attachments?: readonly NewAttachment[];
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
  await sendMessage(context.unit, { message: card, ...whereOf(context, place) });
}

/** Tells a viewer that a tap needs an approver (A15). Whether it did. */
export async function refuseViewer(context: HandlerContext, place: AnswerPlace): Promise<boolean> {
  if (roleCovers(context.operator.role, 'approver')) return false;
  await answer(context, answerTo(rich`🚫 You are a viewer; that needs an approver.`), place);
  return true;
}

/** A picture as an answer. */
export interface PictureAnswer {
  readonly png: Png;
  /** With its extension. */
  readonly name: string;
  /** The same in words: for notifications, and for whoever cannot see it. */
  readonly words: string;
}

/** Answers with a picture, likewise. */
export async function answerWithPicture(
  context: HandlerContext,
  { png, name, words }: PictureAnswer,
  place: AnswerPlace = {},
): Promise<void> {
  await uploadFile(context.unit, {
    name,
    mimetype: 'image/png',
    bytes: png.bytes,
    picture: { width: png.width, height: png.height, words },
    priority: PRIORITY.person,
    ...whereOf(context, place),
  });
}

function whereOf(
  { event }: HandlerContext,
  place: AnswerPlace,
): { to: { room: RoomId }; thread?: InThread; replyTo: AtEvent } {
  const thread =
    place.turnId !== undefined
      ? { turnId: place.turnId }
      : place.rootEvent !== undefined
        ? { rootEvent: place.rootEvent }
        : undefined;
  return {
    to: { room: event.room.roomId },
    ...(thread === undefined ? {} : { thread }),
    replyTo: place.to ?? { event: event.eventId },
  };
}

/**
 * The names by which the bot may be called at the beginning of a message: its own, those that its account's id makes, and what
 * the message's pill of it shows (each room may know it by another display name).
 */
export function botNames(
  { botName, botUserId }: HandlerSettings,
  message: Pick<MessageContent, 'html'>,
): string[] {
  const local = botUserId.replace(/^@/, '').replace(/:.*$/s, '');
  const pill = pillOf(message.html, botUserId);
  return [botName, botUserId, local, ...(pill === undefined ? [] : [pill])];
}

// The first link to the account in the first part of the HTML; clients write the id plain or encoded.
const PILL = /<a href="https:\/\/matrix\.to\/#\/([^"<>]{1,255})"[^<>]{0,200}>([^<>]{1,200})<\/a>/g;

function pillOf(html: string, userId: string): string | undefined {
  for (const [, address = '', words = ''] of html.slice(0, 4_000).matchAll(PILL)) {
    const named = address.replace(/\?.*$/s, '');
    if (named === userId || named === encodeURIComponent(userId)) return plainText(words);
  }
  return undefined;
}

function plainText(html: string): string {
  return html
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
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
