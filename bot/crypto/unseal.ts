import type { DecryptedRoomEvent } from '@matrix-org/matrix-sdk-crypto-wasm';
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { NomosError, errorText } from '../../core/errors.ts';
import type { RoomId } from '../../core/ids.ts';
import type { CryptoLibrary, Machine } from './machine.ts';
import { type IsVouchedFor, trustOf } from './sender-trust.ts';

/**
 * What an encrypted event says, and what is known of who said it. `matrix_inbox.clear` holds it; an unknown version is
 * refused, not guessed.
 */
export const clearShape = z.strictObject({
  v: z.literal(1),
  type: z.string(),
  content: z.record(z.string(), z.unknown()),
  /** The device that sent it; undefined where it is not known. */
  device: z.string().optional(),
  /** See `SenderTrust`. */
  crossSigned: z.boolean(),
  identityChanged: z.boolean(),
  /**
   * What it relates to, as the homeserver shows it, is what its sender encrypted: a relation stands in clear, and a homeserver
   * could make a "yes" answer something else.
   */
  relation: z.boolean(),
  /** SHA-256 of the ciphertext, hex: one that comes twice is a copy, whatever event it comes in. */
  cipher: z.string(),
  /** It could be read only after it had been set aside. */
  late: z.literal(true).optional(),
});
/** See `clearShape`. */
export type ClearEvent = z.infer<typeof clearShape>;

/** What came of decrypting an event. */
export type Unsealed =
  | { kind: 'clear'; event: ClearEvent }
  /** The key is not here. It may come. */
  | {
      kind: 'no_key';
      why: string;
      /** The sender's client said that it keeps the key back, as `m.unverified`. */
      withheld?: string | undefined;
    }
  /** It was taken back before it was read. */
  | { kind: 'redacted' }
  /** It will never be readable. */
  | { kind: 'unreadable'; why: string };

/** The library fails at this event, in a way that says nothing about its key. */
export class UnsealError extends NomosError {
  constructor(cause: unknown) {
    super(
      'event_not_decrypted',
      'system',
      `A message could not be decrypted: ${errorText(cause)}`,
      { cause },
    );
  }
}

const redactedShape = z.looseObject({ content: z.strictObject({}) });
const sealedShape = z.looseObject({
  type: z.literal('m.room.encrypted'),
  content: z.looseObject({ algorithm: z.string(), ciphertext: z.string(), session_id: z.string() }),
});
const decryptedShape = z.looseObject({
  type: z.string(),
  content: z.record(z.string(), z.unknown()),
});

/** What decrypting needs. */
export interface UnsealContext {
  machine: Machine;
  /** Asks for the keys of devices that changed, so that what is said of the sender's device is of now. */
  settle(): Promise<void>;
  isVouchedFor: IsVouchedFor;
}

/**
 * Decrypts an event of a room's timeline. Throws `UnsealError` where the event itself is at fault; anything else is not about
 * this event.
 */
export async function unseal(
  { machine, settle, isVouchedFor }: UnsealContext,
  roomId: RoomId,
  sender: string,
  event: unknown,
): Promise<Unsealed> {
  if (redactedShape.safeParse(event).success) return { kind: 'redacted' };
  const sealed = sealedShape.safeParse(event);
  if (!sealed.success) return { kind: 'unreadable', why: 'it is no message that Matrix encrypted' };
  const { 'm.relates_to': shown, ...inner } = sealed.data.content;
  await machine.use(async (olm, { UserId }) => olm.updateTrackedUsers([new UserId(sender)]));
  await settle();
  return machine.use(async (olm, library) => {
    let decrypted: DecryptedRoomEvent;
    try {
      decrypted = await olm.decryptRoomEvent(
        // Without the relation: the library would put the one that stands in clear among what was encrypted.
        JSON.stringify({ ...sealed.data, content: inner }),
        new library.RoomId(roomId),
        new library.DecryptionSettings(library.TrustRequirement.Untrusted),
      );
    } catch (error) {
      return failureOf(library, error);
    }
    const inside = decryptedShape.safeParse(JSON.parse(decrypted.event));
    if (!inside.success) return { kind: 'unreadable', why: z.prettifyError(inside.error) };
    const { type, content } = inside.data;
    const device = decrypted.senderDevice?.toString();
    return {
      kind: 'clear',
      event: {
        v: 1,
        type,
        content: shown === undefined ? content : { ...content, 'm.relates_to': shown },
        relation: isDeepStrictEqual(content['m.relates_to'], shown),
        cipher: hashOf(inner.ciphertext),
        ...(device === undefined ? {} : { device }),
        ...(await trustOf(olm, library, sender, decrypted, isVouchedFor)),
      },
    };
  });
}

// Of the bytes: base64 can be written in more than one way.
function hashOf(ciphertext: string): string {
  return createHash('sha256').update(Buffer.from(ciphertext, 'base64')).digest('hex');
}

function failureOf(
  { MegolmDecryptionError, DecryptionErrorCode }: CryptoLibrary,
  error: unknown,
): Unsealed {
  if (!(error instanceof MegolmDecryptionError)) throw new UnsealError(error);
  const why = error.description;
  const mayCome =
    error.code === DecryptionErrorCode.MissingRoomKey ||
    error.code === DecryptionErrorCode.UnknownMessageIndex;
  return mayCome
    ? { kind: 'no_key', why, withheld: error.withheldCode }
    : { kind: 'unreadable', why };
}
