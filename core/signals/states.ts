import { z } from 'zod';
import type { Unit } from '../db/database.ts';
import type { Signal } from '../db/rows.ts';

/** The life of a signal (S2). */
export const SIGNAL_STATES = ['raised', 'acknowledged', 'acting', 'muted', 'resolved'] as const;
/** One of the states above. */
export type SignalState = (typeof SIGNAL_STATES)[number];

/** Which state may follow which. Out of `resolved` leads only the same trouble that came back soon. */
const SIGNAL_MOVES: Readonly<Record<SignalState, readonly SignalState[]>> = {
  raised: ['acknowledged', 'acting', 'muted', 'resolved'],
  // Raised again: its task ended well, and it goes on.
  acknowledged: ['raised', 'acting', 'muted', 'resolved'],
  acting: ['acknowledged', 'muted', 'resolved'],
  muted: ['raised', 'acknowledged', 'acting', 'muted', 'resolved'],
  resolved: ['raised', 'muted'],
};

/** What a signal is about beyond its title. Text and labels come from outside: they are data. */
export const signalDetail = z.strictObject({
  version: z.literal(1),
  text: z.string(),
  labels: z.record(z.string(), z.string()).default({}),
  /** Where whoever raised it shows it. */
  url: z.string().optional(),
});
/** See `signalDetail`. */
export type SignalDetail = z.output<typeof signalDetail>;

/** The columns that may change together with the state. */
export type SignalChange = Partial<
  Pick<
    Signal,
    | 'sessionId'
    | 'mutedUntil'
    | 'reopenedAt'
    | 'reopens'
    | 'calls'
    | 'calledAt'
    | 'resolvedAt'
    | 'startsAt'
    | 'title'
    | 'severity'
    | 'entityId'
    | 'checkId'
  >
> & { detail?: SignalDetail };

/** Who moves a signal: a Matrix id, `token:<name>`, or `system`; and what else belongs into the audit log. */
export interface SignalMover {
  readonly actor: string;
  readonly data?: Record<string, unknown>;
}

/** A signal's state, read from its row. */
export function stateOf(signal: Pick<Signal, 'state'>): SignalState {
  return z.enum(SIGNAL_STATES).parse(signal.state);
}

/**
 * Moves a signal from one state to another: the only code that writes the state. One conditional UPDATE, with its event and audit
 * entry in the same transaction. Returns whether it moved; false means that it was no longer in `from`, and nothing was written.
 *
 * Throws on a move that the table above does not have: that is a fault of the program.
 */
export async function moveSignal(
  unit: Unit,
  signal: Pick<Signal, 'id' | 'sessionId'>,
  from: SignalState,
  to: SignalState,
  mover: SignalMover,
  change: SignalChange = {},
): Promise<boolean> {
  if (!SIGNAL_MOVES[from].includes(to))
    throw new Error(`signal ${signal.id}: no way from ${from} to ${to}`);
  const { count } = await unit.db.signal.updateMany({
    where: { id: signal.id, state: from },
    data: { ...change, state: to, changedBy: mover.actor },
  });
  if (count === 0) return false;
  await unit.db
    .$executeRaw`UPDATE signals SET changed_at = clock_timestamp() WHERE id = ${signal.id}::uuid`;
  recordSignalMove(
    unit,
    { id: signal.id, sessionId: change.sessionId ?? signal.sessionId },
    from,
    to,
    mover,
  );
  return true;
}

/** The event and the audit entry of a move; also for the first state, which an INSERT writes. */
export function recordSignalMove(
  unit: Unit,
  signal: Pick<Signal, 'id' | 'sessionId'>,
  from: SignalState | 'new',
  to: SignalState,
  mover: SignalMover,
): void {
  unit.emit({ type: 'signal.changed', refId: signal.id, data: { from, to } });
  unit.audit({
    actor: mover.actor,
    action: `signal.${to}`,
    subject: signal.id,
    sessionId: signal.sessionId,
    data: { from, ...mover.data },
  });
}

/** A signal's row, locked for the rest of the transaction. */
export async function lockSignal(unit: Unit, id: string): Promise<Signal | null> {
  await unit.db.$queryRaw`SELECT id FROM signals WHERE id = ${id}::uuid FOR UPDATE`;
  return unit.db.signal.findUnique({ where: { id } });
}

/** Whether the task that was opened for a signal goes on still. */
export async function hasTaskAtWork(
  unit: Unit,
  { sessionId }: Pick<Signal, 'sessionId'>,
): Promise<boolean> {
  if (sessionId === null) return false;
  // Held until this is done: one that ends in this moment would leave the signal in its hand for ever.
  const open = await unit.db.$queryRaw<unknown[]>`
    SELECT 1 FROM sessions WHERE id = ${sessionId}::uuid AND ended_at IS NULL AND archived_at IS NULL FOR SHARE`;
  return open.length > 0;
}
