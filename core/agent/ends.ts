import { LONGEST_REST_MS } from '../clock-jumps.ts';
import type { Unit } from '../db/database.ts';
import type { NomosError } from '../errors.ts';
import { endIfAnswered } from '../tasks/answered.ts';
import { endPass, PAUSED_CHARACTERS } from '../tasks/passes.ts';
import { isStoppedTask, STOPPED_BY } from '../tasks/reopen.ts';
import { setTitle } from '../tasks/status.ts';
import { titleFrom } from '../tasks/title.ts';
import { cutLabel, quoted } from '../text/label.ts';
import { safeText } from '../text/safe.ts';
import { addNote } from '../tasks/messages.ts';
import { addSpent } from './transcript.ts';
import type { Spent } from './ask.ts';
import { TokenLimitReached } from './budget.ts';
import { ModelError } from './model/errors.ts';
import type { PassScope } from './scope.ts';

/** How many passes in a row a continuation may fail before the task is paused (J5). */
export const MAX_FAILED_RESUMES = 3;
const RESUME_DELAYS_MS: readonly number[] = [10_000, 30_000];
/** Passes that Nomos began by itself: nobody is looking on who would tap 🔁. */
const BY_ITSELF: ReadonlySet<string> = new Set(['continuation', 'decision', 'answer', 'nudge']);

/**
 * Ends the pass with what it has to say. In a task without a goal the first answer gives the title (T8), and if nothing of
 * it waits or runs the task ends with it (T9).
 */
export async function endWithAnswer(unit: Unit, scope: PassScope, text: string): Promise<void> {
  const answer = safeText(text);
  const { sessionId, passId } = scope;
  await unit.db.pass.update({ where: { id: passId }, data: { answer } });
  await forgetFailures(unit, scope);
  const session = await unit.db.session.findUniqueOrThrow({ where: { id: sessionId } });
  if (session.goal === null && session.title === null) {
    const request = await unit.db.message.findFirst({
      where: { sessionId, role: 'operator' },
      orderBy: { seq: 'asc' },
      select: { text: true },
    });
    const title = titleFrom(answer, request?.text);
    if (title !== undefined) await setTitle(unit, sessionId, title);
  }
  await endPass(unit, { passId, state: 'done' });
  await endIfAnswered(unit, sessionId);
}

/** Ends the pass after a question or the end of the task, with the words that came along. */
export async function endQuietly(unit: Unit, scope: PassScope, text: string): Promise<void> {
  const words = safeText(text).trim();
  const { answer: shown } = await unit.db.pass.findUniqueOrThrow({
    where: { id: scope.passId },
    select: { answer: true },
  });
  // What was shown while it was being written, before a call, may have been cut off there: it ends whole.
  const answer = words === '' && shown !== null ? await lastWords(unit, scope) : words;
  if (answer !== '') await unit.db.pass.update({ where: { id: scope.passId }, data: { answer } });
  await forgetFailures(unit, scope);
  await endPass(unit, { passId: scope.passId, state: 'done' });
}

/** What the agent said last in this pass. */
async function lastWords(unit: Unit, { passId }: PassScope): Promise<string> {
  const said = await unit.db.message.findFirst({
    where: { passId, role: 'assistant', text: { not: '' } },
    orderBy: { seq: 'desc' },
    select: { text: true },
  });
  return said?.text.trim() ?? '';
}

/**
 * Ends a pass that an operator stopped. What it had started goes on to its end but wakes nobody: the operator wants it
 * quiet. What waits for a decision still does.
 */
export async function endStopped(unit: Unit, scope: PassScope, spent: Spent): Promise<void> {
  await addSpent(unit, scope, spent);
  const { stopRequestedAt } = await unit.db.pass.findUniqueOrThrow({
    where: { id: scope.passId },
    select: { stopRequestedAt: true },
  });
  await unit.db.execution.updateMany({
    where: {
      passId: scope.passId,
      // What an operator said yes to since the stop is wanted: this pass may end late, when its worker died.
      ...(stopRequestedAt === null
        ? {}
        : { NOT: { approval: { status: 'approved', decidedAt: { gt: stopRequestedAt } } } }),
      continuation: { in: ['awaited', 'due'] },
      status: { in: ['approved', 'queued', 'running'] },
    },
    data: { continuation: 'suppressed' },
  });
  await endPass(unit, { passId: scope.passId, state: 'cancelled' });
}

