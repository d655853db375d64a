import { readPreview } from '../../core/executions/preview.ts';
import type { SessionId, TurnId } from '../../core/ids.ts';
import { batchFile, previewsNeedFile } from '../cards/batch.ts';
import { showsWhole } from '../cards/command.ts';
import { outputIsLong } from '../cards/output.ts';
import { MAX_FILE_BYTES, PRIORITY, uploadFile } from '../outbox/enqueue.ts';
import type { DrawContext } from './context.ts';
import { cardKey } from './keys.ts';
import { batchState, type ExecutionCardRow } from './load-execution.ts';

/** A card's place: its task, its thread, its key. */
export interface Place {
  readonly to: { session: SessionId };
  readonly thread?: { turnId: TurnId };
  readonly key: string;
}

/** What cannot be shown whole goes before its card, so that it is there when the decision is asked for (A16). */
export async function attachCommand(
  context: DrawContext,
  rows: readonly ExecutionCardRow[],
  place: Place,
): Promise<void> {
  const { unit, view, mask } = context;
  const [first] = rows;
  if (first === undefined) return;
  const text =
    first.batchId === null
      ? showsWhole(first.command)
        ? undefined
        : mask(first.command)
      : batchFile(batchState(rows, context), view);
  if (text === undefined) return;
  await uploadFile(unit, {
    to: place.to,
    name: `command-${first.shortId}.txt`,
    mimetype: 'text/plain',
    bytes: Buffer.from(text).subarray(0, MAX_FILE_BYTES),
    card: {
      key: cardKey.commandFile(place.key),
      kind: 'file',
      refId: first.id,
      sessionId: place.to.session,
      ...(place.thread === undefined ? {} : place.thread),
    },
    ...(place.thread === undefined ? {} : { thread: place.thread }),
    priority: PRIORITY.person,
  });
}

/** What dry runs said and the card shows the end of only goes before it, whole. */
export async function attachPreview(
  context: DrawContext,
  rows: readonly ExecutionCardRow[],
  place: Place,
): Promise<void> {
  const { unit, mask, view } = context;
  const [first] = rows;
  if (first === undefined) return;
  const previews = rows.flatMap(({ preview, targetSlug }) => {
    const read = readPreview(preview);
    return read === null ? [] : [{ ...read, targetSlug }];
  });
  const needed =
    first.batchId === null
      ? previews[0]?.longer === true
      : previewsNeedFile(batchState(rows, context), view);
  if (!needed) return;
  const dryRuns = await unit.db.execution.findMany({
    where: { id: { in: previews.map(({ executionId }) => executionId) } },
    select: { id: true, stdout: true, stderr: true },
  });
  const outputs = new Map(dryRuns.map((run) => [run.id, bothOutputs(run)]));
  const text = previews
    .flatMap(({ executionId, targetSlug }) => {
      const output = outputs.get(executionId);
      if (output === undefined) return [];
      return first.batchId === null ? [output] : [`# ${targetSlug}\n${output}`];
    })
    .join('\n');
  if (text === '') return;
  await uploadFile(unit, {
    to: place.to,
    name: `preview-${first.shortId}.txt`,
    mimetype: 'text/plain',
    bytes: Buffer.from(mask(text)).subarray(0, MAX_FILE_BYTES),
    card: {
      key: cardKey.previewFile(place.key),
      kind: 'file',
      refId: first.id,
      sessionId: place.to.session,
      ...(place.thread === undefined ? {} : place.thread),
    },
    ...(place.thread === undefined ? {} : { thread: place.thread }),
    priority: PRIORITY.person,
  });
}

function bothOutputs({ stdout, stderr }: { stdout: string; stderr: string }): string {
  return stderr === '' ? stdout : `${stdout}\n--- stderr ---\n${stderr}`;
}

/** A finished execution's whole output, where a card cannot show it. */
interface WholeOutput {
  readonly id: string;
  readonly shortId: string;
  readonly stdout: string;
  readonly stderr: string;
}

/** The finished executions whose outputs are longer than a card shows. */
export async function attachedOutputs(
  { unit }: DrawContext,
  rows: readonly ExecutionCardRow[],
  over: boolean,
): Promise<WholeOutput[]> {
  if (!over) return [];
  const whole = await unit.db.execution.findMany({
    where: { id: { in: rows.map(({ id }) => id) } },
    select: { id: true, shortId: true, stdout: true, stderr: true },
    orderBy: { createdAt: 'asc' },
  });
  return whole.filter(({ stdout, stderr }) => outputIsLong(stdout, stderr));
}

/** Attaches whole outputs in reply to their card (C11). */
export async function attachOutputs(
  { unit }: DrawContext,
  outputs: readonly WholeOutput[],
  place: Place,
): Promise<void> {
  for (const { id, shortId, stdout, stderr } of outputs) {
    const text = bothOutputs({ stdout, stderr });
    await uploadFile(unit, {
      to: place.to,
      name: `output-${shortId}.txt`,
      mimetype: 'text/plain',
      bytes: Buffer.from(text).subarray(0, MAX_FILE_BYTES),
      card: {
        key: cardKey.outputFile(id),
        kind: 'file',
        refId: id,
        sessionId: place.to.session,
        ...(place.thread === undefined ? {} : place.thread),
      },
      replyTo: { card: place.key },
      ...(place.thread === undefined ? {} : { thread: place.thread }),
    });
  }
}
