import type { MatrixEventId } from '../../core/ids.ts';
import type { FileKey } from '../crypto/attachment.ts';

/** What a bot message says, before any relation: the output of a card function. */
export interface MessageContent {
  /** `m.notice` rings nobody; `m.text` for what a person must see (C10). */
  msgtype: 'm.text' | 'm.notice';
  /** The plain text, as a phone notification shows it. */
  body: string;
  /** HTML within the tags of C17. */
  formatted_body?: string | undefined;
  /** The user ids to mention; empty for none. */
  mentions: readonly string[];
}

/** The `org.nomos` fields of a bot event: what it is, so that it can be found again. */
export interface NomosTags {
  /** The outbox row's transaction id: the event is searched for by it when the answer to a PUT was lost. */
  txn: string;
  card?: string | undefined;
  kind?: string | undefined;
  ref?: string | undefined;
}

/** The content of an event, as it goes out. */
export type EventContent = Record<string, unknown>;

/** Where a message stands: in a thread, as a reply, both, or neither. */
export interface Placement {
  threadRoot?: MatrixEventId | undefined;
  replyTo?: MatrixEventId | undefined;
}

/**
 * The `m.relates_to` of a new message, or undefined. In a thread without a reply of its own, clients without threads
 * show a reply to the root (`is_falling_back`).
 */
export function placeRelation(placement: Placement): EventContent | undefined {
  const { threadRoot, replyTo } = placement;
  if (threadRoot === undefined) {
    return replyTo === undefined ? undefined : { 'm.in_reply_to': { event_id: replyTo } };
  }
  return {
    rel_type: 'm.thread',
    event_id: threadRoot,
    is_falling_back: replyTo === undefined,
    'm.in_reply_to': { event_id: replyTo ?? threadRoot },
  };
}

/** The content of a new message. */
export function messageEvent(
  message: MessageContent,
  tags: NomosTags,
  placement: Placement = {},
): EventContent {
  return {
    ...textFields(message),
    'm.mentions': mentions(message.mentions),
    ...related(placeRelation(placement)),
    'org.nomos': tags,
  };
}

/**
 * The content of an edit of `original`. The new content carries no relation of its own: the thread that the original
 * stands in stays. Mentions stand in the new content only, so that an edit rings nobody a second time.
 */
export function editEvent(
  message: MessageContent,
  tags: NomosTags,
  original: MatrixEventId,
): EventContent {
  const { txn: _, ...lasting } = tags;
  return {
    ...textFields({
      ...message,
      body: ` * ${message.body}`,
      formatted_body:
        message.formatted_body === undefined ? undefined : ` * ${message.formatted_body}`,
    }),
    'm.mentions': {},
    'm.new_content': {
      ...textFields(message),
      'm.mentions': mentions(message.mentions),
      'org.nomos': lasting,
    },
    'm.relates_to': { rel_type: 'm.replace', event_id: original },
    'org.nomos': tags,
  };
}

/** The content of a reaction to `target`. */
export function reactionEvent(key: string, tags: NomosTags, target: MatrixEventId): EventContent {
  return {
    'm.relates_to': { rel_type: 'm.annotation', event_id: target, key },
    'org.nomos': tags,
  };
}

/** A file as it was uploaded. */
export interface UploadedFile {
  name: string;
  mimetype: string;
  sizeBytes: number;
  /** The `mxc://` address. */
  url: string;
  /** Set for a picture: its size in pixels, and in words what it shows. */
  picture?: { width: number; height: number; words: string } | undefined;
  /** What it was encrypted with; undefined for a file in clear. */
  key?: FileKey | undefined;
}

/** The content of a file message; a picture's words are its body, so that a notification says what it shows. */
export function fileEvent(
  file: UploadedFile,
  tags: NomosTags,
  placement: Placement = {},
): EventContent {
  const { picture } = file;
  const info = { mimetype: file.mimetype, size: file.sizeBytes };
  return {
    ...(picture === undefined
      ? { msgtype: 'm.file', body: file.name, info }
      : {
          msgtype: 'm.image',
          body: picture.words,
          info: { ...info, w: picture.width, h: picture.height },
        }),
    filename: file.name,
    ...(file.key === undefined ? { url: file.url } : { file: { url: file.url, ...file.key } }),
    'm.mentions': {},
    ...related(placeRelation(placement)),
    'org.nomos': tags,
  };
}

function textFields(message: MessageContent): EventContent {
  return {
    msgtype: message.msgtype,
    body: message.body,
    ...(message.formatted_body === undefined
      ? {}
      : { format: 'org.matrix.custom.html', formatted_body: message.formatted_body }),
  };
}

function mentions(userIds: readonly string[]): EventContent {
  return userIds.length === 0 ? {} : { user_ids: [...userIds] };
}

function related(relation: EventContent | undefined): EventContent {
  return relation === undefined ? {} : { 'm.relates_to': relation };
}
