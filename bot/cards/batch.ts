import type { UserId } from '../../core/ids.ts';
import { affects, decision, howToDecide, openUntil } from './approval.ts';
import { cardOf, fitting, type Card } from './card.ts';
import { ATTACHED, commandBlock, SECRET_NOT_SHOWN } from './command.ts';
import { FINAL_STATUSES, stateWords } from './execution.ts';
import { batchPreviews, PREVIEWS_ATTACHED } from './preview.ts';
import { em, list, para, rich, strong, type Rich } from './rich.ts';
import { batchScripts } from './scripts.ts';
import type { BatchState, BlastState, ExecutionState } from './state.ts';
import type { View } from './view.ts';
import { count, EXECUTION_MARK, label, RISK_BADGE, RISK_MARK, slug } from './words.ts';
import { stricter, type Risk } from '../../core/policy/risk.ts';

/** How much of a batch one form of its card shows. */
interface Extent {
  readonly targets: number;
  readonly commands: number;
  readonly previews: number;
}

const EXTENTS: readonly Extent[] = [
  { targets: 30, commands: 3, previews: 3 },
  { targets: 10, commands: 1, previews: 2 },
  { targets: 4, commands: 1, previews: 1 },
];

/**
 * One card for all targets of one call (X13): what is approved is exactly its list. Undefined executions are a fault of
 * the caller: throws a RangeError for an empty batch.
 */
export function batchCard(batch: BatchState, view: View, callFor: readonly UserId[] = []): Card {
  return fitting(EXTENTS.map((extent) => () => batchForm(batch, view, callFor, extent)));
}

function batchForm(
  batch: BatchState,
  view: View,
  callFor: readonly UserId[],
  extent: Extent,
): Card {
  const [first] = batch.executions;
  if (first === undefined) throw new RangeError('a batch card needs at least one execution');
  const risk = batch.executions.reduce<Risk>(
    (worst, one) => stricter(worst, one.risk),
    'read_only',
  );
  const asked = batch.executions.filter((one) => one.status === 'pending_approval');
  const waits = asked.length > 0;
  const all = count(batch.executions.length, 'target');
  const targets =
    waits && asked.length < batch.executions.length ? `${asked.length} of ${all}` : all;
  return cardOf(
    [
      para(
        strong(
          waits
            ? rich`${RISK_MARK[risk]} ${risk === 'destructive' ? 'Confirm' : 'Approve'}? ${label(first.purpose)} · ${targets}`
            : rich`${progressMark(batch.executions)} ${label(first.purpose)} · ${doneWords(batch.executions)}`,
        ),
        batch.approval === null
          ? undefined
          : decision(
              batch.approval,
              view,
              batch.executions.some((one) => one.startedAt !== null),
            ),
      ),
      ...commands(batch.executions, extent.commands),
      waits && batch.executions.some((one) => one.masked) ? para(em(SECRET_NOT_SHOWN)) : undefined,
      list(batch.executions.slice(0, extent.targets).map((one) => targetLine(one, view))),
      batch.executions.length > extent.targets
        ? para(rich`and ${batch.executions.length - extent.targets} more targets, ${ATTACHED}`)
        : undefined,
      para(rich`${strong(RISK_BADGE[risk])} · at most five at a time`),
      waits ? list(reasons(asked)) : undefined,
      waits ? para(affects(together(asked))) : undefined,
      waits ? batchScripts(asked) : undefined,
      ...(waits ? batchPreviews(asked, extent.previews) : []),
      waits && batch.approval !== null
        ? para(openUntil(batch.approval, view), howToDecide(batch.approval))
        : undefined,
      batch.executions.every((one) => FINAL_STATUSES.has(one.status)) || waits
        ? undefined
        : para(rich`🛑 cancels what has not ended.`),
      para(rich`id ${slug(batch.shortId)}`),
    ],
    waits ? { mentions: callFor, msgtype: 'm.text' } : {},
  );
}

/**
 * The whole of a batch as a text file, where its card cannot show all of it (A16); undefined where it can.
 */
export function batchFile(batch: BatchState, view: View): string | undefined {
  const card = batchCard(batch, view);
  if (!card.body.includes(ATTACHED)) return undefined;
  return batch.executions
    .map(
      (one) =>
        `# ${one.target}${one.address === null ? '' : ` (${one.address})`}\n${one.command}\n`,
    )
    .join('\n');
}

/** Whether a batch's card cannot show all that its dry runs said, so that a file with it goes before it (A16, A19). */
export function previewsNeedFile(batch: BatchState, view: View): boolean {
  return batchCard(batch, view).body.includes(PREVIEWS_ATTACHED);
}

function targetLine(execution: ExecutionState, view: View): Rich {
  const target = rich`${EXECUTION_MARK[execution.status]} ${slug(execution.target)}`;
  if (execution.status === 'pending_approval') {
    return execution.address === null ? target : rich`${target} (${label(execution.address, 60)})`;
  }
  return rich`${target} ${stateWords(execution, view)}`;
}

function progressMark(executions: readonly ExecutionState[]): string {
  if (!executions.every((one) => FINAL_STATUSES.has(one.status))) return EXECUTION_MARK.running;
  const worst = (['unknown', 'failed', 'denied', 'revoked', 'expired', 'cancelled'] as const).find(
    (status) => executions.some((one) => one.status === status),
  );
  return EXECUTION_MARK[worst ?? 'completed'];
}

function doneWords(executions: readonly ExecutionState[]): string {
  const ended = executions.filter((one) => FINAL_STATUSES.has(one.status)).length;
  const failed = executions.filter(
    (one) => one.status === 'failed' || one.status === 'unknown',
  ).length;
  return `${ended} of ${executions.length} ended${failed > 0 ? `, ${failed} failed` : ''}`;
}

/** The command, or each target's own where they differ. */
function commands(executions: readonly ExecutionState[], most: number): Rich[] {
  const different = [...new Set(executions.map((one) => one.command))];
  const shown = different.slice(0, most).map((command) => commandBlock(command));
  const rest = different.length - shown.length;
  const note = rest > 0 ? para(rich`and ${rest} more commands, ${ATTACHED}`) : undefined;
  return note === undefined ? shown : [...shown, note];
}

function reasons(executions: readonly ExecutionState[]): string[] {
  const all = new Set(executions.flatMap((one) => one.reasons));
  return [...all].slice(0, 6).map((reason) => label(reason, 160));
}

function together(executions: readonly ExecutionState[]): BlastState {
  const depth = Math.max(0, ...executions.map((one) => one.blast.length));
  return Array.from({ length: depth }, (_, at) => {
    const levels = executions.flatMap((one) => one.blast[at] ?? []);
    const known = [...new Set(levels.flatMap((level) => level.names))];
    // Targets may share what is further down: the largest single number is what is certain.
    return { names: known, count: Math.max(known.length, ...levels.map((level) => level.count)) };
  });
}
