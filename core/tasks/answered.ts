import type { Unit } from '../db/database.ts';
import type { SessionId } from '../ids.ts';
import { cutLabel } from '../text/label.ts';
import { completeTask } from './complete.ts';

const SUMMARY_CHARACTERS = 120;

/**
 * Ends a task without a goal whose last pass has answered, once nothing of it waits or runs (T9). Asked for wherever the last such
 * thing may have gone: at the answer, at the end of what wakes nobody, when words that nobody had read are taken back. Returns
 * whether it has ended now. The caller holds the task's lock.
 */
export async function endIfAnswered(unit: Unit, sessionId: SessionId): Promise<boolean> {
  const session = await unit.db.session.findUniqueOrThrow({
    where: { id: sessionId },
    select: { goal: true, endedAt: true },
  });
  if (session.goal !== null || session.endedAt !== null) return false;
  const last = await unit.db.pass.findFirst({
    where: { sessionId, startedAt: { not: null } },
    orderBy: [{ startedAt: 'desc' }, { seq: 'desc' }],
    select: { state: true, answer: true },
  });
  const answer = last?.answer ?? '';
  if (last?.state !== 'done' || answer === '' || (await goesOn(unit, sessionId))) return false;
  const line = firstLine(answer);
  const { ended } = await completeTask(unit, {
    sessionId,
    outcome: 'success',
    summary: cutLabel(line === '' ? answer : line, SUMMARY_CHARACTERS),
    by: 'agent',
  });
  return ended;
}

/**
 * Whether anything of the task is still to come: a decision, a result, an answer, or a message that nobody has read. What runs and wakes
 * nobody at its end is not waited for, or the task would wait without end: a dry run that was given up, what a stopped pass left. A change
 * that such a pass left in the queue is: it was allowed, and the end of the task would cancel it.
 */
async function goesOn(unit: Unit, sessionId: SessionId): Promise<boolean> {
  const [execution, approval, question, unread, begun] = await Promise.all([
    unit.db.execution.findFirst({
      where: {
        sessionId,
        status: { in: ['requested', 'pending_approval', 'approved', 'queued', 'running'] },
        NOT: {
          continuation: 'suppressed',
          OR: [{ risk: 'read_only' }, { status: 'running' }],
        },
      },
      select: { id: true },
    }),
    unit.db.approval.findFirst({ where: { sessionId, status: 'pending' }, select: { id: true } }),
    unit.db.question.findFirst({ where: { sessionId, status: 'open' }, select: { id: true } }),
    // A queued pass that has not begun says nothing alone: what it was queued for may have been read by another. Nor does a message
    // alone: its turn may have been stopped before it began.
    unit.db.message.findFirst({
      where: {
        ...{ sessionId, takenInAt: null, role: { in: ['operator', 'note'] } },
        turn: { passes: { some: { state: 'queued' } } },
      },
      select: { id: true },
    }),
    unit.db.pass.findFirst({
      where: { sessionId, state: { in: ['queued', 'running'] }, startedAt: { not: null } },
      select: { id: true },
    }),
  ]);
  return [execution, approval, question, unread, begun].some((one) => one !== null);
}

/** The first line that says something, without the marks of markdown. */
function firstLine(text: string): string {
  for (const line of text.split('\n')) {
    const plain = line
      .replace(/^\s*(?:#{1,6}|[-*+>]|\d+[.)])\s+/, '')
      .replace(/^\s*```.*$/, '')
      .replace(/[*_`]{1,3}(\S(?:.*?\S)?)[*_`]{1,3}/g, '$1')
      .trim();
    if (plain !== '') return plain;
  }
  return '';
}