/**
 * Ends a pass that could not go on (J5). One that Nomos itself had woken is followed by another, told that the last answer was
 * unusable, up to three in all; after that, or at once when somebody is there to see it or trying again cannot help, the
 * task is paused, with a card that says why and offers to try again (C7). The next message or 🔁 goes on.
 */
export async function endFailed(
  unit: Unit,
  scope: PassScope,
  error: NomosError,
  spent: Spent,
): Promise<void> {
  const { sessionId, turnId, passId } = scope;
  const { code, message, hint, fault } = error;
  await addSpent(unit, scope, spent);
  const pass = await unit.db.pass.findUniqueOrThrow({ where: { id: passId } });
  await endPass(unit, { passId, state: 'failed', error: { code, message } });
  const session = await unit.db.session.findUniqueOrThrow({ where: { id: sessionId } });
  const failures = session.failedResumes + 1;
  if (session.endedAt === null && BY_ITSELF.has(pass.cause) && failures < MAX_FAILED_RESUMES) {
    if (mayHelpToTryAgain(error)) {
      await unit.db.session.update({ where: { id: sessionId }, data: { failedResumes: failures } });
      const text = againNote(message);
      await addNote(unit, { sessionId, turnId, text, wake: 'continuation', of: passId });
      await waitBefore(unit, scope, failures, error);
      return;
    }
  }
  if (session.endedAt === null) {
    await unit.db.session.update({
      where: { id: sessionId },
      data: {
        failedResumes: failures,
        // What ran by the clock in a task that is stopped does not end the stop (T14).
        ...(isStoppedTask(session) ? {} : { pausedReason: cutLabel(message, PAUSED_CHARACTERS) }),
      },
    });
    unit.emit({
      type: 'session.changed',
      sessionId,
      refId: sessionId,
      data: { what: 'paused' },
    });
  }
  unit.emit({
    type: 'error.raised',
    sessionId,
    refId: passId,
    data: { code, message, hint: hint ?? null, fault, retry: true },
  });
}

/** Not where a key is refused, or the tokens are used up: that takes a person. */
function mayHelpToTryAgain(error: NomosError): boolean {
  if (error instanceof TokenLimitReached) return false;
  return !(error instanceof ModelError) || error.again;
}

function againNote(message: string): string {
  return `Your last answer in this task could not be used, and the pass before this one failed: ${quoted(message, 500)} What you had been told stands above. Go on from there: with a tool call, or in words that say what is true now.`;
}

/** A model in trouble gets some time before the next pass. */
async function waitBefore(
  unit: Unit,
  scope: PassScope,
  failures: number,
  error: NomosError,
): Promise<void> {
  const delays = scope.deps.resumeDelaysMs ?? RESUME_DELAYS_MS;
  const asked = error instanceof ModelError ? (error.retryAfterMs ?? 0) : 0;
  const waitMs = Math.min(
    Math.max(asked, delays[failures - 1] ?? delays.at(-1) ?? 0),
    LONGEST_REST_MS,
  );
  await unit.db.$executeRaw`
    UPDATE passes SET not_before = clock_timestamp() + ${waitMs} * interval '1 millisecond'
    WHERE turn_id = ${scope.turnId}::uuid AND state = 'queued' AND cause = 'continuation'
      -- A person is not kept waiting for that.
      AND NOT EXISTS (SELECT FROM messages m WHERE m.turn_id = ${scope.turnId}::uuid AND m.taken_in_at IS NULL AND m.role = 'operator')`;
}

/**
 * A pass that came to an end ends a row of failures, and with it the pause that they, or an earlier stop, had led to. A stop of this
 * very pass that came too late to end it still holds: what goes on by itself wakes nobody, and the task says for whom it waits (C8).
 */
async function forgetFailures(unit: Unit, { passId }: PassScope): Promise<void> {
  // Nor does the end of what ran by the clock end a stop.
  await unit.db.$executeRaw`
    UPDATE sessions s SET failed_resumes = 0,
      paused_reason = CASE WHEN p.stop_requested_at IS NOT NULL
        OR (t.cause = 'schedule' AND starts_with(s.paused_reason, ${STOPPED_BY})) THEN s.paused_reason END
    FROM passes p JOIN turns t ON t.id = p.turn_id
    WHERE p.id = ${passId}::uuid AND s.id = p.session_id
      AND (s.failed_resumes > 0 OR s.paused_reason IS NOT NULL)`;
}
