import type { Unit } from '../db/database.ts';
import type { Signal } from '../db/rows.ts';
import { newId, newShortId } from '../ids.ts';
import { databaseNow, later } from '../tasks/lock.ts';
import { safeText } from '../text/safe.ts';
import type { Severity } from './check-kinds.ts';
import {
  hasTaskAtWork,
  lockSignal,
  moveSignal,
  recordSignalMove,
  stateOf,
  type SignalDetail,
} from './states.ts';

/** Trouble that comes back so soon after it went away by itself is the same signal, and calls nobody again (S2). */
const REOPEN_WITHIN_MS = 30 * 60_000;
/** So many people are called for one by one within `STORM_MS`; what comes on top shares a card. */
const CALLS_IN_STORM = 8;
const STORM_MS = 5 * 60_000;

/** What is wrong. */
export interface Trouble {
  /** The same each time, for instance `check:<id>`. */
  readonly key: string;
  readonly source: 'check' | 'alertmanager';
  readonly entityId: string | null;
  readonly checkId: string | null;
  readonly severity: Severity;
  readonly title: string;
  readonly detail: SignalDetail;
  /** When it began, as who raises it says; tells one firing from the next. */
  readonly startsAt?: Date | undefined;
  /** Who says so, for the audit log: `system`, or `token:<name>`. */
  readonly by: string;
}

/** What raising came to: a new signal, one that came back, or one that is open already. */
export type Raised = 'raised' | 'reopened' | 'open';

/**
 * Raises a signal, once for each thing that is wrong. What went away by itself and came back within half an hour, or while it is
 * muted, is the old signal again, silently (flapping floods no room); what a person or a task had resolved is a new one, which
 * calls: somebody believed that it was over.
 */
export async function raiseSignal(unit: Unit, trouble: Trouble): Promise<Raised> {
  const last = await lockedLastOf(unit, trouble.key);
  if (last !== null && stateOf(last) !== 'resolved') return stillOpen(unit, last, trouble);
  const now = await databaseNow(unit);
  const mover = { actor: trouble.by, data: { title: trouble.title, severity: trouble.severity } };
  if (last !== null && comesBack(last, now)) {
    const muted = last.mutedUntil !== null && last.mutedUntil > now;
    await moveSignal(unit, last, 'resolved', muted ? 'muted' : 'raised', mover, {
      ...shownOf(trouble),
      sessionId: (await hasTaskAtWork(unit, last)) ? last.sessionId : null,
      resolvedAt: null,
      reopenedAt: now,
      reopens: last.reopens + 1,
    });
    return 'reopened';
  }
  const alone = !(await isStorm(unit, now, trouble.severity));
  const row = await unit.db.signal.create({
    data: {
      id: newId(),
      shortId: await freeShortId(unit),
      key: trouble.key,
      source: trouble.source,
      state: 'raised',
      changedBy: trouble.by,
      ...shownOf(trouble),
      ...(alone ? { calls: 1, calledAt: now } : {}),
    },
  });
  recordSignalMove(unit, row, 'new', 'raised', mover);
  return 'raised';
}

/**
 * It is open already. A firing that began later takes its place, so that the late end of the one before says nothing of it. One whose
 * task ended well, though it goes on, calls again: whoever was told of that end believes that it is over.
 */
async function stillOpen(unit: Unit, last: Signal, trouble: Trouble): Promise<Raised> {
  const { startsAt } = trouble;
  if (startsAt !== undefined && last.startsAt !== null && startsAt > last.startsAt)
    await unit.db.signal.update({ where: { id: last.id }, data: { startsAt } });
  if (last.state !== 'acknowledged' || last.changedBy !== 'task' || last.sessionId === null)
    return 'open';
  const task = await unit.db.session.findUnique({
    where: { id: last.sessionId },
    select: { outcome: true },
  });
  if (task?.outcome !== 'success') return 'open';
  const mover = { actor: trouble.by, data: { why: 'its task ended well, and it goes on' } };
  const called = { calls: last.calls + 1, calledAt: await databaseNow(unit) };
  await moveSignal(unit, last, 'acknowledged', 'raised', mover, called);
  return 'reopened';
}

/** It is well again: resolves what is open under the key. Returns whether something was. */
export async function recovered(
  unit: Unit,
  key: string,
  by: { actor: string; why: string; startsAt?: Date | undefined },
): Promise<boolean> {
  const last = await lockedLastOf(unit, key);
  if (last === null) return false;
  const from = stateOf(last);
  if (from === 'resolved') return false;
  // An end of an earlier firing says nothing of this one.
  if (by.startsAt !== undefined && last.startsAt !== null && by.startsAt < last.startsAt)
    return false;
  return moveSignal(
    unit,
    last,
    from,
    'resolved',
    { actor: by.actor, data: { why: by.why } },
    { resolvedAt: await databaseNow(unit) },
  );
}

/** The newest signal of a key, open or not. */
export async function lastOf(unit: Unit, key: string): Promise<Signal | null> {
  return unit.db.signal.findFirst({
    where: { key },
    orderBy: [{ raisedAt: 'desc' }, { id: 'desc' }],
  });
}

/** Whether who resolved it was no person and no task: then it went away by itself. */
export function wentAwayByItself(signal: Pick<Signal, 'state' | 'changedBy'>): boolean {
  return (
    signal.state === 'resolved' &&
    (signal.changedBy === 'system' || signal.changedBy.startsWith('token:'))
  );
}

function comesBack(last: Signal, now: Date): boolean {
  if (last.mutedUntil !== null && last.mutedUntil > now) return true;
  return (
    wentAwayByItself(last) &&
    last.resolvedAt !== null &&
    later(last.resolvedAt, REOPEN_WITHIN_MS) > now
  );
}

function shownOf(trouble: Trouble) {
  const { entityId, checkId, severity, startsAt } = trouble;
  const { text, labels, url } = trouble.detail;
  const detail = {
    version: 1 as const,
    text: safeText(text),
    labels: Object.fromEntries(
      Object.entries(labels).map(([name, value]) => [safeText(name), safeText(value)]),
    ),
    ...(url === undefined ? {} : { url: safeText(url) }),
  };
  return {
    entityId,
    checkId,
    severity,
    title: safeText(trouble.title),
    detail,
    startsAt: startsAt ?? null,
  };
}

/** What calls nobody is counted apart: it must not take the place of what does. */
async function isStorm(unit: Unit, now: Date, severity: Severity): Promise<boolean> {
  const called = await unit.db.signal.count({
    where: {
      calledAt: { gt: later(now, -STORM_MS) },
      severity: severity === 'info' ? 'info' : { not: 'info' },
    },
  });
  return called >= CALLS_IN_STORM;
}

/**
 * Two that raise the same at once must not both find nothing; and who deals with the signal in this moment must not make an end
 * of it that is told only once be passed over.
 */
async function lockedLastOf(unit: Unit, key: string): Promise<Signal | null> {
  await unit.db
    .$executeRaw`SELECT pg_advisory_xact_lock(hashtext('nomos_signal'), hashtext(${key}))`;
  const last = await lastOf(unit, key);
  return last === null ? null : lockSignal(unit, last.id);
}

async function freeShortId(unit: Unit): Promise<string> {
  for (;;) {
    const shortId = newShortId();
    const taken = await unit.db.signal.findUnique({ where: { shortId }, select: { id: true } });
    if (taken === null) return shortId;
  }
}
