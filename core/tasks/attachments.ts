import type { Unit } from '../db/database.ts';
import { newId, type MessageId, type SessionId } from '../ids.ts';
import { safeText } from '../text/safe.ts';

/** The largest picture that is taken in, in bytes. */
export const MAX_PICTURE_BYTES = 8 * 1024 * 1024;
/** As much of a text file is kept, in bytes. */
export const MAX_TEXT_BYTES = 1024 * 1024;

/** What an operator sent besides words (C16). */
export type NewAttachment = {
  /** As the sender called it: it came from outside. */
  readonly name: string;
  readonly mimetype: string;
  readonly sizeBytes: number;
} & (
  | { readonly kind: 'picture'; readonly bytes: Uint8Array }
  /** `cut`: the file goes on after the text. */
  | { readonly kind: 'file'; readonly text: string; readonly cut: boolean }
  /** The words that it became are the message itself. */
  | { readonly kind: 'voice' }
);

/** Stores what came with a message. */
export async function storeAttachments(
  unit: Unit,
  of: { sessionId: SessionId; messageId: MessageId },
  attachments: readonly NewAttachment[],
): Promise<void> {
  for (const attachment of attachments) {
    await unit.db.attachment.create({
      data: {
        id: newId(),
        sessionId: of.sessionId,
        messageId: of.messageId,
        kind: attachment.kind,
        name: safeText(attachment.name),
        mimetype: safeText(attachment.mimetype),
        sizeBytes: attachment.sizeBytes,
        ...(attachment.kind === 'picture' ? { bytes: new Uint8Array(attachment.bytes) } : {}),
        ...(attachment.kind === 'file'
          ? { text: safeText(attachment.text), cut: attachment.cut }
          : {}),
      },
    });
  }
}

/** Takes away what came with a message that its sender took back: no later request holds it. */
export async function forgetAttachments(unit: Unit, messageId: string): Promise<void> {
  await unit.db.attachment.updateMany({
    where: { messageId },
    data: { bytes: null, text: null },
  });
}
