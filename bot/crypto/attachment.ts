import { createHash, randomBytes, webcrypto } from 'node:crypto';
import { z } from 'zod';
import { NomosError } from '../../core/errors.ts';

/**
 * What a receiver needs to decrypt a file, as an event's `file` has it besides its address (Matrix, "Sending encrypted
 * attachments", version 2): AES-CTR with a key of its own for each file, and the SHA-256 of what was uploaded.
 */
export const fileKeyShape = z.strictObject({
  v: z.literal('v2'),
  key: z.strictObject({
    kty: z.literal('oct'),
    key_ops: z.array(z.string()),
    alg: z.literal('A256CTR'),
    k: z.string(),
    ext: z.literal(true),
  }),
  iv: z.string(),
  hashes: z.strictObject({ sha256: z.string() }),
});
/** See `fileKeyShape`. */
export type FileKey = z.infer<typeof fileKeyShape>;

/** What an event of somebody else says of its file: only what is needed, the rest is theirs. */
export const foreignFileShape = z.looseObject({
  url: z.string(),
  key: z.looseObject({ alg: z.literal('A256CTR'), k: z.string() }),
  iv: z.string(),
  hashes: z.looseObject({ sha256: z.string() }),
});
/** See `foreignFileShape`. */
export type ForeignFile = z.infer<typeof foreignFileShape>;

/** The file is not the one that the message speaks of. */
export class AttachmentError extends NomosError {
  constructor(message: string) {
    super('attachment_damaged', 'operator', message, { hint: 'Send the file again.' });
  }
}

/** Encrypts a file under a new key. */
export async function encryptFile(
  bytes: Uint8Array,
): Promise<{ encrypted: Uint8Array; key: FileKey }> {
  // The upper half counts for nothing but being new; the lower half is the counter and begins at 0, so that it cannot overflow.
  const iv = Buffer.concat([randomBytes(8), Buffer.alloc(8)]);
  const secret = randomBytes(32);
  const encrypted = new Uint8Array(
    await webcrypto.subtle.encrypt(
      { name: 'AES-CTR', counter: iv, length: 64 },
      await importKey(secret, 'encrypt'),
      new Uint8Array(bytes),
    ),
  );
  return {
    encrypted,
    key: {
      v: 'v2',
      key: {
        kty: 'oct',
        key_ops: ['encrypt', 'decrypt'],
        alg: 'A256CTR',
        k: secret.toString('base64url'),
        ext: true,
      },
      iv: unpadded(iv),
      hashes: { sha256: hashOf(encrypted) },
    },
  };
}

/** Decrypts a file. Throws `AttachmentError` when it is not what the event speaks of. */
export async function decryptFile(
  encrypted: Uint8Array,
  file: Pick<ForeignFile, 'key' | 'iv' | 'hashes'>,
): Promise<Uint8Array> {
  if (hashOf(encrypted) !== file.hashes.sha256.replace(/=+$/, '')) {
    throw new AttachmentError('The file was damaged or changed on its way.');
  }
  const secret = Buffer.from(file.key.k, 'base64url');
  const iv = Buffer.from(file.iv, 'base64');
  if (secret.length !== 32 || iv.length !== 16) {
    throw new AttachmentError(
      'The key of the file has another form than the Matrix specification.',
    );
  }
  return new Uint8Array(
    await webcrypto.subtle.decrypt(
      { name: 'AES-CTR', counter: iv, length: 64 },
      await importKey(secret, 'decrypt'),
      new Uint8Array(encrypted),
    ),
  );
}

async function importKey(secret: Buffer, use: 'encrypt' | 'decrypt'): Promise<webcrypto.CryptoKey> {
  return webcrypto.subtle.importKey('raw', new Uint8Array(secret), 'AES-CTR', false, [use]);
}

function hashOf(bytes: Uint8Array): string {
  return unpadded(createHash('sha256').update(bytes).digest());
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}
