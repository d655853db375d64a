import { z } from 'zod';
import type { Reader } from '../../core/db/database.ts';
import type { Pass, ToolCall } from '../../core/db/rows.ts';
import { isRowId } from '../../core/ids.ts';
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

const lookUpShape = z.looseObject({ execution_id: z.string() });

/** The execution that a call started, or that a look-up names: its id or its short id. */
function executionOf(call: Pick<ToolCall, 'name' | 'arguments' | 'executionId'>): string | null {
  if (call.executionId !== null || call.name !== 'get_execution_status') return call.executionId;
  const named = lookUpShape.safeParse(call.arguments).data?.execution_id.trim() ?? null;
  return named === null || isRowId(named) ? named : named.toLowerCase();
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
  const keys = new Map(calls.map((call) => [call.id, executionOf(call)]));
  const lookedAt = [...new Set([...keys.values()].filter((key) => key !== null))];
  const executions =
    lookedAt.length === 0
      ? []
      : await db.execution.findMany({
          where: {
            sessionId: { in: [...new Set(calls.map((call) => call.sessionId))] },
            OR: [{ id: { in: lookedAt.filter(isRowId) } }, { shortId: { in: lookedAt } }],
          },
          select: { id: true, shortId: true, purpose: true, status: true, targetSlug: true },
        });
  const byKey = new Map(
    executions.flatMap((execution) => [
      [execution.id, execution],
      [execution.shortId, execution],
    ]),
  );
  return calls.map((call) => {
    const execution = byKey.get(keys.get(call.id) ?? '');
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
