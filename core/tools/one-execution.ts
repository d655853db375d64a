import { awaitExecution, type Awaited } from '../executions/await.ts';
import { requestExecution, type ExecutionRequest } from '../executions/request.ts';
import { isFinal } from '../executions/states.ts';
import { faultPoint } from '../faults.ts';
import type { Unit } from '../db/database.ts';
import { NomosError } from '../errors.ts';
import { asId, type ExecutionId, type PassId } from '../ids.ts';
import { executionResult, toldByNote } from './execution-result.ts';
import type { ChangeContext, ToolOutcome } from './tool.ts';

/** What one call wants to run on one target. */
export type Wanted = Omit<ExecutionRequest, 'sessionId' | 'turnId' | 'passId' | 'toolCallId'>;

/** What this very call had asked for before its process died: a pass that is taken up must not ask twice. */
export async function alreadyRequested({
  database,
  toolCallId,
}: ChangeContext): Promise<ExecutionId | null> {
  const call = await database.read.toolCall.findUniqueOrThrow({
    where: { id: toolCallId },
    select: { executionId: true },
  });
  return call.executionId === null ? null : asId<ExecutionId>(call.executionId);
}

/** Under the task's lock: once an operator has stopped the pass, it asks for nothing more (T5). Throws `pass_stopped`. */
export async function refuseIfStopped(unit: Unit, passId: PassId): Promise<void> {
  const pass = await unit.db.pass.findUniqueOrThrow({
    where: { id: passId },
    select: { stopRequestedAt: true },
  });
  if (pass.stopRequestedAt === null) return;
  throw new NomosError(
    'pass_stopped',
    'operator',
    'This call was not made: the operator stopped this pass.',
  );
}

/** Asks for a command in the name of this call. `wanted` is made inside the transaction that stores it. */
export async function requestOne(
  context: ChangeContext,
  wanted: (unit: Unit) => Wanted | Promise<Wanted>,
): Promise<ExecutionId> {
  const { sessionId, turnId, passId, toolCallId } = context;
  return context.write(async (unit) => {
    await refuseIfStopped(unit, passId);
    const { executionId } = await requestExecution(unit, {
      ...{ sessionId, turnId, passId, toolCallId },
      ...(await wanted(unit)),
    });
    await unit.db.toolCall.update({ where: { id: toolCallId }, data: { executionId } });
    await faultPoint('agent.before_execution_requested');
    return executionId;
  });
}

/** Waits for the end of what was asked for, as long as a call may (X2). */
export async function waitForEnd(context: ChangeContext, id: ExecutionId): Promise<Awaited> {
  const { signal, inlineWaitMs: timeoutMs } = context;
  return awaitExecution(context, id, { timeoutMs, signal });
}

/** What the call came to, for the model. */
export function outcomeOf({ execution, teller }: Awaited): ToolOutcome {
  const entity = execution.targetSlug;
  if (teller === 'note') return { ok: true, value: toldByNote(execution), entity };
  const ok = !isFinal(execution.status) || execution.status === 'completed';
  return { ok, value: executionResult(execution), entity };
}
