import type { TaskState } from './state.ts';
import { label } from './words.ts';

/** How a task stands, as the room list shows it (T7). */
export type TaskMark = 'running' | 'needs_you' | 'done' | 'partial' | 'failed';

/**
 * The sign of each mark, first in the room's name. All of one UTF-16 unit (and at most a variation selector): clients that make
 * an avatar of a name's first unit would show half a character otherwise.
 */
export const MARK_SIGN: Readonly<Record<TaskMark, string>> = {
  running: '⏳',
  needs_you: '❗',
  done: '✅',
  partial: '☑️',
  failed: '❌',
};

/** Each mark in words, where only the mark matters. */
export const MARK_WORDS: Readonly<Record<TaskMark, string>> = {
  running: 'working',
  needs_you: 'needs you',
  done: 'done',
  partial: 'done in part',
  failed: 'failed',
};

/** What a mark is made from. */
export type MarkInput = Pick<
  TaskState,
  'status' | 'outcome' | 'pausedReason' | 'working' | 'waiting' | 'running' | 'queuedCount'
>;

/**
 * The mark of a task. Needing a person goes before running; a task that is open but does nothing by itself needs one too.
 */
export function markOf(task: MarkInput): TaskMark {
  if (isEnded(task.status)) {
    if (task.outcome === 'success') return 'done';
    if (task.outcome === 'partial') return 'partial';
    if (task.outcome === 'failure') return 'failed';
    return task.status === 'done' ? 'done' : 'failed';
  }
  if (task.waiting.length > 0 || task.pausedReason !== null) return 'needs_you';
  return task.working || task.running.length > 0 || task.queuedCount > 0 ? 'running' : 'needs_you';
}

/** Whether a task has come to its end. */
export function isEnded(status: TaskState['status']): boolean {
  return status === 'done' || status === 'failed' || status === 'abandoned';
}

/** The room's name: the mark, then the goal or title, or the task's short id before there is either (T7, T8). */
export function roomName(task: MarkInput & Pick<TaskState, 'shortId' | 'title'>): string {
  return `${MARK_SIGN[markOf(task)]} ${titleOf(task)}`;
}

/** What a task is called: its goal or title, or `Task k7f3q`. */
export function titleOf(task: Pick<TaskState, 'shortId' | 'title'>): string {
  const title = task.title === null ? '' : label(task.title, 80);
  return title === '' ? `Task ${task.shortId}` : title;
}
