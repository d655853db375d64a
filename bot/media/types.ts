import type { NewAttachment } from '../../core/tasks/attachments.ts';

/** What became of a recording, picture or file in a message, before the message is worked on (C16). */
export type ReadMedia =
  /** The words of a recording. */
  | { readonly kind: 'spoken'; readonly words: string; readonly attachment: NewAttachment }
  /** A picture or a text file for the agent. */
  | { readonly kind: 'attached'; readonly attachment: NewAttachment }
  /** It cannot be taken in: why, in a sentence for the operator. */
  | { readonly kind: 'refused'; readonly why: string };
