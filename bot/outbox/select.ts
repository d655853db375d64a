/** A pending row, as far as it matters for whose turn it is. */
export interface WaitingRow {
  id: bigint;
  lane: string;
  kind: string;
  priority: number;
  cardKey: string | null;
  /** Milliseconds until it may be tried, 0 or less for now: its wait after a failure. */
  waitMs: number;
}

/** What to do in a lane: send a row, or look again after a while. */
export type Choice<R> = { send: R } | { waitMs: number };

/**
 * The row whose turn it is in a lane. Rows go in the order of their ids, except that an edit may stand back: while its
 * card's pace or its own retry holds it, or where a more urgent row follows that is not about the same card. Any other
 * row is a barrier that nothing behind it may pass, so new messages keep their order, and no edit comes before its card.
 *
 * @param rows one lane's pending rows, by id
 * @param paceMs milliseconds until an edit of a card may go, 0 or less for now
 */
export function chooseInLane<R extends WaitingRow>(
  rows: readonly R[],
  paceMs: (row: R) => number,
): Choice<R> | undefined {
  let best: R | undefined;
  let waitMs = Infinity;
  const heldCards = new Set<string | null>();
  for (const row of rows) {
    const wait = Math.max(row.waitMs, row.kind === 'edit' ? paceMs(row) : 0);
    const afterItsCard = row.cardKey !== null && heldCards.has(row.cardKey);
    if (wait <= 0 && !afterItsCard) {
      if (best === undefined || row.priority < best.priority) best = row;
    } else if (wait > 0) {
      waitMs = Math.min(waitMs, wait);
    }
    if (row.kind !== 'edit') break;
    heldCards.add(row.cardKey);
  }
  if (best !== undefined) return { send: best };
  return waitMs === Infinity ? undefined : { waitMs };
}
