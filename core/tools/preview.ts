import { BATCH_WIDTH } from '../executions/batch/gate.ts';
import { previewFrom, type Preview } from '../executions/preview.ts';
import { look } from './look.ts';
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

/** Makes the dry run that goes before a change (A19). Throws as `look` does. */
export async function makePreview(
  context: ChangeContext,
  dryRun: { target: string; command: string; purpose: string },
): Promise<Preview> {
  const ended = await look(context, { what: 'Preview', ...dryRun });
  return previewFrom(ended, ended.exitCode);
}
