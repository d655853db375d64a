import { z } from 'zod';
import { sql, type Database, type Reader, type Unit } from '../db/database.ts';
import type { Check } from '../db/rows.ts';
import { NomosError } from '../errors.ts';
import { resolveTarget } from '../graph/targets.ts';
import { newId } from '../ids.ts';
import type { CheckDefinition } from './check-file.ts';
import { refreshHealth } from './health.ts';
import { recovered } from './raise.ts';
import { wantedChecks, type CheckedEntity, type WantedCheck } from './wanted-checks.ts';

/** What bringing the checks in line changed. */
export interface CheckSync {
  readonly added: number;
  readonly changed: number;
  readonly gone: number;
}

const states = z.array(z.looseObject({ name: z.string() })).min(1);
const reach = z.enum(['ssh', 'pct', 'none']);

/**
 * Brings the rows of the checks in line with what the file asks for and what the fleet has now: idempotent, and the same whoever
 * does it. A check that is not asked for any more is kept with its history, is not made, and its signal is resolved.
 */
export async function syncChecks(
  database: Database,
  definitions: readonly CheckDefinition[],
): Promise<CheckSync> {
  return database.write(async (unit) => {
    await unit.db.$executeRaw`SELECT pg_advisory_xact_lock(hashtext('nomos_checks'))`;
    const wanted = wantedChecks(definitions, await checkedEntities(unit.db));
    const rows = await unit.db.check.findMany();
    const known = new Map(rows.map((row) => [keyOf(row.entityId, row.name), row]));
    const hosts = new Map<string, string | null>();
    let added = 0;
    let changed = 0;
    const touched = new Set<string>();
    for (const one of wanted) {
      const key = keyOf(one.entityId, one.definition.name);
      const row = known.get(key);
      known.delete(key);
      const columns = await columnsOf(unit.db, one, hosts);
      if (row === undefined) {
        await unit.db.check.create({
          data: { id: newId(), entityId: one.entityId, name: one.definition.name, ...columns },
        });
        added++;
      } else if (isOther(row, columns)) {
        await renew(unit, row, columns);
        touched.add(row.entityId);
        changed++;
      }
    }
    const gone = [...known.values()].filter((row) => row.goneAt === null);
    for (const row of gone) {
      await retire(unit, row);
      touched.add(row.entityId);
    }
    for (const entityId of touched) await refreshHealth(unit, entityId);
    return { added, changed, gone: gone.length };
  });
}

/** Changes whenever something does that the wanted checks depend on; cheap, so that it can be looked at often. */
export async function fleetVersion(db: Reader): Promise<string> {
  const rows = await db.$queryRaw<Array<{ version: string }>>(sql`
    SELECT concat_ws('/', e.count, e.last, e.gone, r.count, r.from, r.to) AS version
    FROM (SELECT count(*), max(updated_at) AS last, count(gone_from_file_at) AS gone FROM entities
        WHERE source <> 'task') e,
      (SELECT count(*), max(valid_from) AS from, max(valid_to) AS to FROM relationships
        WHERE type = 'runs_on') r`);
  return rows[0]?.version ?? '';
}

function keyOf(entityId: string, name: string): string {
  return `${entityId}/${name}`;
}

async function checkedEntities(db: Reader): Promise<CheckedEntity[]> {
  const rows = await db.$queryRaw<
    Array<
      Omit<CheckedEntity, 'usualState' | 'reach' | 'runsOn'> & {
        states: unknown;
        reach: string;
        runs_on: string | null;
      }
    >
  >(sql`
    SELECT e.id, e.slug, e.type, e.state, e.attributes, t.states, t.reach,
      (SELECT m.slug FROM relationships r JOIN entities m ON m.id = r.target_id
        JOIN entity_types k ON k.name = m.type
        WHERE r.source_id = e.id AND r.type = 'runs_on' AND r.valid_to IS NULL AND k.reach <> 'none'
        ORDER BY m.slug LIMIT 1) AS runs_on
    FROM entities e JOIN entity_types t ON t.name = e.type
    WHERE e.gone_from_file_at IS NULL AND e.source <> 'task'
    ORDER BY e.slug`);
  return rows.map((row) => {
    const names = states.parse(row.states).map(({ name }) => name);
    return {
      id: row.id,
      slug: row.slug,
      type: row.type,
      state: row.state,
      usualState: names.includes('active') ? 'active' : (names[0] ?? ''),
      reach: reach.parse(row.reach),
      attributes: row.attributes,
      runsOn: row.runs_on ?? undefined,
    };
  });
}

async function columnsOf(
  db: Reader,
  { definition, parameters, machine }: WantedCheck,
  hosts: Map<string, string | null>,
) {
  if (machine !== null && !hosts.has(machine)) hosts.set(machine, await hostOf(db, machine));
  return {
    kind: parameters.kind,
    parameters: { ...parameters },
    severity: definition.severity,
    machine,
    host: machine === null ? null : (hosts.get(machine) ?? null),
    everyMs: definition.everyMs,
    timeoutMs: definition.timeoutMs,
    raiseAfter: definition.raiseAfter,
    resolveAfter: definition.resolveAfter,
  };
}

/** The host whose SSH leads to a machine; null where none does: the check then says why. */
async function hostOf(db: Reader, machine: string): Promise<string | null> {
  try {
    return (await resolveTarget(db, machine)).target.host.slug;
  } catch (error) {
    if (error instanceof NomosError) return null;
    throw error;
  }
}

type Columns = Awaited<ReturnType<typeof columnsOf>>;

function isOther(row: Check, columns: Columns): boolean {
  if (row.goneAt !== null) return true;
  return Object.entries(columns).some(([name, value]) => {
    const before: unknown = row[name as keyof Columns];
    return name === 'parameters' ? sorted(before) !== sorted(value) : before !== value;
  });
}

function sorted(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

/** A check that is another one now begins anew: what it saw before says nothing of what it looks at now. */
async function renew(unit: Unit, row: Check, columns: Columns): Promise<void> {
  await unit.db.check.update({
    where: { id: row.id },
    data: {
      ...columns,
      status: null,
      value: null,
      detail: null,
      checkedAt: null,
      changedAt: null,
      failures: 0,
      successes: 0,
      leaseOwner: null,
      leaseUntil: null,
      goneAt: null,
    },
  });
  await unit.db
    .$executeRaw`UPDATE checks SET next_at = clock_timestamp() WHERE id = ${row.id}::uuid`;
}

async function retire(unit: Unit, row: Check): Promise<void> {
  await unit.db.$executeRaw`
    UPDATE checks SET gone_at = clock_timestamp(), lease_owner = NULL, lease_until = NULL WHERE id = ${row.id}::uuid`;
  await recovered(unit, `check:${row.id}`, { actor: 'system', why: 'it is not checked any more' });
}
