import { NomosError } from '../errors.ts';
import { awaitExecution } from '../executions/await.ts';
import { BATCH_WIDTH } from '../executions/batch/gate.ts';
import { requestCancel } from '../executions/cancel.ts';
import { previewFrom, type Preview } from '../executions/preview.ts';
import { requestExecution } from '../executions/request.ts';
import { isFinal } from '../executions/states.ts';
import { faultPoint } from '../faults.ts';
import { cutLabel } from '../text/label.ts';
import type { ChangeContext } from './tool.ts';

/** The dry runs of one change on several targets, as many at a time as a batch runs (X13). Throws for the first that `makePreview` throws for. */
export async function makePreviews(
  context: ChangeContext,
  targets: readonly string[],
  dryRun: { command: string; purpose: string },
): Promise<ReadonlyMap<string, Preview>> {
  const found = new Map<string, Preview>();
  for (let at = 0; at < targets.length; at += BATCH_WIDTH) {
    const few = targets.slice(at, at + BATCH_WIDTH);
    await Promise.all(
      few.map(async (target) => {
        found.set(target, await makePreview(context, { target, ...dryRun }));
      }),
    );
  }
  return found;
}

/**
 * Makes the dry run that goes before a change (A19): a command of its own on the same target, which must only read and so runs at
 * once. Throws `preview_not_read_only` for one that would wait for a decision itself, and `preview_failed` when it did not
 * come to an end of its own: then the change is not asked for either.
 */
export async function makePreview(
  context: ChangeContext,
  dryRun: { target: string; command: string; purpose: string },
): Promise<Preview> {
  const { sessionId, turnId, passId } = context;
  const id = await context.write(async (unit) => {
    const outcome = await requestExecution(unit, {
      sessionId,
      turnId,
      passId,
      // Not the call's own execution: a call that is taken up again looks for the change.
      toolCallId: null,
      target: dryRun.target,
      command: dryRun.command,
      purpose: `Preview: ${cutLabel(dryRun.purpose, 250)}`,
    });
    if (outcome.kind === 'queued' && outcome.risk === 'read_only') return outcome.executionId;
    // Thrown here, so that nothing of the request stays.
    throw new NomosError(
      'preview_not_read_only',
      'model',
      outcome.kind !== 'twin' && outcome.risk !== 'read_only'
        ? `The preview does not only read: it is ${outcome.risk} (${outcome.reasons.join('; ')}). Nothing was run or asked for.`
        : 'The preview would have to wait for a decision itself, so it cannot go before one. Nothing was run or asked for.',
      { hint: 'Name a dry run that changes nothing, or call run without preview.' },
    );
  });
  await faultPoint('agent.preview_requested');
  const { signal, inlineWaitMs: timeoutMs } = context;
  const { execution } = await awaitExecution(context, id, { timeoutMs, signal });
  if (!isFinal(execution.status)) {
    await context.write((unit) => requestCancel(unit, { executionId: id, by: 'system' }));
  }
  const { exitCode } = execution;
  const byItself = execution.status === 'completed' || execution.status === 'failed';
  if (exitCode === null || !byItself || execution.errorCode !== null) {
    throw new NomosError(
      'preview_failed',
      'target',
      `The preview ${execution.shortId} on ${execution.targetSlug} did not come to its end (${execution.error ?? execution.status}), so the change was not asked for.`,
      { hint: 'Find out why with reads, then call run again.' },
    );
  }
  return previewFrom(execution, exitCode);
}
