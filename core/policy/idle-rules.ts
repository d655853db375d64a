import { z } from 'zod';
import { sql, type Reader, type Unit } from '../db/database.ts';
import { settleTrouble } from '../events/settle.ts';
import { quote } from '../yaml-source.ts';
import type { NamedInRule, Rules } from './rules-file.ts';

/** What there is in the fleet for rules to be about. */
export interface Nameable {
  target: ReadonlySet<string>;
  type: ReadonlySet<string>;
  tag: ReadonlySet<string>;
}

const tagged = z.looseObject({ tags: z.array(z.string()).catch([]).default([]) });

/** What entities can be named by: their slugs, their types and their tags. */
export function nameable(
  entities: ReadonlyArray<{ slug: string; type: string; attributes: unknown }>,
): Nameable {
  return {
    target: new Set(entities.map(({ slug }) => slug)),
    type: new Set(entities.map(({ type }) => type)),
    tag: new Set(entities.flatMap(({ attributes }) => tagged.parse(attributes).tags)),
  };
}

/** What rules name and nothing is called: most likely a slip of the pen, and until it is mended that rule protects nothing. */
export function namesNothing({ named }: Rules, known: Nameable): NamedInRule[] {
  return named.filter(({ what, name }) => !known[what].has(name));
}

/** One of these in words. */
export function idleWords({ rule, what, name }: NamedInRule): string {
  const lack = {
    target: 'there is no such entity',
    type: 'no entity is of that type',
    tag: 'no entity has that tag',
  };
  return `rule ${quote(rule)} is about the ${what} ${quote(name)}, but ${lack[what]}`;
}

/** What a warning of such rules is about, until they name something. */
const IDLE_RULES = 'policy_rules';

/**
 * Tells the lobby of rules that name nothing (P6), each with its line; the rules stay in force. What was told before and is still so is not told again, and
 * what is mended is settled.
 */
export async function tellIdleRules(unit: Unit, rules: Rules): Promise<void> {
  const idle = namesNothing(rules, await fleetOf(unit.db));
  const message = [
    'Some rules of the policy are about what there is not, so they protect nothing:',
    ...idle.map((one) => `${rules.file}:${one.line}: ${idleWords(one)}.`),
  ].join('\n');
  if (idle.length > 0 && (await toldAlready(unit, message))) return;
  await settleTrouble(unit, IDLE_RULES);
  if (idle.length === 0) return;
  unit.emit({
    type: 'error.raised',
    data: {
      ...{ code: 'policy_rule_idle', fault: 'operator', message, retry: false, about: IDLE_RULES },
      hint: 'Write names as the inventory has them, such as host:db-1. The rules stay in force as they are.',
    },
  });
}

async function fleetOf(db: Reader): Promise<Nameable> {
  return nameable(
    await db.entity.findMany({ select: { slug: true, type: true, attributes: true } }),
  );
}

/** Whether the newest warning says the same and is still open. */
async function toldAlready(unit: Unit, message: string): Promise<boolean> {
  const rows = await unit.db.$queryRaw<Array<{ same: boolean }>>(sql`
    SELECT type = 'error.raised' AND data->>'message' = ${message} AS same FROM events
    WHERE session_id IS NULL AND type IN ('error.raised', 'error.settled') AND data->>'about' = ${IDLE_RULES}
    ORDER BY id DESC LIMIT 1`);
  return rows[0]?.same === true;
}
