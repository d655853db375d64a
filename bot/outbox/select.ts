import { PRIORITY } from './insert.ts';

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

/**
 * What to do in a lane: send a row, or look again after a while. `urgency` is its priority, or that of the most urgent row
 * that waits for it.
 */
export type Choice<R> = { send: R; urgency: number } | { waitMs: number };

/**
 * What is done to a room or to events that are there: it keeps its order among its like, and messages may pass it. What is
 * set of a room and what is done to its events may pass each other.
 */
const TOUCHES: Readonly<Record<string, 'room' | 'events'>> = {
  state: 'room',
  react: 'events',
  redact: 'events',
};

/**
 * The row whose turn it is in a lane. Rows go in the order of their ids, except that some may stand back, for a more urgent
 * row that follows and is not about the same card, or while a wait of their own holds them: edits, reactions, room state,
 * and the first message of a progress card. Any other row is a barrier that nothing behind it may pass, so the messages
 * that people read keep their order, and no edit comes before its card.
 *
 * @param rows one lane's pending rows, by id
 * @param paceMs milliseconds until an edit of a card may go, 0 or less for now
 */
export function chooseInLane<R extends WaitingRow>(
  rows: readonly R[],
  paceMs: (row: R) => number,
): Choice<R> | undefined {
  const waitOf = (row: R): number => Math.max(row.waitMs, row.kind === 'edit' ? paceMs(row) : 0);
  const barrier = rows.findIndex((row) => !standsBack(row));
  let best: { send: R; urgency: number } | undefined;
  let waitMs = Infinity;
  const touched = new Set<string>();
  const heldCards = new Set<string | null>();
  for (const [index, row] of rows.entries()) {
    if (barrier >= 0 && index > barrier) break;
    const wait = waitOf(row);
    const afterItsCard = row.cardKey !== null && heldCards.has(row.cardKey);
    const touches = TOUCHES[row.kind];
    const afterItsLike = touches !== undefined && touched.has(touches);
    if (wait <= 0 && !afterItsCard && !afterItsLike) {
      // What everything waits for is as urgent as the most urgent of it.
      const waiting =
        index === barrier ? rows.slice(index + 1).filter((one) => waitOf(one) <= 0) : [];
      const urgency = Math.min(row.priority, ...waiting.map(({ priority }) => priority));
      if (best === undefined || urgency < best.urgency) best = { send: row, urgency };
    } else if (wait > 0) {
      waitMs = Math.min(waitMs, wait);
    }
    if (touches !== undefined) touched.add(touches);
    if (row.kind !== 'react') heldCards.add(row.cardKey);
  }
  if (best !== undefined) return best;
  return waitMs === Infinity ? undefined : { waitMs };
}

function standsBack(row: WaitingRow): boolean {
  if (row.kind === 'send') return row.priority >= PRIORITY.progress && row.cardKey !== null;
  return row.kind === 'edit' || TOUCHES[row.kind] !== undefined;
}
