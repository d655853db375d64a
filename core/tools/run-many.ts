import type { Execution } from '../db/rows.ts';
import { requestBatch, type BatchRequest } from '../executions/batch/request.ts';
import { awaitBatch, batchCounts, batchTable } from '../executions/batch/results.ts';
import type { Twin } from '../executions/judge.ts';
import { faultPoint } from '../faults.ts';
import { NomosError } from '../errors.ts';
import { refuseIfStopped } from './one-execution.ts';
import type { ChangeContext, ToolOutcome } from './tool.ts';

/** What a call of `run` on several targets asks for. */
export type ManyRequest = Pick<
  BatchRequest,
  | 'targets'
  | 'command'
  | 'purpose'
  | 'declaredRisk'
  | 'timeoutMs'
  | 'canary'
  | 'previews'
  | 'scripts'
>;

/** Runs one command on several targets and gives one table back (X13). Taken up after a crash it finds what it had asked for. */
export async function runMany(
  context: ChangeContext,
  ask: () => ManyRequest | Promise<ManyRequest>,
): Promise<ToolOutcome> {
  const found = await context.database.read.execution.findFirst({
    where: { toolCallId: context.toolCallId, batchId: { not: null } },
    select: { batchId: true },
  });
  const made =
    found?.batchId == null
      ? await request(context, await ask())
      : { batchId: found.batchId, twins: [] };
  const { signal, inlineWaitMs: timeoutMs } = context;
  const { executions, told } = await awaitBatch(context, made.batchId, { timeoutMs, signal });
  const waiting = made.twins.map(({ shortId, targetSlug }) => ({
    execution_id: shortId,
    target: targetSlug,
  }));
  const more = waiting.length === 0 ? {} : { already_waiting: waiting };
  if (told === null) return { ok: true, value: { ...standing(executions), ...more } };
  if (told.length === 0) {
    return {
      ok: true,
      value: {
        note: 'All have come to their end meanwhile. A note in this conversation has the results: go by that.',
        ...more,
      },
    };
  }
  return {
    ok: told.every(({ status }) => status === 'completed'),
    value: {
      summary: `${batchCounts(told)}.`,
      results: batchTable(told),
      ...more,
      note: 'Each target is told for itself. Diagnose what did not complete before you go on, and repeat only there.',
    },
  };
}

async function request(
  context: ChangeContext,
  asked: ManyRequest,
): Promise<{ batchId: string; twins: Twin[] }> {
  const { sessionId, turnId, passId, toolCallId } = context;
  return context.write(async (unit) => {
    await refuseIfStopped(unit, passId);
    const made = await requestBatch(unit, { sessionId, turnId, passId, toolCallId, ...asked });
    const [first] = made.executions;
    if (first === undefined) {
      throw new NomosError(
        'already_waiting',
        'model',
        'This very command waits for the operator on each of these targets already.',
        { hint: 'End your answer and say so. The decision wakes you.' },
      );
    }
    await unit.db.toolCall.update({ where: { id: toolCallId }, data: { executionId: first } });
    await faultPoint('agent.before_execution_requested');
    return made;
  });
}

/** How a batch stands that has not ended. Ends are told when all of it has, so none is told twice. */
function standing(executions: readonly Execution[]): Record<string, unknown> {
  const [first] = executions;
  const open = executions.filter(({ endedAt }) => endedAt === null);
  const note = open.some(({ status }) => status === 'pending_approval')
    ? `Waiting for the operator${open.some(({ risk }) => risk === 'destructive') ? ' to type "I confirm", as for everything destructive' : "'s approval"}, one for all ${executions.length} targets. Do not call run again for this; end your answer now and say what you proposed. The decision wakes you.`
    : `${open.length} of ${executions.length} have not ended. Do not start them again and do not poll: you will be woken with one table when all have.`;
  return {
    targets: executions.map(({ targetSlug, shortId }) => ({
      execution_id: shortId,
      target: targetSlug,
    })),
    risk: first?.risk,
    reasons: first?.reasons,
    note,
  };
}
