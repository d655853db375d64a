import type { UserId } from '../../core/ids.ts';
import { affects, decision, howToDecide, openUntil } from './approval.ts';
import { cardOf, fitting, type Card } from './card.ts';
import { commandBlock, SECRET_NOT_SHOWN } from './command.ts';
import { outputBlock } from './output.ts';
import { previewBlocks } from './preview.ts';
import { em, list, para, rich, strong, type Rich } from './rich.ts';
import { scriptLines } from './scripts.ts';
import type { ExecutionState, ExecutionStatus } from './state.ts';
import { clock, elapsed, type View } from './view.ts';
import { bytes, EXECUTION_MARK, label, nameOf, RISK_BADGE, RISK_MARK, slug } from './words.ts';

const REASONS_MAX = 6;

/** Final words of X8: nothing more will happen to such an execution. */
export const FINAL_STATUSES: ReadonlySet<ExecutionStatus> = new Set<ExecutionStatus>([
  'completed',
  'failed',
  'denied',
  'revoked',
  'expired',
  'cancelled',
  'unknown',
]);

/**
 * The one card of an execution through its whole life (C3). `callFor` are the people whom a waiting card calls; in any
 * other state nobody is called.
 */
export function executionCard(
  execution: ExecutionState,
  view: View,
  options: { callFor?: readonly UserId[]; outputAttached?: boolean } = {},
): Card {
  if (execution.status === 'pending_approval')
    return waitingCard(execution, view, options.callFor ?? []);
  const attached = options.outputAttached === true;
  return fitting([
    () => lifeCard(execution, view, attached, true),
    () => lifeCard(execution, view, attached, false),
  ]);
}

function waitingCard(execution: ExecutionState, view: View, callFor: readonly UserId[]): Card {
  const approval = execution.approval;
  const verb = execution.risk === 'destructive' ? 'Confirm' : 'Approve';
  const head = rich`${RISK_MARK[execution.risk]} ${verb}? ${label(execution.purpose)} · ${label(execution.target, 40)}`;
  return cardOf(
    [
      para(strong(head)),
      commandBlock(execution.command),
      execution.masked ? para(em(SECRET_NOT_SHOWN)) : undefined,
      para(
        rich`${strong(RISK_BADGE[execution.risk])} · on ${slug(execution.target)}${where(execution)}`,
      ),
      list(execution.reasons.slice(0, REASONS_MAX).map((reason) => label(reason, 160))),
      para(affects(execution.blast)),
      scriptLines(execution.scripts),
      ...previewBlocks(execution.preview),
      approval === null ? undefined : para(openUntil(approval, view), howToDecide(approval)),
      para(rich`id ${slug(execution.shortId)}`),
    ],
    { mentions: callFor, msgtype: 'm.text' },
  );
}

function lifeCard(
  execution: ExecutionState,
  view: View,
  outputAttached: boolean,
  withOutput: boolean,
): Card {
  const running = execution.status === 'running';
  return cardOf([
    para(strong(headline(execution, view)), ...story(execution, view)),
    commandBlock(execution.command),
    withOutput && showsOutput(execution.status) ? outputBlock(execution.tail) : undefined,
    outputNote(execution, outputAttached),
    para(
      rich`${RISK_BADGE[execution.risk]} · on ${slug(execution.target)}${where(execution)} · id ${slug(execution.shortId)}`,
    ),
    running ? para(stopWords(execution)) : undefined,
  ]);
}

function headline(execution: ExecutionState, view: View): Rich {
  const what = `${label(execution.purpose)} · ${label(execution.target, 40)}`;
  return rich`${EXECUTION_MARK[execution.status]} ${stateWords(execution, view)}: ${what}`;
}

/** How an execution stands in a few words: `Failed with exit code 1 after 3 s`. */
export function stateWords(execution: ExecutionState, view: View): string {
  const took =
    execution.startedAt === null ? '' : elapsed(execution.startedAt, execution.endedAt, view);
  const after = took === '' ? '' : ` after ${took}`;
  switch (execution.status) {
    case 'requested':
      return 'Being looked at';
    case 'pending_approval':
      return 'Waits for a decision';
    case 'approved':
      return 'Approved, about to start';
    case 'queued':
      return 'Queued';
    case 'running':
      return took === '' ? 'Running' : `Running for ${took}`;
    case 'completed':
      return took === '' ? 'Done' : `Done in ${took}`;
    case 'failed':
      return `Failed${howItFailed(execution)}${after}`;
    case 'denied':
      return 'Denied';
    case 'revoked':
      return 'Approval taken back';
    case 'expired':
      return 'Expired';
    case 'cancelled':
      return `Cancelled${after}`;
    case 'unknown':
      return `Outcome unknown${after}`;
  }
}

function howItFailed(execution: ExecutionState): string {
  if (execution.signal !== null) return ` by signal ${label(execution.signal, 20)}`;
  if (execution.exitCode !== null) return ` with exit code ${execution.exitCode}`;
  return '';
}

/** The lines under the headline: who let it run, and what went wrong. */
function story(execution: ExecutionState, view: View): Rich[] {
  const lines: Rich[] = [];
  const decided = execution.approval === null ? undefined : decision(execution.approval, view);
  if (decided !== undefined) lines.push(decided);
  else if (execution.allowedBy === 'grant') lines.push(rich`Allowed by this task's grant`);
  else if (execution.allowedBy === 'class') lines.push(rich`Runs by itself: it only reads`);
  if (execution.status === 'cancelled' && execution.cancelRequestedBy !== null) {
    lines.push(rich`Cancelled by ${nameOf(execution.cancelRequestedBy)}`);
  }
  if (execution.status === 'unknown') {
    lines.push(
      rich`It may have run or not. Check ${slug(execution.target)} before it is repeated.`,
    );
  }
  // Why it was denied stands in the decision already.
  const told = execution.status === 'denied' && execution.error === execution.approval?.reason;
  if (execution.error !== null && execution.error !== '' && !told)
    lines.push(rich`${label(execution.error, 300)}`);
  if (execution.endedAt !== null && execution.startedAt !== null) {
    lines.push(rich`Ended ${clock(execution.endedAt, view)}`);
  }
  return lines;
}

function showsOutput(status: ExecutionStatus): boolean {
  return (
    status === 'running' ||
    status === 'completed' ||
    status === 'failed' ||
    status === 'cancelled' ||
    status === 'unknown'
  );
}

function outputNote(execution: ExecutionState, attached: boolean): Rich | undefined {
  const total = execution.stdoutBytes + execution.stderrBytes;
  if (attached)
    return para(rich`End of the output; all of it (${bytes(total)}) is attached as a file.`);
  if (total === 0 && (execution.status === 'completed' || execution.status === 'failed')) {
    return para(rich`It printed nothing.`);
  }
  return undefined;
}

function stopWords(execution: ExecutionState): Rich {
  return execution.cancelRequestedBy === null
    ? rich`🛑 cancels it.`
    : rich`🛑 ${nameOf(execution.cancelRequestedBy)} asked to cancel it; ending it now.`;
}

function where(execution: ExecutionState): string {
  return execution.address === null ? '' : ` (${label(execution.address, 60)})`;
}
