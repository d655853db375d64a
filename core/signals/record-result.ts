import { z } from 'zod';
import { sql, joinSql, type Database, type Unit } from '../db/database.ts';
import type { Check } from '../db/rows.ts';
import { faultPoint } from '../faults.ts';
import { SEVERITIES } from './check-kinds.ts';
import { refreshHealth } from './health.ts';
import type { Observation } from './probes/observation.ts';
import { raiseSignal, recovered } from './raise.ts';

/**
 * Keeps what a check saw: its status, its figures, the health of its entity, and the signal that follows from it, in one
 * transaction. Counts only while the worker still has the check in hand. Returns whether it counted.
 */
export async function recordResult(
  database: Database,
  result: { id: string; owner: string; seen: Observation },
): Promise<boolean> {
  return database.write(async (unit) => {
    const { id, owner, seen } = result;
    await unit.db.$queryRaw`SELECT id FROM checks WHERE id = ${id}::uuid FOR UPDATE`;
    const before = await unit.db.check.findUnique({ where: { id } });
    if (before === null || before.leaseOwner !== owner || before.goneAt !== null) return false;
    const check = await keep(unit, before, seen);
    await keepMetrics(unit, check, seen);
    await refreshHealth(unit, check.entityId);
    if (before.status !== seen.status) {
      unit.emit({
        type: 'check.changed',
        refId: id,
        data: { from: before.status, to: seen.status },
      });
    }
    await signalFor(unit, check, seen);
    await faultPoint('check.before_commit');
    return true;
  });
}

/** What could not be seen counts neither way: it neither raises a signal nor resolves one. */
async function keep(unit: Unit, before: Check, seen: Observation): Promise<Check> {
  const failures = seen.status === 'fail' ? before.failures + 1 : before.failures;
  const successes = isWell(seen) ? before.successes + 1 : before.successes;
  await unit.db.check.update({
    where: { id: before.id },
    data: {
      status: seen.status,
      value: seen.value,
      detail: seen.detail,
      failures: isWell(seen) ? 0 : failures,
      successes: seen.status === 'fail' ? 0 : successes,
      leaseOwner: null,
      leaseUntil: null,
    },
  });
  await unit.db.$executeRaw`
    UPDATE checks SET checked_at = clock_timestamp(),
      changed_at = CASE WHEN ${before.status === seen.status} THEN changed_at ELSE clock_timestamp() END
    WHERE id = ${before.id}::uuid`;
  return unit.db.check.findUniqueOrThrow({ where: { id: before.id } });
}

function isWell({ status }: Observation): boolean {
  return status === 'ok' || status === 'warn';
}

async function keepMetrics(unit: Unit, check: Check, { metrics }: Observation): Promise<void> {
  const rows = metrics
    .filter(({ value }) => Number.isFinite(value))
    // A command's own figure is told from others by its check's name.
    .map(({ name, value }) => ({ name: name === 'value' ? check.name : name, value }));
  if (rows.length === 0) return;
  await unit.db.$executeRaw(sql`
    INSERT INTO metrics (entity_id, name, value, at)
    SELECT ${check.entityId}::uuid, v.name, v.value, clock_timestamp()
    FROM (VALUES ${joinSql(rows.map(({ name, value }) => sql`(${name}::text, ${value}::float8)`))}) v (name, value)`);
}

/** So often in a row it must fail to raise, and be well to resolve: one bad look calls nobody (S2). */
async function signalFor(unit: Unit, check: Check, seen: Observation): Promise<void> {
  const key = `check:${check.id}`;
  if (seen.status === 'fail' && check.failures >= check.raiseAfter) {
    const { slug } = await unit.db.entity.findUniqueOrThrow({
      where: { id: check.entityId },
      select: { slug: true },
    });
    await raiseSignal(unit, {
      key,
      source: 'check',
      entityId: check.entityId,
      checkId: check.id,
      severity: z.enum(SEVERITIES).parse(check.severity),
      title: `${check.name} on ${slug}`,
      detail: { version: 1, text: seen.detail, labels: {} },
      by: 'system',
    });
  } else if (isWell(seen) && check.successes >= check.resolveAfter) {
    await recovered(unit, key, { actor: 'system', why: seen.detail });
  }
}
