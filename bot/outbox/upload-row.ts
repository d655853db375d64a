import { createHash } from 'node:crypto';
import type { Unit } from '../../core/db/database.ts';
import {
  type AtEvent,
  type CardIdentity,
  type Destination,
  type InThread,
  MAX_FILE_BYTES,
  PRIORITY,
  insert,
  laneOf,
  placed,
} from './insert.ts';
import type { RowContent } from './rows.ts';

/** Uploads a file and posts it. Throws a RangeError over `MAX_FILE_BYTES`. */
export async function uploadFile(
  unit: Unit,
  args: {
    to: Destination;
    /** With an extension: it is what a phone shows. */
    name: string;
    mimetype: string;
    bytes: Uint8Array;
    /** For a picture: its size in pixels, and in words what it shows. */
    picture?: { width: number; height: number; words: string } | undefined;
    thread?: InThread | undefined;
    replyTo?: AtEvent | undefined;
    /** Ties the file's event to a key in `matrix_cards`, so that it can be linked to or replied to. */
    card?: CardIdentity | undefined;
    priority?: number | undefined;
  },
): Promise<void> {
  if (args.bytes.byteLength > MAX_FILE_BYTES) {
    throw new RangeError(
      `A file of ${args.bytes.byteLength} bytes is over the limit of ${MAX_FILE_BYTES}.`,
    );
  }
  const { card } = args;
  const lane = await laneOf(unit, args.to);
  const base64 = Buffer.from(args.bytes).toString('base64');
  if (card !== undefined) {
    if ((await unit.db.matrixCard.count({ where: { cardKey: card.key } })) > 0) return;
    await unit.db.matrixCard.create({
      data: {
        cardKey: card.key,
        lane,
        kind: card.kind,
        refId: card.refId,
        sessionId: card.sessionId ?? null,
        turnId: card.turnId ?? null,
        contentHash: createHash('sha256').update(args.bytes).digest('hex'),
        closed: true,
      },
    });
  }
  const content: RowContent<'upload'> = {
    v: 1,
    file: { name: args.name, mimetype: args.mimetype, base64 },
    ...(args.picture === undefined ? {} : { picture: args.picture }),
    tags:
      card === undefined ? { kind: 'file' } : { card: card.key, kind: card.kind, ref: card.refId },
    ...placed(args),
  };
  await insert(unit, {
    lane,
    kind: 'upload',
    eventType: 'm.room.message',
    content,
    cardKey: card?.key ?? null,
    priority: args.priority ?? PRIORITY.state,
  });
}
