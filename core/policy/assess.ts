import type { BlastRadius } from '../graph/blast-radius.ts';
import type { StoredTarget } from '../graph/targets.ts';
import { classify } from './classify.ts';
import type { Risk } from './risk.ts';
import { applyRules, type RuleVerdict } from './rules.ts';
import { currentRules } from './rule-store.ts';

/** What is to be judged: the command, what the agent says of it, where it goes and what hangs on that. */
export interface Subject {
  command: string;
  declared?: Risk | undefined;
  target: StoredTarget;
  tags: readonly string[];
  blast: BlastRadius;
}

/**
 * Judges a command on a target: what the grammar says of it, raised by what the agent declared (P1), raised by the rules
 * (P6). Gives the class with its reasons in words (P5), and who has to say yes.
 */
export function assess(subject: Subject): RuleVerdict {
  const { risk, reasons } = classify(subject.command, subject.declared);
  const verdict = applyRules(
    currentRules(),
    {
      slug: subject.target.slug,
      type: subject.target.type,
      tags: subject.tags,
      risk,
      blastTotal: subject.blast.total,
    },
    new Date(),
  );
  return { ...verdict, reasons: [...reasons, ...verdict.reasons] };
}
