import { formatDuration } from '../../core/text/duration.ts';
import { callWords } from './calls.ts';
import { cardOf, type Card } from './card.ts';
import { FINAL_STATUSES } from './execution.ts';
import { list, para, rich, strong, type Rich } from './rich.ts';
import type { CallState, ProgressState } from './state.ts';
import { elapsed, type View } from './view.ts';
import { count, EXECUTION_MARK, label, nameOf } from './words.ts';

/** How many calls the progress message lists; `!calls` has all of them. */
export const CALLS_SHOWN = 5;

/** One line of the list: one call, or all look-ups of one execution. */
interface Line {
  readonly call: CallState;
  readonly times: number;
}

/** The progress message of a pass, edited in place (C2). */
export function progressCard(progress: ProgressState, view: View): Card {
  const lines = shared(progress.calls);
  const shown = lines.slice(-CALLS_SHOWN);
  const earlier = progress.calls.length - shown.reduce((sum, line) => sum + line.times, 0);
  return cardOf([
    para(strong(headline(progress, view))),
    list(shown.map((line) => callLine(line, view))),
    earlier > 0 ? para(rich`and ${earlier} earlier (!calls lists all)`) : undefined,
  ]);
}

function headline(progress: ProgressState, view: View): Rich {
  const total = progress.calls.length;
  const done = progress.calls.filter((call) => isOver(call)).length;
  const took =
    progress.startedAt === null ? '' : ` in ${elapsed(progress.startedAt, progress.endedAt, view)}`;
  switch (progress.state) {
    case 'queued':
      return rich`⏳ Waits for its turn`;
    case 'running': {
      if (progress.stopRequestedBy !== null)
        return rich`🛑 Stopping for ${nameOf(progress.stopRequestedBy)}`;
      const current = progress.calls.findLast((call) => !isOver(call));
      return current === undefined
        ? rich`⚙️ Thinking · ${done} of ${total} done`
        : rich`⚙️ ${callWords(current)} · ${done} of ${total} done`;
    }
    case 'done':
      return rich`✔️ ${count(total, 'call')}${took}`;
    case 'failed':
      return rich`❌ Broke off after ${count(total, 'call')}${took}`;
    case 'cancelled':
      return rich`🛑 Stopped after ${count(total, 'call')}${took}`;
  }
}

function callLine(line: Line, view: View): Rich {
  const { call } = line;
  if (call.execution !== null && call.name === 'get_execution_status') {
    const times = line.times > 1 ? ` · looked ${line.times} times` : '';
    const { status, purpose, shortId } = call.execution;
    const what = `${label(purpose)}${call.target === null ? '' : ` on ${label(call.target, 40)}`} (${shortId})`;
    return rich`${EXECUTION_MARK[status]} ${what}${times}`;
  }
  // The call has ended, its command has not: how it goes on is told by its own card.
  if (call.execution !== null && isOver(call) && !FINAL_STATUSES.has(call.execution.status)) {
    return rich`↪️ ${callWords(call)} · see its card`;
  }
  return rich`${markOf(call)} ${callWords(call)}${duration(call, view)}`;
}

/** A mark for a call: still going, good, bad, or not known. */
export function markOf(call: Pick<CallState, 'state' | 'success'>): string {
  if (call.state === 'unknown') return '❓';
  if (call.state === 'failed' || (call.state === 'done' && call.success === false)) return '❌';
  return call.state === 'done' ? '✔️' : '⏳';
}

function duration(call: CallState, view: View): string {
  if (call.durationMs !== null) return ` · ${formatDuration(call.durationMs)}`;
  return isOver(call) || call.startedAt === null ? '' : ` · ${elapsed(call.startedAt, null, view)}`;
}

function isOver(call: CallState): boolean {
  return call.state !== 'requested' && call.state !== 'running';
}

/** Repeated look-ups of one execution share the line of the newest. */
function shared(calls: readonly CallState[]): Line[] {
  const lines: Line[] = [];
  for (const call of calls) {
    const same =
      call.name === 'get_execution_status' && call.execution !== null
        ? lines.findIndex(
            (line) =>
              line.call.name === call.name &&
              line.call.execution?.shortId === call.execution?.shortId,
          )
        : -1;
    const times = same < 0 ? 0 : (lines.splice(same, 1)[0]?.times ?? 0);
    lines.push({ call, times: times + 1 });
  }
  return lines;
}
