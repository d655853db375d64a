import type { Unit } from '../db/database.ts';
import { newId, type MatrixEventId, type PassId, type SessionId, type TurnId } from '../ids.ts';

/** Why there is a turn. */
export type TurnCause = 'operator' | 'schedule' | 'api' | 'mcp' | 'sweep';
/** Why there is a pass. */
export type PassCause =
  | 'message'
  | 'continuation'
  | 'answer'
  | 'decision'
  | 'resume'
  | 'nudge'
  | 'mcp';

/** A pass that was begun so often and never ended takes its worker down: it is given up, and the operator is told. */
export const MAX_PASS_ATTEMPTS = 5;

/** Passes that a person's word is the cause of. */
export const OF_A_PERSON: ReadonlySet<string> = new Set<PassCause>([
  'message',
  'answer',
  'decision',
  'resume',
]);

/** Opens a turn: a thread in the task's room, rooted at `rootEvent` when that is known already (T3). */
export async function openTurn(
  unit: Unit,
  args: { sessionId: SessionId; cause: TurnCause; rootEvent?: MatrixEventId | undefined },
): Promise<TurnId> {
  const last = await unit.db.turn.aggregate({
    where: { sessionId: args.sessionId },
    _max: { seq: true },
  });
  const id = newId<TurnId>();
  await unit.db.turn.createMany({
    data: {
      id,
      sessionId: args.sessionId,
      seq: (last._max.seq ?? 0) + 1,
      cause: args.cause,
      rootEvent: args.rootEvent ?? null,
    },
  });
  unit.emit({ type: 'turn.created', sessionId: args.sessionId, refId: id });
  return id;
}

/** Remembers the event that a turn's thread hangs on, once it was sent. Never changes one that is known. */
export async function setTurnRoot(
  unit: Unit,
  turnId: TurnId,
  rootEvent: MatrixEventId,
): Promise<void> {
  await unit.db.turn.updateMany({ where: { id: turnId, rootEvent: null }, data: { rootEvent } });
}

/**
 * Sees to it that a pass of this turn will run: a queued one takes in whatever was stored by then, so one is enough.
 * A running one takes in messages too, but may be at its end; who ends a pass looks for what it left (`endPass`).
 * Returns the id of the queued pass.
 */
export async function queuePass(
  unit: Unit,
  args: { sessionId: SessionId; turnId: TurnId; cause: PassCause; note?: string | undefined },
): Promise<PassId> {
  const queued = await unit.db.pass.findFirst({
    // One that was stopped, and waits only for its end to be told, reads nothing more.
    where: { turnId: args.turnId, state: 'queued', stopRequestedAt: null },
    select: { id: true, notBefore: true },
  });
  if (queued !== null) {
    // It may rest after a failure; a person is not kept waiting for that.
    if (queued.notBefore !== null && OF_A_PERSON.has(args.cause)) {
      await unit.db.pass.update({ where: { id: queued.id }, data: { notBefore: null } });
      unit.emit({ type: 'pass.queued', sessionId: args.sessionId, refId: queued.id });
    }
    return queued.id as PassId;
  }
  const id = newId<PassId>();
  await unit.db.pass.createMany({
    data: {
      id,
      sessionId: args.sessionId,
      turnId: args.turnId,
      cause: args.cause,
      note: args.note ?? null,
    },
  });
  unit.emit({ type: 'pass.queued', sessionId: args.sessionId, refId: id });
  return id;
}
