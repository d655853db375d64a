/** Encrypted rooms in tests: a chat with the bot as Element makes one, and files as a client opens them. */
import { createDecipheriv, createHash } from 'node:crypto';
import type { Person } from './matrix.ts';
import type { NomosWorld } from './nomos-world.ts';

/** An encrypted direct chat with the bot, once the bot is in it. */
export async function encryptedChat(world: NomosWorld, person: Person): Promise<string> {
  const roomId = await person.createRoom({
    preset: 'trusted_private_chat',
    is_direct: true,
    invite: [world.bot.userId],
    initial_state: [
      {
        type: 'm.room.encryption',
        state_key: '',
        content: { algorithm: 'm.megolm.v1.aes-sha2' },
      },
    ],
  });
  await person.until(
    () =>
      person.client.getRoom(roomId)?.getMember(world.bot.userId)?.membership === 'join' ||
      undefined,
    'the bot in the chat',
  );
  return roomId;
}

/** The `file` of a message. */
export interface EncryptedFile {
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
