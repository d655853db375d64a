import type { Role } from '../operators.ts';
import { roleCovers } from '../operators.ts';
import type { Risk } from './risk.ts';
import { stricter } from './risk.ts';
import type { Rule, Rules } from './rules-file.ts';

/** What rules are held against. */
export interface RuleSubject {
  slug: string;
  type: string;
  tags: readonly string[];
  risk: Risk;
  /** How many entities depend on the target. */
  blastTotal: number;
}

/** What the rules make of a verdict: at least as strict, never less. */
export interface RuleVerdict {
  risk: Risk;
  reasons: string[];
  /** A change asks even inside a grant; always so where a rule says who must decide. */
  alwaysAsk: boolean;
  needsRole: Role;
  needsPeople: number;
}

/**
 * Applies the rules, in order. Classes are raised first, so that a rule for a risk sees the class as it will stand. Reads
 * stay free whatever a rule says, unless `minimum_class` makes them something else.
 */
export function applyRules({ rules }: Rules, subject: RuleSubject, now: Date): RuleVerdict {
  const verdict: RuleVerdict = {
    risk: subject.risk,
    reasons: [],
    alwaysAsk: false,
    needsRole: 'approver',
    needsPeople: 1,
  };
  for (const rule of rules) {
    if (rule.minimum_class === undefined || !matches(rule, { ...subject, risk: verdict.risk }))
      continue;
    const raised = stricter(verdict.risk, rule.minimum_class);
    if (raised === verdict.risk) continue;
    verdict.risk = raised;
    verdict.reasons.push(`rule "${rule.name}": at least ${raised} here`);
  }
  if (verdict.risk === 'read_only') return verdict;
  for (const rule of rules) {
    if (matches(rule, { ...subject, risk: verdict.risk })) demand(rule, subject, verdict, now);
  }
  return verdict;
}

function demand(rule: Rule, subject: RuleSubject, verdict: RuleVerdict, now: Date): void {
  const ask = (why: string): void => {
    verdict.alwaysAsk = true;
    verdict.reasons.push(`rule "${rule.name}": ${why}`);
  };
  const quiet = rule.quiet_hours;
  const inQuietHours = quiet !== undefined && isWithin(quiet, now);
  if (quiet !== undefined && inQuietHours)
    ask(`quiet hours (${quiet.from} to ${quiet.to}), so every change is asked for`);
  if (rule.never_auto_act === true) ask('never acts by itself here');
  const limit = rule.ask_over_blast_radius;
  if (limit !== undefined && subject.blastTotal > limit) {
    ask(`${subject.blastTotal} things depend on it, more than ${limit}`);
  }
  const { role, people } = rule.approval ?? {};
  if (role !== undefined && !roleCovers(verdict.needsRole, role)) {
    verdict.needsRole = role;
    // A grant that anyone opened would go round whoever the rule wants to be asked.
    ask(`an ${role} must decide`);
  }
  if (people !== undefined && people > verdict.needsPeople) {
    verdict.needsPeople = people;
    ask(`${people} different people must agree`);
  }
}

function matches(rule: Rule, subject: RuleSubject): boolean {
  const { target, type, tag, risk } = rule.match;
  return (
    (target === undefined || target.includes(subject.slug)) &&
    (type === undefined || type.includes(subject.type)) &&
    (tag === undefined || tag.some((wanted) => subject.tags.includes(wanted))) &&
    (risk === undefined || risk.includes(subject.risk))
  );
}

/** Whether a moment lies within hours that may go over midnight; equal ends mean the whole day. */
export function isWithin(
  hours: { from: string; to: string; timezone: string },
  now: Date,
): boolean {
  const clock = new Intl.DateTimeFormat('en-GB', {
    timeZone: hours.timezone,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).format(now);
  const { from, to } = hours;
  if (from === to) return true;
  return from < to ? clock >= from && clock < to : clock >= from || clock < to;
}
