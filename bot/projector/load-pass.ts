import { z } from 'zod';
import type { Reader } from '../../core/db/database.ts';
import type { Pass } from '../../core/db/rows.ts';
import type { CallState, ProgressState } from '../cards/state.ts';

const argumentsShape = z.record(z.string(), z.unknown()).catch({});

/** A pass with its calls, as its progress message shows it. */
export async function progressState(db: Reader, pass: Pass): Promise<ProgressState> {
  return {
    state: pass.state,
    calls: await callStates(db, { passId: pass.id }),
    startedAt: pass.startedAt,
    endedAt: pass.endedAt,
    stopRequestedBy: pass.stopRequestedBy,
  };
}

/** Tool calls of a pass or of a task, in order. */
export async function callStates(
  db: Reader,
  where: { passId: string } | { sessionId: string },
): Promise<CallState[]> {
  const calls = await db.toolCall.findMany({
    where,
    orderBy: { seq: 'asc' },
    omit: { result: true },
  });
  const lookedAt = calls.map((call) => call.executionId).filter((id) => id !== null);
  const executions =
    lookedAt.length === 0
      ? []
      : await db.execution.findMany({
          where: { id: { in: lookedAt } },
          select: { id: true, shortId: true, purpose: true, status: true, targetSlug: true },
        });
  const byId = new Map(executions.map((execution) => [execution.id, execution]));
  return calls.map((call) => {
    const execution = call.executionId === null ? undefined : byId.get(call.executionId);
    return {
      name: call.name,
      arguments: argumentsShape.parse(call.arguments),
      target: call.entitySlug ?? execution?.targetSlug ?? null,
      state: call.state,
      success: call.success,
      durationMs: call.durationMs,
      startedAt: call.startedAt,
      execution: execution ?? null,
    };
  });
}
