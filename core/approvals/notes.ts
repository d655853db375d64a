import type { Execution } from '../db/rows.ts';
import { quoted } from '../text/label.ts';

/** As long as `run` takes one. */
const PURPOSE_CHARACTERS = 300;
const WORDS_CHARACTERS = 2_000;

type Named = Pick<Execution, 'shortId' | 'targetSlug' | 'purpose'>;

function list(executions: readonly Named[]): string {
  return executions
    .map(
      (execution) =>
        `${execution.shortId} on ${execution.targetSlug} (${quoted(execution.purpose, PURPOSE_CHARACTERS)})`,
    )
    .join('; ');
}

/** What the agent is told after a denial (A12, A17). */
export function denialNote(executions: readonly Named[], reason: string | undefined): string {
  const why =
    reason === undefined ? '' : ` The operator's words: ${quoted(reason, WORDS_CHARACTERS)}.`;
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

interface NamedStep {
  seq: number;
  title: string;
}

function steps(covered: readonly NamedStep[]): string {
  return covered.map(({ seq, title }) => `${seq}. ${quoted(title)}`).join('; ');
}

/** What the agent is told when the plan was approved (A11, A12): to act now, and what it may do without asking. */
export function planApprovalNote(
  shortId: string,
  covered: readonly NamedStep[],
  how: { words: string | undefined; released: readonly Named[]; paused: boolean },
): string {
  return [
    `The operator APPROVED the plan ${shortId}: ${steps(covered)}.`,
    ...(how.words === undefined ? [] : [`Their words: ${quoted(how.words, WORDS_CHARACTERS)}.`]),
    'Act now and carry it out to its end, step by step; do not ask whether to begin.',
    how.paused
      ? 'The kill switch is on, so each command still waits for the operator.'
      : 'Changes of this task run without asking while its grant is open. Destructive commands, and what a rule always asks for, still wait for the operator, each by itself.',
    ...(how.released.length === 0
      ? []
      : [
          `Approved with it and started: ${list(how.released)}. Their ends wake you; do not ask for them again.`,
        ]),
  ].join(' ');
}

/** What the agent is told when the plan was denied (A12). */
export function planDenialNote(
  shortId: string,
  covered: readonly NamedStep[],
  reason: string | undefined,
): string {
  const why =
    reason === undefined ? '' : ` The operator's words: ${quoted(reason, WORDS_CHARACTERS)}.`;
  return `The operator DENIED the plan ${shortId}: ${steps(covered)}.${why} Do none of it, do not propose the same again, and say what is true now.`;
}

/** What the agent is told when nobody decided on the plan in time (A14). */
export function planExpiryNote(shortId: string, covered: readonly NamedStep[]): string {
  return `The approval of the plan ${shortId} EXPIRED without a decision: ${steps(covered)}. Say so; propose it again only if the operator still wants it.`;
}

/** What the agent is told when the approval of a plan was taken back (A7). */
export function planWithdrawalNote(shortId: string): string {
  return `The operator WITHDREW the approval of the plan ${shortId}: its grant is closed, so changes ask again. What has started goes on to its end. Begin nothing further of it, and say what is true now.`;
}
