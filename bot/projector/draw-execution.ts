import { asId, type SessionId, type TurnId } from '../../core/ids.ts';
import type { Role } from '../../core/operators.ts';
import { batchCard } from '../cards/batch.ts';
import type { Card } from '../cards/card.ts';
import { executionCard, FINAL_STATUSES } from '../cards/execution.ts';
import { PRIORITY, putCard, react } from '../outbox/enqueue.ts';
import {
  attachCommand,
  attachedOutputs,
  attachOutputs,
  attachPreview,
  type Place,
} from './attach.ts';
import { decidersToCall, type DrawContext } from './context.ts';
import { shownSession } from './draw-task.ts';
import { cardKey } from './keys.ts';
import {
  approvalOf,
  batchState,
  executionsOfCard,
  executionState,
  type ExecutionCardRow,
} from './load-execution.ts';

/** A read that is over sooner is told by the progress message alone. */
export const READ_CARD_AFTER_MS = 10_000;
/** A command that is over sooner is not worth a button to stop it. */
export const STOP_AFTER_MS = 3_000;

/** The card of an execution (C3), or of the batch that it belongs to (X13), with the files and reactions that go with it. */
export async function drawExecution(context: DrawContext, executionId: string): Promise<void> {
  const rows = await executionsOfCard(context.unit.db, executionId);
  const [first] = rows;
  if (first === undefined) return;
  const session = await shownSession(context, first.sessionId);
  if (session === undefined) return;
  const place: Place = {
    to: { session: asId<SessionId>(session.id) },
    key: cardKey.execution(first),
    ...(first.turnId === null ? {} : { thread: { turnId: asId<TurnId>(first.turnId) } }),
  };
  if (!(await hasCard(context, rows, place.key))) return;
  const waits = rows.some((row) => row.status === 'pending_approval');
  const over = rows.every((row) => FINAL_STATUSES.has(row.status));
  const attached = await attachedOutputs(context, rows, over);
  const approval = approvalOf(rows);
  const callFor =
    waits && approval !== null
      ? decidersToCall(context.operators, session.createdBy, {
          role: approval.needsRole as Role,
          people: approval.needsPeople,
        })
      : [];
  // What cannot be shown whole goes before its card, so that it is there when the decision is asked for (A16).
  await attachCommand(context, rows, place);
  await attachPreview(context, rows, place);
  await putCard(context.unit, {
    to: place.to,
    card: {
      key: place.key,
      kind: first.batchId === null ? 'execution' : 'batch',
      refId: first.batchId ?? first.id,
      sessionId: place.to.session,
      ...(place.thread === undefined ? {} : place.thread),
    },
    message: cardFor(context, rows, callFor, attached.length > 0),
    ...(place.thread === undefined ? {} : { thread: place.thread }),
    priority: waits ? PRIORITY.person : PRIORITY.state,
    closed: over,
  });
  await addReactions(context, rows, place, waits);
  await attachOutputs(context, attached, place);
}

/**
 * Whether there is a card. What changes something has one from the moment it is queued (C4). A read has one when it takes
 * long, waits for a decision, or goes wrong in another way than by its exit code: fifty quick reads are one progress message.
 */
async function hasCard(
  { unit, view }: DrawContext,
  rows: readonly ExecutionCardRow[],
  key: string,
): Promise<boolean> {
  const worth = rows.some(
    (row) =>
      row.risk !== 'read_only' ||
      row.batchId !== null ||
      row.approvalId !== null ||
      row.errorCode !== null ||
      row.status === 'unknown' ||
      (row.status === 'running' &&
        row.startedAt !== null &&
        view.now.getTime() - row.startedAt.getTime() >= READ_CARD_AFTER_MS),
  );
  return worth || (await unit.db.matrixCard.count({ where: { cardKey: key } })) > 0;
}

function cardFor(
  context: DrawContext,
  rows: readonly ExecutionCardRow[],
  callFor: Parameters<typeof batchCard>[2],
  outputAttached: boolean,
): Card {
  const [first] = rows;
  if (first === undefined) throw new RangeError('a card needs an execution');
  const { view } = context;
  if (first.batchId !== null) return batchCard(batchState(rows, context), view, callFor);
  return executionCard(executionState(first, context), view, {
    ...(callFor === undefined ? {} : { callFor }),
    outputAttached,
  });
}

async function addReactions(
  { unit, view }: DrawContext,
  rows: readonly ExecutionCardRow[],
  place: Place,
  waits: boolean,
): Promise<void> {
  const target = { card: place.key };
  if (waits) {
    // No ✅ on what is destructive: a tap does not start it (A3).
    const typed = rows.some((row) => row.approval?.needsTyped === true);
    for (const key of typed ? ['❌'] : ['✅', '❌']) {
      await react(unit, { to: place.to, target, key, priority: PRIORITY.person });
    }
    return;
  }
  const stoppable = rows.some(
    (row) =>
      row.status === 'running' &&
      row.startedAt !== null &&
      view.now.getTime() - row.startedAt.getTime() >= STOP_AFTER_MS,
  );
  if (stoppable) await react(unit, { to: place.to, target, key: '🛑' });
}
