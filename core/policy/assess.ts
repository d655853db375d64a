import type { BlastRadius } from '../graph/blast-radius.ts';
import type { StoredTarget } from '../graph/targets.ts';
import { cutLabel } from '../text/label.ts';
import { classify, type Verdict } from './classify.ts';
import type { Risk } from './risk.ts';
import { applyRules, type RuleVerdict } from './rules.ts';
import { currentRules } from './rule-store.ts';
import { withScripts, type ReadScript } from './scripts.ts';

/** What is to be judged: the command, what the agent says of it, where it goes and what hangs on that. */
export interface Subject {
  command: string;
  /** What the same task asked for on the same target before, as far as it changes things: it may be what this one runs. */
  before?: readonly string[] | undefined;
  /** The scripts that it runs, as they were read on the target. */
  scripts?: readonly ReadScript[] | undefined;
  declared?: Risk | undefined;
  target: StoredTarget;
  tags: readonly string[];
  blast: BlastRadius;
}

/**
 * Judges a command on a target: what the grammar says of it, raised by what the agent declared (P1), by what it runs that the
 * task wrote there before or what is in the scripts that it runs (P4), and by the rules (P6). Gives the class with its reasons in words (P5), and who has to say yes.
 */
export function assess(subject: Subject): RuleVerdict {
  const { risk, reasons } = withScripts(
    withBefore(subject, classify(subject.command, subject.declared)),
    subject.scripts ?? [],
  );
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

/** A script that was written by one command and is run by the next destroys no less than the two in one. */
function withBefore({ command, before = [] }: Subject, alone: Verdict): Verdict {
  if (alone.risk === 'read_only' || alone.risk === 'destructive') return alone;
  for (const earlier of before) {
    if (classify(earlier).risk === 'destructive') continue;
    const both = classify(`${earlier}\n${command}`);
    if (both.risk !== 'destructive') continue;
    const why = `together with “${cutLabel(earlier)}”, which this task asked for before: ${both.reasons[0] ?? 'it destroys'}`;
    return { risk: 'destructive', reasons: [why, ...alone.reasons] };
  }
  return alone;
}
