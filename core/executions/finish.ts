import type { Database, Unit } from '../db/database.ts';
import type { Execution, ExecutionStatus } from '../db/rows.ts';
import { faultPoint } from '../faults.ts';
import type { ExecutionId, SessionId, TurnId } from '../ids.ts';
import { countRun } from '../knowledge/patterns.ts';
import { addNote } from '../tasks/messages.ts';
import { reopenAfter, type AfterGrant } from '../policy/reopen.ts';
import { lockSession } from '../tasks/lock.ts';
import { endIfAnswered } from '../tasks/answered.ts';
import { refreshStatus } from '../tasks/status.ts';
import { lastLines } from '../text/clip.ts';
import { safeText } from '../text/safe.ts';
import { withoutFirstWord, withoutLastWord } from '../text/words.ts';
import { terminalText, withoutEscapes } from '../text/terminal.ts';
import type { Captured, RunEnd } from './ports.ts';
import { batchNote } from './batch/results.ts';
import { registerMade } from './registration.ts';
import { endNote, GRANT_WORDS } from './results.ts';
import type { SshError } from './ssh/errors.ts';
import { isFinal, lockExecution, transition, type ExecutionChange } from './states.ts';

/** What a card shows of an output (C11). */
const TAIL_LINES = 12;
const TAIL_BYTES = 1024;

/** The ends that say how well a command does what it does (K11). */
const RAN: ReadonlySet<RunEnd['kind']> = new Set(['exited', 'signalled', 'timed_out']);

/** Hides secrets in a text (X9). */
export type Mask = (text: string) => string;

/**
 * Hides the secrets in an output. One that is divided by escape sequences (the colours of a search) comes to light where those are
 * taken out: where there is such a one, the output is kept without them.
 */
export function maskOutput(text: string, mask: Mask): string {
  const masked = mask(text);
  const plain = withoutEscapes(masked);
  const maskedPlain = mask(plain);
  return maskedPlain === plain ? masked : maskedPlain;
}

/** The last lines of an output, fit for a card. */
export function outputTail(text: string): string {
  return lastLines(terminalText(text), TAIL_LINES, TAIL_BYTES).text;
}

/**
 * Stores how a run ended, once, and only by the worker that has the lease. In the same transaction, when nobody waits for the result inside a pass, the agent is woken with a note (J1). Returns whether
 * this call ended it.
 */
export async function finishExecution(
  database: Database,
  args: { id: ExecutionId; owner: string; end: RunEnd; mask: Mask },
): Promise<boolean> {
  const row = await database.read.execution.findUniqueOrThrow({
    where: { id: args.id },
    select: { sessionId: true },
  });
  const { status, change } = outcome(args.end, args.mask);
  await faultPoint('execution.before_finish');
  const ended = await database.write(async (unit) => {
    if (row.sessionId !== null) await lockSession(unit, row.sessionId as SessionId);
    const execution = await lockExecution(unit, args.id);
    if (execution === null) return false;
    const moved = await transition(
      unit,
      execution,
      'running',
      status,
      { actor: 'system', leaseOwner: args.owner, data: { end: args.end.kind } },
      change,
    );
    if (!moved) return false;
    if (status === 'completed') await registerMade(unit, execution);
    if (RAN.has(args.end.kind)) {
      const { command, entityId } = execution;
      await countRun(unit, { command, entityId, succeeded: status === 'completed' });
    }
    await afterEnd(unit, args.id);
    return true;
  });
  await faultPoint('execution.finished');
  return ended;
}

