import { sql, type Reader, type Unit } from '../db/database.ts';
import { newId } from '../ids.ts';
import { verbOf } from './verb.ts';
import { wilsonLowerBound } from './wilson.ts';

/** How an action has gone on one type of entity (K11). */
export interface Pattern {
  action: string;
  entityType: string;
  successes: number;
  failures: number;
  /** Between 0 and 1. */
  successRate: number;
  /** How often it succeeds at least, by this record: Wilson's lower bound at 95 %. */
  confidence: number;
  firstAt: Date;
  lastAt: Date;
}

/** What was learned to be done, and how reliably. */
export interface Verb {
  verb: string;
  /** Null while it never succeeded. */
  firstSuccess: Date | null;
  successes: number;
  total: number;
  successRate: number;
}

/**
 * Counts a command that ran to an end. Called in the transaction that stores that end, so that it counts exactly once. A command that
 * never reached its target, was cancelled, or whose outcome is not known says nothing about what it does.
 */
export async function countRun(
  unit: Unit,
  run: { command: string; entityId: string; succeeded: boolean },
): Promise<void> {
  const won = run.succeeded ? 1 : 0;
  await unit.db.$executeRaw(sql`
    INSERT INTO patterns AS p (id, action, entity_type, successes, failures, first_at, last_at, first_success_at)
    SELECT ${newId()}::uuid, ${verbOf(run.command)}, e.type, ${won}::int, ${1 - won}::int, clock_timestamp(), clock_timestamp(),
      CASE WHEN ${run.succeeded} THEN clock_timestamp() END
    FROM entities e WHERE e.id = ${run.entityId}::uuid
    ON CONFLICT (action, entity_type) DO UPDATE SET successes = p.successes + excluded.successes,
      failures = p.failures + excluded.failures, last_at = excluded.last_at,
      first_success_at = coalesce(p.first_success_at, excluded.first_success_at)`);
}

/** Patterns per action and type of entity, the most certain first. */
export async function listPatterns(
  db: Reader,
  asked: { entityType?: string | undefined; limit: number },
): Promise<Pattern[]> {
  const { entityType: type } = asked;
  const rows = await db.pattern.findMany({
    where: type === undefined ? {} : { entityType: type },
  });
  return rows
    .map(({ action, entityType, successes, failures, firstAt, lastAt }) => ({
      action,
      entityType,
      successes,
      failures,
      successRate: rate(successes, successes + failures),
      confidence: wilsonLowerBound(successes, successes + failures),
      firstAt,
      lastAt,
    }))
    .toSorted((a, b) => b.confidence - a.confidence || (a.action < b.action ? -1 : 1))
    .slice(0, asked.limit);
}

/** Verbs in the order in which they first succeeded; those that never did come last. */
export async function learningTimeline(db: Reader, limit: number): Promise<Verb[]> {
  const rows = await db.$queryRaw<Array<Omit<Verb, 'successRate'>>>(sql`
    SELECT action AS verb, min(first_success_at) AS "firstSuccess", sum(successes)::int AS successes,
      sum(successes + failures)::int AS total
    FROM patterns GROUP BY action
    ORDER BY min(first_success_at) NULLS LAST, action LIMIT ${limit}`);
  return rows.map((row) => ({ ...row, successRate: rate(row.successes, row.total) }));
}

function rate(successes: number, tries: number): number {
  return tries === 0 ? 0 : successes / tries;
}
