import { z } from 'zod';
import type { Reader } from '../../core/db/database.ts';

/**
 * `NOMOS_ENCRYPTION`: rooms that the bot makes are encrypted where the task comes from an encrypted room (`auto`), always, or
 * never; with `never` the bot does not read encrypted rooms either.
 */
export type Encryption = 'auto' | 'always' | 'never';

/** State that encrypts a room from its beginning. It cannot be taken back. */
export const ENCRYPTED = {
  type: 'm.room.encryption',
  state_key: '',
  content: { algorithm: 'm.megolm.v1.aes-sha2' },
} as const;

const originShape = z.looseObject({ roomId: z.string() });

/** Whether the room of a task that came from somewhere is to be encrypted. */
export async function encryptsTask(
  db: Reader,
  encryption: Encryption,
  origin: unknown,
): Promise<boolean> {
  if (encryption !== 'auto') return encryption === 'always';
  const from = originShape.safeParse(origin);
  if (!from.success) return false;
  const room = await db.matrixRoom.findUnique({ where: { roomId: from.data.roomId } });
  return room?.encrypted === true;
}
