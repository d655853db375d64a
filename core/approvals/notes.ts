import type { Execution } from '../db/rows.ts';

type Named = Pick<Execution, 'shortId' | 'targetSlug' | 'purpose'>;

function list(executions: readonly Named[]): string {
  return executions
    .map((execution) => `${execution.shortId} on ${execution.targetSlug} (${execution.purpose})`)
    .join('; ');
}

/** What the agent is told after a denial (A12, A17). */
export function denialNote(executions: readonly Named[], reason: string | undefined): string {
  const why = reason === undefined ? '' : ` The operator's words: "${reason}".`;
  return `The operator DENIED: ${list(executions)}. It did not run.${why} Stop this plan, do not ask for the same again, and say what is true now.`;
}

/** What the agent is told when nobody decided in time (A14). */
export function expiryNote(executions: readonly Named[]): string {
  return `The approval EXPIRED without a decision: ${list(executions)}. It did not run. Say so; ask for it again only if the operator still wants it.`;
}

/** What the agent is told when an approval was taken back before the command started (A7). */
export function withdrawalNote(executions: readonly Named[]): string {
  return `The operator WITHDREW the approval before it started: ${list(executions)}. It did not run. Stop and say so.`;
}
