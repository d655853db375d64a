import type { Reader } from '../db/database.ts';
import type { Execution } from '../db/rows.ts';
import { NomosError } from '../errors.ts';
import { resultForModel } from '../executions/results.ts';
import { isRowId, type SessionId } from '../ids.ts';
import { formatDuration } from '../text/duration.ts';

/** An execution of this task by its short id, or by its whole id. Throws `execution_unknown` with those that there are. */
export async function resolveExecution(
  db: Reader,
  sessionId: SessionId,
  id: string,
): Promise<Execution> {
  const found = await db.execution.findFirst({
    where: { sessionId, ...(isRowId(id) ? { id } : { shortId: id.trim().toLowerCase() }) },
    orderBy: { createdAt: 'desc' },
  });
  if (found !== null) return found;
  const recent = await db.execution.findMany({
    where: { sessionId },
    orderBy: { createdAt: 'desc' },
    take: 10,
    select: { shortId: true, targetSlug: true },
  });
  throw new NomosError('execution_unknown', 'model', `This task has no execution "${id}".`, {
    fields: { id },
    hint:
      recent.length === 0
        ? 'Nothing was run in it yet.'
        : `Its latest are: ${recent.map((one) => `${one.shortId} (${one.targetSlug})`).join(', ')}.`,
  });
}

/** An execution as the model gets it: what is true of it, its output so far, and what to do now. */
export function executionResult(
  execution: Execution,
  now: Date = new Date(),
): Record<string, unknown> {
  const running = execution.status === 'running';
  const runningMs =
    running && execution.startedAt !== null ? now.getTime() - execution.startedAt.getTime() : 0;
  return {
    ...resultForModel(execution),
    ...(execution.risk === 'read_only' ? {} : { reasons: execution.reasons }),
    ...(running && execution.tail !== '' ? { output_so_far: execution.tail } : {}),
    note: noteFor(execution, runningMs),
  };
}

/** In place of a result that a note brings: each end is told once (R7). */
export function toldByNote(execution: Execution): Record<string, unknown> {
  return {
    execution_id: execution.shortId,
    target: execution.targetSlug,
    note: 'It has come to its end meanwhile. A note in this conversation has the result: go by that.',
  };
}

function noteFor(execution: Execution, runningMs: number): string {
  switch (execution.status) {
    case 'requested':
    case 'pending_approval':
      return `Waiting for the operator${execution.risk === 'destructive' ? ' to type "I confirm", as for everything destructive' : "'s approval"}. It has not run. Do not call run again for this; end your answer now and say what you proposed. The decision wakes you.`;
    case 'approved':
    case 'queued':
      return 'Allowed and about to start. Its end wakes you: do not start it again and do not poll.';
    case 'running':
      return `Still running, for ${formatDuration(runningMs)} now. Do not start it again and do not poll: you will be woken when it ends.`;
    case 'completed':
      return 'It ran to its end and succeeded.';
    case 'failed':
      return failureNote(execution);
    case 'denied':
      return 'The operator denied it. It did not run. Stop this plan, do not propose the same again, and say so.';
    case 'expired':
      return 'Nobody decided in time. It did not run. Say so.';
    case 'revoked':
      return 'It was revoked before it started. It did not run.';
    case 'cancelled':
      return execution.startedAt === null
        ? 'It was cancelled before it started. It did not run.'
        : 'It was cancelled while it ran. Check what it had done by then before you go on.';
    case 'unknown':
      return 'How it ended is not known: it may have run in whole or in part. Check on the target with reads before you repeat anything.';
  }
}

function failureNote(execution: Execution): string {
  if (execution.errorCode !== null)
    return `${execution.error ?? execution.errorCode} Nothing else was tried in its place.`;
  if (execution.signal !== null)
    return `It was ended by ${execution.signal}. Find out why before you try another way.`;
  return `It failed with exit code ${execution.exitCode ?? 'unknown'}. Diagnose with reads, then try another way.`;
}
