import type { BlastRadius } from '../graph/blast-radius.ts';
import type { StoredTarget } from '../graph/targets.ts';
import type { Role } from '../operators.ts';
import { classify } from './classify.ts';
import type { Risk } from './risk.ts';

/** What is to be judged: the command, what the agent says of it, where it goes and what hangs on that. */
export interface Subject {
  command: string;
  declared?: Risk | undefined;
  target: StoredTarget;
  blast: BlastRadius;
}

/** The whole verdict: the class with its reasons, and who has to say yes. */
export interface Assessment {
  risk: Risk;
  reasons: string[];
  /** Approval is needed even where the class or a grant would let it run. */
  alwaysAsk: boolean;
  needsRole: Role;
  needsPeople: number;
}

/** Judges a command on a target: what the grammar says of it, raised by what the agent declared. Rules only ever raise (P1). */
export function assess(subject: Subject): Assessment {
  const { risk, reasons } = classify(subject.command, subject.declared);
  return { risk, reasons, alwaysAsk: false, needsRole: 'approver', needsPeople: 1 };
}
