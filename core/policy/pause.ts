import { z } from 'zod';
import type { Reader, Unit } from '../db/database.ts';
import { closeGrants } from './grants.ts';

const KEY = 'paused';
const shape = z.strictObject({ version: z.literal(1), paused: z.boolean() });

/** Whether the kill switch is thrown (P7): every execution waits for approval and no grant counts. */
export async function isPaused(db: Reader): Promise<boolean> {
  const row = await db.setting.findUnique({ where: { key: KEY } });
  return row === null ? false : shape.parse(row.value).paused;
}

/**
 * The same for who opens a grant by it: the switch cannot be thrown before the grant is on record, and then closes it (R14). The
 * caller holds no lock that the one who throws it could wait for.
 */
export async function isPausedForGrant(unit: Unit): Promise<boolean> {
  await unit.db.$executeRaw`SELECT pg_advisory_xact_lock_shared(hashtext('nomos_paused'))`;
  return isPaused(unit.db);
}

/** Throws or resets the kill switch. Throwing it closes all grants. Returns whether anything changed. */
export async function setPaused(unit: Unit, paused: boolean, by: string): Promise<boolean> {
  await unit.db.$executeRaw`SELECT pg_advisory_xact_lock(hashtext('nomos_paused'))`;
  if ((await isPaused(unit.db)) === paused) return false;
  const value = { version: 1, paused };
  await unit.db.setting.upsert({
    where: { key: KEY },
    create: { key: KEY, value, updatedBy: by },
    update: { value, updatedBy: by, updatedAt: new Date() },
  });
  unit.emit({ type: 'settings.changed', refId: KEY, data: { paused, by } });
  unit.audit({ actor: by, action: paused ? 'kill_switch.on' : 'kill_switch.off' });
  if (paused) await closeGrants(unit, { reason: 'the kill switch was thrown', by });
  return true;
}