/** What follows an end: the grant, the wake-up, the task's status. The caller holds the task's lock. */
async function afterEnd(unit: Unit, id: ExecutionId): Promise<void> {
  const execution = await unit.db.execution.findUniqueOrThrow({ where: { id } });
  if (execution.sessionId === null || execution.turnId === null) return;
  const sessionId = execution.sessionId as SessionId;
  const session = await unit.db.session.findUniqueOrThrow({ where: { id: sessionId } });
  const grant =
    session.endedAt === null && execution.continuation !== 'suppressed'
      ? await reopenAfter(unit, session, execution)
      : 'unchanged';
  if (grant === 'ran_out') await tellRanOut(unit, execution);
  if (execution.continuation === 'due') await wakeForEnd(unit, execution, grant);
  if (!(await isRead(unit, execution))) await endIfAnswered(unit, sessionId);
  await unit.db.session.update({ where: { id: sessionId }, data: { lastActivityAt: new Date() } });
  await refreshStatus(unit, sessionId);
}

/** Whether a call or a pass reads of an end; that of what an operator has stopped may wake nobody. */
async function isRead(unit: Unit, { continuation, turnId }: Execution): Promise<boolean> {
  if (continuation === 'awaited') return true;
  if (continuation === 'suppressed') return false;
  const woken = await unit.db.pass.findFirst({
    where: { turnId: turnId ?? '', state: { in: ['queued', 'running'] } },
    select: { id: true },
  });
  return woken !== null;
}

/** The room is told, once for what runs out together, why the task will ask again and what to do (J3). */
async function tellRanOut(unit: Unit, execution: Execution): Promise<void> {
  const told = await unit.db.$queryRaw<Array<{ told: boolean }>>`
    SELECT EXISTS (SELECT FROM events WHERE session_id = ${execution.sessionId}::uuid AND type = 'error.raised'
      AND data->>'code' = 'grant_ran_out' AND at > ${execution.startedAt}) AS told`;
  if (told[0]?.told === true) return;
  unit.emit({
    type: 'error.raised',
    sessionId: execution.sessionId,
    refId: execution.passId,
    data: {
      code: 'grant_ran_out',
      fault: 'operator',
      message: `The permission for this task ran out while "${execution.purpose}" ran on ${execution.targetSlug}.`,
      hint: 'Its result is looked at now. The next change waits for you again: tap ✅ on its card, or reply "go ahead".',
      retry: false,
    },
  });
}

/**
 * Wakes the agent for an ended execution, exactly once: the mark and the note are one transaction. Results that end
 * together meet in one queued pass (J2). The caller holds the task's lock.
 */
export async function wakeForEnd(
  unit: Unit,
  execution: Execution,
  grant: AfterGrant = 'unchanged',
): Promise<boolean> {
  if (execution.batchId !== null) return wakeForBatch(unit, execution, execution.batchId, grant);
  const { count } = await unit.db.execution.updateMany({
    where: { id: execution.id, continuation: { in: ['due', 'awaited'] } },
    data: { continuation: 'woken', continuedAt: new Date() },
  });
  if (count === 0 || execution.sessionId === null || execution.turnId === null) return false;
  await addNote(unit, {
    sessionId: execution.sessionId as SessionId,
    turnId: execution.turnId as TurnId,
    text: endNote(execution, grant),
    wake: 'continuation',
    of: execution.passId,
  });
  return true;
}

/**
 * Tells what ran of batches of which the rest has now ended without running, if that was the last of them (X13): its results would
 * otherwise come only after the agent has gone on, or never (R7). The caller holds the task's lock.
 */
export async function tellRest(unit: Unit, ended: readonly Execution[]): Promise<void> {
  for (const [batchId, some] of Map.groupBy(ended, (execution) => execution.batchId)) {
    const [one] = some;
    if (batchId !== null && one !== undefined) await wakeForBatch(unit, one, batchId, 'unchanged');
  }
}

