import { z } from 'zod';
import type { Ontology } from '../graph/ontology-file.ts';
import { ROLES } from '../operators.ts';
import { listed, quote, YamlSource } from '../yaml-source.ts';
import { RISKS } from './risk.ts';

const risk = z.enum(RISKS, `allowed: ${RISKS.join(', ')}`);
const texts = z.union([z.string().transform((one) => [one]), z.array(z.string()).min(1)]);
const clock = z
  .string()
  .regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'a time of day like "22:30", in quotes');
const zone = z
  .string()
  .refine(
    (name) => name === 'UTC' || Intl.supportedValuesOf('timeZone').includes(name),
    'a time zone like Europe/Berlin, or UTC',
  );

/** What a rule is about: everything that all given fields match. A rule without `match` is about everything. */
const match = z.strictObject({
  target: texts.optional(),
  type: texts.optional(),
  tag: texts.optional(),
  risk: z.union([risk.transform((one) => [one]), z.array(risk).min(1)]).optional(),
});

const rule = z.strictObject({
  name: z.string().min(1).max(80),
  match: match.default({}),
  minimum_class: risk.optional(),
  never_auto_act: z.boolean().optional(),
  ask_over_blast_radius: z.int().min(0).optional(),
  approval: z
    .strictObject({
      role: z
        .enum(ROLES, `allowed: ${ROLES.join(', ')}`)
        .exclude(['viewer'], 'allowed: approver, admin')
        .optional(),
      people: z.int().min(1).max(5).optional(),
    })
    .optional(),
  quiet_hours: z.strictObject({ from: clock, to: clock, timezone: zone }).optional(),
});

const shape = z.strictObject({
  version: z.literal(1, 'this version of Nomos reads version 1'),
  decisions: z.enum(['any', 'strict'], 'allowed: any, strict').default('any'),
  rules: z.array(rule).default([]),
});

/** One rule, as read. Rules only ever raise: there is no field that could let more through. */
export type Rule = z.output<typeof rule>;

/** Something that a rule is about by its name, and where that stands. */
export interface NamedInRule {
  rule: string;
  what: 'target' | 'type' | 'tag';
  name: string;
  /** Counted from 1. */
  line: number;
}

/** The rules that an owner may change (P6). */
export interface Rules {
  file: string;
  rules: readonly Rule[];
  /** What the rules are about, in the file's order. */
  named: readonly NamedInRule[];
  /** `strict`: in encrypted rooms only encrypted messages from the operators' own verified devices decide (A20). */
  decisions: 'any' | 'strict';
}

/** No rules at all: what the classifier says stands. */
export const NO_RULES: Rules = { file: '', rules: [], named: [], decisions: 'any' };

/**
 * Reads the rules from a YAML file (`seeds/policy.yaml` describes the format). Throws `YamlFileError` with every problem:
 * file, line, what was given and what is allowed.
 */
export function loadRules(path: string, ontology: Ontology): Rules {
  return rulesFrom(YamlSource.read(path), ontology);
}

/** As `loadRules`, for text; `file` is the name used in messages. */
export function parseRules(text: string, file: string, ontology: Ontology): Rules {
  return rulesFrom(YamlSource.parse(file, text), ontology);
}

function rulesFrom(source: YamlSource, ontology: Ontology): Rules {
  const { rules, decisions } = source.check(shape);
  const names = new Set<string>();
  rules.forEach((given, index) => {
    const path = ['rules', index];
    if (names.has(given.name))
      source.add([...path, 'name'], `rule ${quote(given.name)} stands here twice`);
    names.add(given.name);
    for (const type of given.match.type ?? []) {
      if (!ontology.entityTypes.has(type)) {
        source.add(
          [...path, 'match', 'type'],
          `unknown entity type ${quote(type)}; known: ${listed(ontology.entityTypes.keys())}`,
        );
      }
    }
    if (!demandsSomething(given)) {
      source.add(
        path,
        `rule ${quote(given.name)} demands nothing; give it minimum_class, never_auto_act, ask_over_blast_radius, approval or quiet_hours`,
      );
    }
  });
  source.throwIfWrong();
  return { file: source.file, rules, named: rules.flatMap(namedIn(source)), decisions };
}

const namedIn =
  (source: YamlSource) =>
  ({ name: rule, match: given }: Rule, index: number): NamedInRule[] =>
    (['target', 'type', 'tag'] as const).flatMap((what) =>
      (given[what] ?? []).map((name, at) => ({
        ...{ rule, what, name },
        line: source.lineOf(['rules', index, 'match', what, at]),
      })),
    );

function demandsSomething(given: Rule): boolean {
  return (
    given.minimum_class !== undefined ||
    given.never_auto_act === true ||
    given.ask_over_blast_radius !== undefined ||
    given.approval !== undefined ||
    given.quiet_hours !== undefined
  );
}
