import type { Unit } from '../db/database.ts';
import type { Signal } from '../db/rows.ts';
import { NotFoundError } from '../errors.ts';
import type { SessionId } from '../ids.ts';
import { openTask, type TaskOrigin } from '../tasks/open.ts';
import { databaseNow, later } from '../tasks/lock.ts';
import {
  hasTaskAtWork,
  lockSignal,
  moveSignal,
  signalDetail,
  stateOf,
  type SignalState,
} from './states.ts';

/** How long 🔕 silences a signal. */
const MUTE_MS = 60 * 60_000;
/** The longest that a signal may be muted. */
export const LONGEST_MUTE_MS = 30 * 24 * 3_600_000;

/** What an operator's word on a signal came to. `already`: it is so, or over, and nothing was written. */
export type SignalVerdict =
  | { readonly kind: 'done'; readonly signal: Signal }
  | { readonly kind: 'already'; readonly signal: Signal };

/** 👀: somebody looks at it. Out of `acting` and `resolved` nothing comes of it. */
export async function acknowledgeSignal(
  unit: Unit,
  id: string,
  by: string,
): Promise<SignalVerdict> {
  const signal = await required(unit, id);
  const from = stateOf(signal);
  if (from !== 'raised' && from !== 'muted') return { kind: 'already', signal };
  return moved(unit, signal, from, 'acknowledged', by, { mutedUntil: null });
}

/** 🔕: nobody is called for it until then, whether it comes and goes. `forMs` up to 30 days. */
export async function muteSignal(
  unit: Unit,
  id: string,
  by: string,
  forMs = MUTE_MS,
): Promise<SignalVerdict> {
  const signal = await required(unit, id);
  const from = stateOf(signal);
  if (from === 'resolved') return { kind: 'already', signal };
  const mutedUntil = later(await databaseNow(unit), Math.min(forMs, LONGEST_MUTE_MS));
  return moved(unit, signal, from, 'muted', by, { mutedUntil });
}

/** ✅: it is dealt with. If it was not, its check raises a new one, which calls. */
export async function resolveSignal(unit: Unit, id: string, by: string): Promise<SignalVerdict> {
  await lockCheckOf(unit, id);
  const signal = await required(unit, id);
  const from = stateOf(signal);
  if (from === 'resolved') return { kind: 'already', signal };
  const done = await moved(unit, signal, from, 'resolved', by, {
    resolvedAt: await databaseNow(unit),
    mutedUntil: null,
  });
  // It has to fail as often again: what failed before was dealt with.
  if (signal.checkId !== null)
    await unit.db.check.updateMany({ where: { id: signal.checkId }, data: { failures: 0 } });
  return done;
}

/**
 * 🤖: opens a task for it, once: while one is at work on it there is no second. The task is asked for in fixed words; what the
 * signal says comes with it as a file, which is data (L10, Z2).
 */
export async function openTaskForSignal(
  unit: Unit,
  id: string,
  by: string,
  place: Pick<TaskOrigin, 'kind' | 'roomId' | 'linkTo'>,
): Promise<SignalVerdict> {
  const signal = await required(unit, id);
  const from = stateOf(signal);
  if (from === 'resolved' || from === 'acting') return { kind: 'already', signal };
  // One that was muted or looked at meanwhile is at work still.
  if (await hasTaskAtWork(unit, signal))
    return moved(unit, signal, from, 'acting', by, { mutedUntil: null });
  const entity =
    signal.entityId === null
      ? null
      : await unit.db.entity.findUnique({
          where: { id: signal.entityId },
          select: { slug: true },
        });
  const facts = JSON.stringify(await factsOf(unit, signal, entity?.slug ?? null), null, 2);
  const { sessionId } = await openTask(unit, {
    by,
    text: `Look into signal ${signal.shortId}${entity === null ? '' : ` on ${entity.slug}`}: find out why it was raised, and put it right. What it says is in the attached file, as data.`,
    origin: place,
    attachments: [
      {
        kind: 'file',
        name: `signal-${signal.shortId}.json`,
        mimetype: 'application/json',
        sizeBytes: Buffer.byteLength(facts),
        text: facts,
        cut: false,
      },
    ],
  });
  return moved(unit, signal, from, 'acting', by, { sessionId, mutedUntil: null });
}

async function factsOf(unit: Unit, signal: Signal, slug: string | null) {
  const { text, labels, url } = signalDetail.parse(signal.detail);
  const check =
    signal.checkId === null
      ? null
      : await unit.db.check.findUnique({ where: { id: signal.checkId } });
  return {
    signal: signal.shortId,
    title: signal.title,
    severity: signal.severity,
    entity: slug,
    raised: signal.raisedAt.toISOString(),
    came_back: signal.reopens,
    says: text,
    ...(Object.keys(labels).length === 0 ? {} : { labels }),
    ...(url === undefined ? {} : { url }),
    ...(check === null
      ? {}
      : {
          check: {
            name: check.name,
            kind: check.kind,
            status: check.status,
            value: check.value,
            detail: check.detail,
            checked: check.checkedAt?.toISOString() ?? null,
          },
        }),
  };
}

/**
 * The task for a signal has ended. Ended well, its check looks at once, and one good look resolves it; what has no check is
 * resolved, for whoever raised it would raise it again. Ended otherwise, it waits for a person, who knows of it.
 */
export async function settleSignalsOf(
  unit: Unit,
  sessionId: SessionId,
  success: boolean,
): Promise<void> {
  const open = await unit.db.signal.findMany({ where: { sessionId, state: 'acting' } });
  for (const signal of open) {
    await lockCheckOf(unit, signal.id);
    const mover = { actor: 'task', data: { success } };
    if (!success || signal.checkId !== null)
      await moveSignal(unit, signal, 'acting', 'acknowledged', mover);
    else {
      const resolvedAt = await databaseNow(unit);
      await moveSignal(unit, signal, 'acting', 'resolved', mover, { resolvedAt });
    }
    if (success && signal.checkId !== null) {
      await unit.db.$executeRaw`
        UPDATE checks SET next_at = clock_timestamp(), failures = 0, successes = greatest(successes, resolve_after - 1)
        WHERE id = ${signal.checkId}::uuid`;
    }
  }
}

/** The signal that an operator names by its short id. Throws `not_found`. */
export async function signalNamed(unit: Unit, shortId: string): Promise<Signal> {
  const signal = await unit.db.signal.findUnique({ where: { shortId: shortId.toLowerCase() } });
  if (signal === null)
    throw new NotFoundError('signal', shortId.slice(0, 20), '!signals lists them with their ids.');
  return signal;
}

/** A check's result is stored by check, then signal; who changes both begins with the check too, or they wait for each other. */
async function lockCheckOf(unit: Unit, signalId: string): Promise<void> {
  await unit.db.$queryRaw`
    SELECT id FROM checks WHERE id = (SELECT check_id FROM signals WHERE id = ${signalId}::uuid) FOR UPDATE`;
}

async function required(unit: Unit, id: string): Promise<Signal> {
  const signal = await lockSignal(unit, id);
  if (signal === null) throw new NotFoundError('signal', id);
  return signal;
}

async function moved(
  unit: Unit,
  signal: Signal,
  from: SignalState,
  to: SignalState,
  by: string,
  change: Parameters<typeof moveSignal>[5],
): Promise<SignalVerdict> {
  const did = await moveSignal(unit, signal, from, to, { actor: by }, change);
  const now = await unit.db.signal.findUniqueOrThrow({ where: { id: signal.id } });
  return { kind: did ? 'done' : 'already', signal: now };
}
