import { z } from 'zod';
import type { Unit } from './db/database.ts';
import { NotFoundError } from './errors.ts';
import type { UserId } from './ids.ts';

const shape = z.strictObject({
  version: z.literal(1),
  /** The new public key (Ed25519, unpadded base64). */
  key: z.string(),
  trusted: z.boolean(),
});

const keyOf = (userId: UserId): string => `signing_key:${userId}`;

/**
 * Notes that an operator's signing keys were replaced by new ones, and says whether somebody has vouched for exactly these
 * (A20). The first ones that were seen need nobody.
 */
export async function noteReplacedKey(unit: Unit, userId: UserId, key: string): Promise<boolean> {
  const row = await unit.db.setting.findUnique({ where: { key: keyOf(userId) } });
  const known = row === null ? undefined : shape.parse(row.value);
  if (known?.key === key) return known.trusted;
  await put(unit, userId, { version: 1, key, trusted: false }, 'system');
  unit.audit({ actor: 'system', action: 'signing_key.replaced', subject: userId, data: { key } });
  return false;
}

/**
 * Vouches for the keys that an operator has now, and gives them. Throws `NotFoundError` when none were replaced that the bot has
 * seen.
 */
export async function trustReplacedKey(unit: Unit, userId: UserId, by: string): Promise<string> {
  const row = await unit.db.setting.findUnique({ where: { key: keyOf(userId) } });
  if (row === null) {
    throw new NotFoundError(
      'replaced signing key of',
      userId,
      'Keys need to be trusted only when the bot has seen others of the same operator before.',
    );
  }
  const { key, trusted } = shape.parse(row.value);
  if (trusted) return key;
  await put(unit, userId, { version: 1, key, trusted: true }, by);
  unit.audit({ actor: by, action: 'signing_key.trusted', subject: userId, data: { key } });
  return key;
}

async function put(
  unit: Unit,
  userId: UserId,
  value: z.infer<typeof shape>,
  by: string,
): Promise<void> {
  const key = keyOf(userId);
  await unit.db.setting.upsert({
    where: { key },
    create: { key, value, updatedBy: by },
    update: { value, updatedBy: by, updatedAt: new Date() },
  });
}
