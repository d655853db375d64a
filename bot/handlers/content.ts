import { z } from 'zod';
import { asId, type MatrixEventId } from '../../core/ids.ts';

const inReplyTo = z.looseObject({ event_id: z.string().min(1) });

const relationShape = z.looseObject({
  rel_type: z.string().optional(),
  event_id: z.string().optional(),
  key: z.string().optional(),
  is_falling_back: z.boolean().optional().catch(undefined),
  'm.in_reply_to': inReplyTo.optional().catch(undefined),
});

const newContentShape = z.looseObject({
  msgtype: z.string().catch('m.text'),
  body: z.string().catch(''),
  formatted_body: z.string().optional().catch(undefined),
});

const mentionsShape = z.looseObject({ user_ids: z.array(z.string()).catch([]) });

const messageShape = z.looseObject({
  msgtype: z.string(),
  body: z.string(),
  formatted_body: z.string().optional().catch(undefined),
  filename: z.string().optional().catch(undefined),
  'm.relates_to': relationShape.optional().catch(undefined),
  'm.new_content': newContentShape.optional().catch(undefined),
  'm.mentions': mentionsShape.optional().catch(undefined),
});

/** A message, as far as it is read. */
export interface MessageContent {
  readonly msgtype: string;
  readonly body: string;
  /** The same as HTML, where the client sent it: only names of pills are read from it. */
  readonly html: string;
  /** The root of the thread that it stands in. */
  readonly threadRoot: MatrixEventId | null;
  /** What it answers. In a thread only if the sender chose it, not where the client merely names the newest message. */
  readonly replyTo: MatrixEventId | null;
  /** The message that it replaces; then `body` is the new text. */
  readonly edits: MatrixEventId | null;
  readonly mentions: readonly string[];
  /**
   * What was written below a file or picture; '' if nothing was. The name of the file is no words of anybody's: where a client
   * sends no `filename`, `body` is that name.
   */
  readonly caption: string;
}

/** Reads a message's content; undefined for one without text, such as a redacted one. */
export function readMessage(content: Record<string, unknown>): MessageContent | undefined {
  const parsed = messageShape.safeParse(content);
  if (!parsed.success) return undefined;
  const { msgtype, body, filename } = parsed.data;
  const relation = parsed.data['m.relates_to'];
  const fresh = parsed.data['m.new_content'];
  const related = relation?.event_id === undefined ? null : asId<MatrixEventId>(relation.event_id);
  const inThread = relation?.rel_type === 'm.thread';
  const edits = relation?.rel_type === 'm.replace' ? related : null;
  const answered = relation?.['m.in_reply_to']?.event_id;
  const chosen = answered !== undefined && !(inThread && relation?.is_falling_back === true);
  return {
    msgtype: edits !== null && fresh !== undefined ? fresh.msgtype : msgtype,
    body: edits !== null && fresh !== undefined ? fresh.body : body,
    html: (edits !== null && fresh !== undefined ? fresh : parsed.data).formatted_body ?? '',
    threadRoot: inThread ? related : null,
    replyTo: chosen && edits === null ? asId<MatrixEventId>(answered) : null,
    edits,
    mentions: parsed.data['m.mentions']?.user_ids ?? [],
    caption: filename === undefined || filename === body ? '' : body,
  };
}

/** Reads a reaction: what was reacted to, and with which key. Undefined for anything else. */
export function readReaction(
  content: Record<string, unknown>,
): { target: MatrixEventId; key: string } | undefined {
  const relation = relationShape.safeParse(content['m.relates_to']);
  if (!relation.success || relation.data.rel_type !== 'm.annotation') return undefined;
  const { event_id: target, key } = relation.data;
  return target === undefined || key === undefined
    ? undefined
    : { target: asId<MatrixEventId>(target), key };
}
