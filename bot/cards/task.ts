import type { MatrixEventId, RoomId } from '../../core/ids.ts';
import { cardOf, fitting, type Card } from './card.ts';
import { isEnded, MARK_SIGN, markOf, titleOf } from './mark.ts';
import { currentSteps, earlierPlans, stepLines } from './plan.ts';
import { link, list, para, rich, strong, type Rich } from './rich.ts';
import type { CardLink, RunningState, TaskState, WaitingState } from './state.ts';
import { clock, elapsed, type View } from './view.ts';
import { count, firstLine, label, RISK_MARK, saysMore, slug } from './words.ts';

// How many steps, and how many lines of what waits or runs, each form of the card has.
const EXTENTS = [
  { steps: 40, lines: 10 },
  { steps: 8, lines: 4 },
] as const;

/** The address under which every client finds an event. */
export function eventLink(roomId: RoomId, eventId: MatrixEventId): string {
  return `https://matrix.to/#/${encodeURIComponent(roomId)}/${encodeURIComponent(eventId)}`;
}

/** The address of a room. */
export function roomLink(roomId: RoomId): string {
  return `https://matrix.to/#/${encodeURIComponent(roomId)}`;
}

/** The pinned card of a task (C1). Its first line names the task, so an old version of it is no lie (C17). */
export function taskCard(task: TaskState, view: View): Card {
  return fitting(EXTENTS.map((extent) => () => taskForm(task, view, extent)));
}

function taskForm(task: TaskState, view: View, extent: (typeof EXTENTS)[number]): Card {
  const ended = isEnded(task.status);
  // What waits stands right below, each with its link: the status need not name it as well.
  const status = waitsForPerson(task) ? rich`${whatWaits(task)}:` : rich`${statusLine(task)}`;
  const waiting = list(task.waiting.slice(0, extent.lines).map((one) => waitingLine(one, view)));
  return cardOf([
    para(strong(titleOf(task)), rich`${MARK_SIGN[markOf(task)]} ${status}`),
    waiting,
    ended && task.summary !== null && saysMore(task.summary, task.title)
      ? // The digest has it whole; here the first line has to do.
        para(label(firstLine(task.summary), 200))
      : undefined,
    planBlock(task, extent.steps),
    list(task.running.slice(0, extent.lines).map((running) => runningLine(running, view))),
    para(resumption(task)),
    para(rich`Task ${slug(task.shortId)} · last activity ${clock(task.lastActivityAt, view)}`),
  ]);
}

/** What the task does or waits for, in one line; a task that waits always says for what (C8). */
export function statusLine(task: TaskState): string {
  if (isEnded(task.status)) {
    return { done: 'Done', partial: 'Done in part', failed: 'Failed', running: '', needs_you: '' }[
      markOf(task)
    ];
  }
  if (task.pausedReason !== null) {
    return `Paused: ${label(task.pausedReason, 120)}. Write anything, or !continue, to go on.`;
  }
  const [first] = task.waiting;
  if (first !== undefined) {
    const what = `${label(first.label)}${first.target === null ? '' : ` · ${label(first.target, 40)}`}`;
    const more = task.waiting.length > 1 ? ` (and ${task.waiting.length - 1} more)` : '';
    return `${whatWaits(task)}: ${what}${more}`;
  }
  if (task.running.length > 0) return `Runs ${count(task.running.length, 'command')}`;
  if (task.queuedCount > 0) return `${count(task.queuedCount, 'command')} about to start`;
  if (task.working) return task.status === 'planning' ? 'Planning' : 'Working';
  return 'Waits for your next message';
}

function waitsForPerson(task: TaskState): boolean {
  return !isEnded(task.status) && task.pausedReason === null && task.waiting.length > 0;
}

function whatWaits({ waiting: [first] }: TaskState): string {
  return first?.kind === 'question' ? 'Waits for your answer' : 'Waits for your decision';
}

/** What ▶️ does, once it is offered (C9); where the task is paused, its status says how to go on. */
function resumption(task: TaskState): Rich | undefined {
  if (!task.stuck || task.pausedReason !== null) return undefined;
  if (task.waiting.some(({ kind }) => kind === 'question')) {
    return rich`▶️ (or !continue) goes on without your answer.`;
  }
  if (task.running.length + task.queuedCount > 0) {
    return rich`▶️ (or !continue) has me look at it before it ends.`;
  }
  return rich`Write what to do next; ▶️ (or !continue) goes on as it stands.`;
}

function planBlock(task: TaskState, most: number): Rich | undefined {
  if (task.steps.length === 0) return undefined;
  const current = currentSteps(task.steps);
  const done = current.filter((step) => step.status === 'done').length;
  const lines = stepLines(current.slice(0, most));
  const rest = current.length - Math.min(current.length, most);
  const head = para(
    rich`${strong('Plan')} ${done}/${current.length} done`,
    ...earlierPlans(task.steps),
  );
  const more = rest > 0 ? para(rich`and ${count(rest, 'more step', 'more steps')}`) : undefined;
  const blocks = [head, lines, more].filter((block) => block !== undefined);
  return {
    text: blocks.map((block) => block.text).join('\n'),
    html: blocks.map((block) => block.html).join(''),
  };
}

function waitingLine(waiting: WaitingState, view: View): Rich {
  const mark = waiting.kind === 'question' ? '❔' : RISK_MARK[waiting.risk ?? 'config_mutation'];
  const target = waiting.target === null ? '' : ` · ${label(waiting.target, 40)}`;
  const until = waiting.until === null ? '' : ` · until ${clock(waiting.until, view)}`;
  return rich`${mark} ${linked(waiting.link, label(waiting.label))}${target}${until}`;
}

function runningLine(running: RunningState, view: View): Rich {
  const time = running.startedAt === null ? '' : ` · ${elapsed(running.startedAt, null, view)}`;
  return rich`▶️ ${linked(running.link, label(running.label))} · ${label(running.target, 40)}${time}`;
}

function linked(to: CardLink, words: string): Rich {
  return to.roomId === null || to.eventId === null
    ? rich`${words}`
    : link(eventLink(to.roomId, to.eventId), words);
}