/** The executions of one call are told together, in one table, when the last of them has ended (X13). */
async function wakeForBatch(
  unit: Unit,
  execution: Execution,
  batchId: string,
  grant: AfterGrant,
): Promise<boolean> {
  const all = await unit.db.execution.findMany({
    where: { batchId },
    orderBy: { batchIndex: 'asc' },
  });
  if (!all.every(({ status }) => isFinal(status))) return false;
  const untold = all.filter(
    ({ continuation }) => continuation === 'due' || continuation === 'awaited',
  );
  const { count } = await unit.db.execution.updateMany({
    where: { batchId, continuation: { in: ['due', 'awaited'] } },
    data: { continuation: 'woken', continuedAt: new Date() },
  });
  if (count === 0 || execution.sessionId === null || execution.turnId === null) return false;
  await addNote(unit, {
    sessionId: execution.sessionId as SessionId,
    turnId: execution.turnId as TurnId,
    text: batchNote(untold, GRANT_WORDS[grant]),
    wake: 'continuation',
    of: execution.passId,
  });
  return true;
}

function outcome(end: RunEnd, mask: Mask): { status: ExecutionStatus; change: ExecutionChange } {
  if (end.kind === 'not_started') {
    return { status: 'failed', change: sshFailure(end.error, mask) };
  }
  const output = outputChange(end.stdout, end.stderr, mask);
  switch (end.kind) {
    case 'exited':
      return {
        status: end.exitCode === 0 ? 'completed' : 'failed',
        change: { ...output, exitCode: end.exitCode, signal: end.signal ?? null },
      };
    case 'signalled':
      return { status: 'failed', change: { ...output, signal: safeText(end.signal) } };
    case 'timed_out':
      return {
        status: 'failed',
        change: {
          ...output,
          errorCode: 'timed_out',
          error: `It ran into its time limit and was ended${end.groupGone ? '' : ', but some of its processes may still run'}.`,
        },
      };
    case 'cancelled':
      return {
        status: 'cancelled',
        change: {
          ...output,
          errorCode: 'cancelled',
          error: end.started
            ? `It was cancelled while it ran${end.groupGone ? '' : ', but some of its processes may still run'}.`
            : 'It was cancelled before it started.',
        },
      };
    case 'connection_lost':
      // Only a read ends like this: a change is attached to again until its end is known.
      return {
        status: 'failed',
        change: { ...output, ...sshFailure(end.error, mask) },
      };
    case 'unknown':
      return {
        status: 'unknown',
        change: {
          ...output,
          errorCode: 'outcome_unknown',
          error: storedWords(`Outcome unknown: check before repeating. ${end.reason}`, mask),
        },
      };
  }
}

/** What went wrong on the way to the target, and what to do about it. */
function sshFailure(error: SshError, mask: Mask): ExecutionChange {
  const words = error.hint === undefined ? error.message : `${error.message} ${error.hint}`;
  return { errorCode: error.code, error: storedWords(words, mask) };
}

/** Words that may hold what the target said, any bytes at all, as they can be kept and shown (X4, X9). */
function storedWords(words: string, mask: Mask): string {
  return mask(safeText(words));
}

function outputChange(stdout: Captured, stderr: Captured, mask: Mask): ExecutionChange {
  const out = maskOutput(storable(stdout), mask);
  const err = maskOutput(storable(stderr), mask);
  return {
    stdout: out,
    stderr: err,
    stdoutBytes: BigInt(stdout.totalBytes),
    stderrBytes: BigInt(stderr.totalBytes),
    tail: outputTail(
      err === '' ? out : out === '' ? err : `${out}${out.endsWith('\n') ? '' : '\n'}${err}`,
    ),
  };
}

/** A word at the gap of an output is looked for so far; a longer one is cut there, and was no secret that rules know. */
const LONGEST_CUT_WORD = 64 * 1024;

/**
 * The text of an output, with a line where the middle is missing. What the gap divides is left out on both sides: half a
 * secret is none that could be recognised (X9).
 */
export function storable(captured: Captured): string {
  const { bytes, gapAt, droppedBytes } = captured;
  if (gapAt === undefined) return safeText(bytes);
  const head = withoutLastWord(safeText(bytes.subarray(0, gapAt)), LONGEST_CUT_WORD);
  const tail = withoutFirstWord(safeText(bytes.subarray(gapAt)), LONGEST_CUT_WORD);
  return `${head}\n… ${droppedBytes} bytes left out …\n${tail}`;
}
