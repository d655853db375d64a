/** Encrypted rooms in tests: a chat with the bot as Element makes one, and files as a client opens them. */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import type { Person } from './matrix.ts';

/** An encrypted direct chat with the bot, once the bot is in it. */
export async function encryptedChat(person: Person, botUserId: string): Promise<string> {
  const roomId = await person.createRoom({
    preset: 'trusted_private_chat',
    is_direct: true,
    invite: [botUserId],
    initial_state: [
      {
        type: 'm.room.encryption',
        state_key: '',
        content: { algorithm: 'm.megolm.v1.aes-sha2' },
      },
    ],
  });
  await person.until(
    () => person.client.getRoom(roomId)?.getMember(botUserId)?.membership === 'join' || undefined,
    'the bot in the chat',
  );
  return roomId;
}

/** The `file` of a message. */
export interface EncryptedFile {
  v: string;
  url: string;
  key: { k: string };
  iv: string;
  hashes: { sha256: string };
}

/** Downloads an encrypted file and decrypts it as a client does (Matrix, "Sending encrypted attachments"). */
export async function openFile(homeserverUrl: string, file: EncryptedFile): Promise<string> {
  const media = file.url.slice('mxc://'.length);
  const response = await fetch(`${homeserverUrl}/_matrix/media/v3/download/${media}`);
  const bytes = Buffer.from(await response.arrayBuffer());
  const hash = createHash('sha256').update(bytes).digest('base64').replace(/=+$/, '');
  if (hash !== file.hashes.sha256) throw new Error('The file is not the one of the message.');
  const decipher = createDecipheriv(
    'aes-256-ctr',
    Buffer.from(file.key.k, 'base64url'),
    Buffer.from(file.iv, 'base64'),
  );
  return Buffer.concat([decipher.update(bytes), decipher.final()]).toString();
}

/** Uploads a text as a client does in an encrypted room. Gives the `file` of the message. */
export async function uploadSealed(person: Person, text: string): Promise<EncryptedFile> {
  const [key, iv] = [randomBytes(32), Buffer.concat([randomBytes(8), Buffer.alloc(8)])];
  const cipher = createCipheriv('aes-256-ctr', key, iv);
  const bytes = Buffer.concat([cipher.update(text), cipher.final()]);
  const { content_uri: url } = await person.client.uploadContent(bytes, {
    type: 'application/octet-stream',
  });
  const base64 = (value: Buffer): string => value.toString('base64').replace(/=+$/, '');
  const jwk = { kty: 'oct', alg: 'A256CTR', ext: true, key_ops: ['encrypt', 'decrypt'] };
  return {
    v: 'v2',
    url,
    key: { ...jwk, k: key.toString('base64url') },
    iv: base64(iv),
    hashes: { sha256: base64(createHash('sha256').update(bytes).digest()) },
  };
}

/** Which key a Megolm message was made with, and which of its messages it is: no two may be the same. */
export function messageIndex(content: Record<string, unknown>): string {
  const bytes = Buffer.from(String(content['ciphertext']), 'base64');
  // A version, then the index under the tag 0x08 as a varint.
  if (bytes[1] !== 0x08) throw new Error('This is no Megolm message.');
  let index = 0;
  for (let at = 2, shift = 0; ; at++, shift += 7) {
    const byte = bytes[at] ?? 0;
    index |= (byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return `${String(content['session_id'])}/${index}`;
}
