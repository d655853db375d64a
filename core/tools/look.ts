import type { Execution } from '../db/rows.ts';
import { NomosError } from '../errors.ts';
import { awaitExecution } from '../executions/await.ts';
import { requestCancel } from '../executions/cancel.ts';
import { requestExecution } from '../executions/request.ts';
import { isFinal } from '../executions/states.ts';
import { faultPoint } from '../faults.ts';
import { cutLabel } from '../text/label.ts';
import type { ChangeContext } from './tool.ts';

/** A read that has ended by itself, with its exit code. */
export type EndedRead = Execution & { exitCode: number };

/**
 * Makes a read that goes before what a call is about: a command of its own on the same target, which must only read and so runs
 * at once. `what` names it at the head of its purpose and in errors: `Preview`.
 *
 * Throws `<what>_not_read_only` for one that would wait for a decision itself, and `<what>_failed` when it did not come to an
 * end of its own: then the change is not asked for either.
 */
export async function look(
  context: ChangeContext,
  read: { what: 'Preview' | 'Check'; target: string; command: string; purpose: string },
): Promise<EndedRead> {
  const { sessionId, turnId, passId } = context;
  const code = read.what.toLowerCase();
  const id = await context.write(async (unit) => {
    const outcome = await requestExecution(unit, {
      sessionId,
      turnId,
      passId,
      // Not the call's own execution: a call that is taken up again looks for the change.
      toolCallId: null,
      target: read.target,
      command: read.command,
      purpose: `${read.what}: ${cutLabel(read.purpose, 250)}`,
      // The call uses what it says. One whose pass died is made again, and the old one concerns nobody.
      silent: true,
    });
    if (outcome.kind === 'queued' && outcome.risk === 'read_only') return outcome.executionId;
    // Thrown here, so that nothing of the request stays.
    throw new NomosError(
      `${code}_not_read_only`,
      'model',
      outcome.kind !== 'twin' && outcome.risk !== 'read_only'
        ? `The ${code} does not only read: it is ${outcome.risk} (${outcome.reasons.join('; ')}). Nothing was run or asked for.`
        : `The ${code} would have to wait for a decision itself, so it cannot go before one. Nothing was run or asked for.`,
      {
        hint:
          read.what === 'Preview'
            ? 'Name a dry run that changes nothing, or call run without preview.'
            : 'Tell the operator: without looking at the host first it cannot be proposed.',
      },
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
      `${code}_failed`,
      'target',
      `The ${code} ${execution.shortId} on ${execution.targetSlug} did not come to its end (${execution.error ?? execution.status}), so the change was not asked for.`,
      { hint: 'Find out why with reads, then call again.' },
    );
  }
  return { ...execution, exitCode };
}
