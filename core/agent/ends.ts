import type { Unit } from '../db/database.ts';
import type { NomosError } from '../errors.ts';
import { completeTask } from '../tasks/complete.ts';
import { endPass } from '../tasks/passes.ts';
import { setTitle } from '../tasks/status.ts';
import { cutLabel } from '../text/label.ts';
import { safeText } from '../text/safe.ts';
import { addSpent } from './transcript.ts';
import type { Spent } from './ask.ts';
import type { PassScope } from './scope.ts';

const SUMMARY_CHARACTERS = 120;
const TITLE_CHARACTERS = 60;

/**
 * Ends the pass with what it has to say. In a task without a goal the first answer gives the title (T8), and if nothing of
 * it waits or runs the task ends with it (T9).
 */
export async function endWithAnswer(unit: Unit, scope: PassScope, text: string): Promise<void> {
  const answer = safeText(text);
  const { sessionId, passId } = scope;
  await unit.db.pass.update({ where: { id: passId }, data: { answer } });
  const session = await unit.db.session.findUniqueOrThrow({ where: { id: sessionId } });
  const line = firstLine(answer);
  if (session.goal === null && session.title === null && line !== '') {
    await setTitle(unit, sessionId, cutLabel(line, TITLE_CHARACTERS));
  }
  await endPass(unit, { passId, state: 'done' });
  if (session.goal === null && session.endedAt === null && !(await goesOn(unit, scope))) {
    await completeTask(unit, {
      sessionId,
      outcome: 'success',
      summary: cutLabel(line === '' ? answer : line, SUMMARY_CHARACTERS),
      by: 'agent',
    });
  }
}

/** Ends the pass after a question or the end of the task, with the words that came along. */
export async function endQuietly(unit: Unit, scope: PassScope, text: string): Promise<void> {
  const answer = safeText(text).trim();
  if (answer !== '') await unit.db.pass.update({ where: { id: scope.passId }, data: { answer } });
  await endPass(unit, { passId: scope.passId, state: 'done' });
}

/**
 * Ends a pass that an operator stopped. What it had started goes on to its end but wakes nobody: the operator wants it
 * quiet. What waits for a decision still does.
 */
export async function endStopped(unit: Unit, scope: PassScope, spent: Spent): Promise<void> {
  await addSpent(unit, scope, spent);
  await unit.db.execution.updateMany({
    where: {
      passId: scope.passId,
      continuation: { in: ['awaited', 'due'] },
      status: { in: ['approved', 'queued', 'running'] },
    },
    data: { continuation: 'suppressed' },
  });
  await endPass(unit, { passId: scope.passId, state: 'cancelled' });
}

/** Ends a pass that could not go on, with a card that says why and offers to try again (C7, J5). */
export async function endFailed(
  unit: Unit,
  scope: PassScope,
  error: NomosError,
  spent: Spent,
): Promise<void> {
  const { sessionId, passId } = scope;
  const { code, message, hint, fault } = error;
  await addSpent(unit, scope, spent);
  await endPass(unit, { passId, state: 'failed', error: { code, message } });
  unit.emit({
    type: 'error.raised',
    sessionId,
    refId: passId,
    data: { code, message, hint: hint ?? null, fault, retry: true },
  });
}

/** Whether anything of the task is still to come: a decision, a result, an answer, or a message that nobody has read. */
async function goesOn(unit: Unit, { sessionId }: PassScope): Promise<boolean> {
  const [execution, approval, question, pass] = await Promise.all([
    unit.db.execution.findFirst({
      where: {
        sessionId,
        status: { in: ['requested', 'pending_approval', 'approved', 'queued', 'running'] },
      },
      select: { id: true },
    }),
    unit.db.approval.findFirst({ where: { sessionId, status: 'pending' }, select: { id: true } }),
    unit.db.question.findFirst({ where: { sessionId, status: 'open' }, select: { id: true } }),
    unit.db.pass.findFirst({ where: { sessionId, state: 'queued' }, select: { id: true } }),
  ]);
  return execution !== null || approval !== null || question !== null || pass !== null;
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
