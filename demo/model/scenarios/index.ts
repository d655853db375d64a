import type { Conversation } from '../conversation.ts';
import { Job } from '../job.ts';
import { greetingFor } from '../introduction.ts';
import { say, type Reply } from '../wire.ts';
import { cleanup } from './cleanup.ts';
import { restart } from './restart.ts';
import type { Scenario } from './scenario.ts';
import { status } from './status.ts';
import { upgrade } from './upgrade.ts';

/** What the demo model can play; the first that matches an operator's words is taken. */
export const SCENARIOS: readonly Scenario[] = [restart, upgrade, cleanup, status];

/**
 * The next answer to a conversation: of the scenario that the operator's newest fitting words ask for, or, where the
 * newest words of all fit none, what the demo model is and what it can play.
 */
export function answerTo(conversation: Conversation): Reply {
  const newest = conversation.steps.findLastIndex((step) => step.kind === 'operator');
  if (NO.test(conversation.steps[newest]?.text ?? '') && !answeredSince(conversation, newest)) {
    const { waiting } = conversation;
    if (waiting.length > 0) return stillWaits(waiting);
  }
  for (let at = newest; at >= 0; at--) {
    if (conversation.steps[at]?.kind !== 'operator') continue;
    const job = new Job(conversation, at);
    const scenario = SCENARIOS.find((one) => one.matches(job));
    if (scenario === undefined) continue;
    if (conversation.tools.size === 0) return report(job);
    const next = scenario.next(job);
    return at === newest || answeredSince(conversation, newest) ? next : aside(job, next);
  }
  return introduce(conversation);
}

const NO = /^\s*(no|nope|not|don[’']t|do not|wait|stop)\b/i;

/** A "no" that was no reply to a card reached the agent as a message, and decided nothing. */
function stillWaits(waiting: readonly string[]): Reply {
  return say(
    'Then I leave it alone. It still waits, though: to end it, tap ❌ on its card, or reply to the card with your “no”.',
    ...waiting.map((line) => `- ${line}`),
  );
}

// Something was done or told after the newest words: then they were dealt with, and the work goes on.
function answeredSince(conversation: Conversation, newest: number): boolean {
  return conversation.steps
    .slice(newest + 1)
    .some((step) => step.kind === 'note' || step.kind === 'answer');
}

// Words that fit nothing, while something else is under way: that goes on, or waits.
function aside(job: Job, next: Reply): Reply {
  if (job.calls('complete_task').length > 0) return introduce(job.conversation);
  if (next.calls.length > 0) return next;
  const { waiting } = job.conversation;
  if (waiting.length === 0) return introduce(job.conversation);
  return say(
    'I am the demo model and understand only a few requests; that was none of them. Still waiting for your decision:',
    ...waiting.map((line) => `- ${line}`),
  );
}

/** At the limit of model calls there are no tools left, only words. */
function report(job: Job): Reply {
  const lines = job.runs.map((run) => `- \`${run.command}\` on ${run.target}: ${run.status}`);
  return say('I stopped at the limit of model calls. What was run:', ...lines);
}

function introduce({ steps }: Conversation): Reply {
  const newest = steps.findLast((step) => step.kind === 'operator');
  return say(
    greetingFor(newest?.text ?? ''),
    'I am the built-in **demo model**: I follow a few fixed ideas and am no language model. Ask me for one of these:',
    ...SCENARIOS.map((scenario) => `- ${scenario.example}`),
    '- clean up the backups',
    '',
    'To connect a real model, set `OPENAI_API_KEY` (and `OPENAI_BASE_URL` for an endpoint other than OpenAI, `NOMOS_MODEL` for its name) and start Nomos again.',
  );
}
