import { type Unit, sql } from '../../core/db/database.ts';
import {
  type AtEvent,
  type Destination,
  type InThread,
  PRIORITY,
  insert,
  laneOf,
  messageOf,
  placed,
  pointedAt,
  supersedeEdits,
} from './insert.ts';
import type { MessageContent } from './relations.ts';
import type { RowContent } from './rows.ts';

export {
  ANSWER_PACE_MS,
  type AtEvent,
  CARD_PACE_MS,
  type CardIdentity,
  type Destination,
  type InThread,
  MAX_FILE_BYTES,
  PRIORITY,
} from './insert.ts';
export { putCard } from './put-card.ts';
export { createTaskRoom, pinCards, setRoomName, setState } from './room-rows.ts';
export { uploadFile } from './upload-row.ts';

/** A message that is never edited. Returns its transaction id. */
export async function sendMessage(
  unit: Unit,
  args: {
    to: Destination;
    message: MessageContent;
    thread?: InThread | undefined;
    replyTo?: AtEvent | undefined;
    /** Default `PRIORITY.person`: such a message is nearly always the answer to one. */
    priority?: number | undefined;
    /** Allows clear text into an encrypted room. Only for saying that the bot cannot read there. */
    clear?: true | undefined;
  },
): Promise<string> {
  const content: RowContent<'send'> = {
    v: 1,
    message: messageOf(args.message),
    tags: { kind: 'message' },
    ...placed(args),
    ...(args.clear === true ? { clear: true } : {}),
  };
  return insert(unit, {
    lane: await laneOf(unit, args.to),
    kind: 'send',
    eventType: 'm.room.message',
    content,
    priority: args.priority ?? PRIORITY.person,
  });
}

/** Reacts to a message or a card. Reacting twice with one key to one card is the same as once. */
export async function react(
  unit: Unit,
  args: { to: Destination; target: AtEvent; key: string; priority?: number | undefined },
): Promise<void> {
  const lane = await laneOf(unit, args.to);
  const at = pointedAt(args.target);
  const twin = await unit.db.$queryRaw<unknown[]>(sql`
    SELECT 1 FROM matrix_outbox WHERE lane = ${lane} AND kind = 'react' AND state IN ('pending', 'sent')
      AND card_key IS NOT DISTINCT FROM ${at.cardKey} AND target_event IS NOT DISTINCT FROM ${at.targetEvent}
      AND content->>'key' = ${args.key} LIMIT 1`);
  if (twin.length > 0) return;
  const content: RowContent<'react'> = { v: 1, key: args.key };
  await insert(unit, {
    lane,
    kind: 'react',
    eventType: 'm.reaction',
    content,
    ...at,
    priority: args.priority ?? PRIORITY.state,
  });
}

/**
 * Redacts one of the bot's own events: a message, a card (edits of it that have not left are dropped), or, with
 * `reaction`, the bot's reaction with that key on the target.
 */
export async function redact(
  unit: Unit,
  args: {
    to: Destination;
    target: AtEvent;
    reaction?: string | undefined;
    reason?: string | undefined;
    priority?: number | undefined;
  },
): Promise<void> {
  const at = pointedAt(args.target);
  if (at.cardKey !== null && args.reaction === undefined) await supersedeEdits(unit, at.cardKey);
  const content: RowContent<'redact'> = {
    v: 1,
    ...(args.reason === undefined ? {} : { reason: args.reason }),
    ...(args.reaction === undefined ? {} : { reaction: args.reaction }),
  };
  await insert(unit, {
    lane: await laneOf(unit, args.to),
    kind: 'redact',
    content,
    ...at,
    priority: args.priority ?? PRIORITY.state,
  });
}
