import { CronExpressionParser } from 'cron-parser';
import type { Database, Unit } from '../db/database.ts';
import { NomosError, NotFoundError, errorText } from '../errors.ts';
import { settleTrouble } from '../events/settle.ts';
import { asId, newId, type SessionId } from '../ids.ts';
import { log } from '../log.ts';
import { cutLabel } from '../text/label.ts';
import { databaseNow } from './lock.ts';
import { receiveMessage } from './messages.ts';
import { openTask } from './open.ts';
import { openTurn } from './turns.ts';
import { checked, type When } from './when.ts';

/** A schedule as its row has it. */
export type Schedule = Awaited<ReturnType<Unit['db']['schedule']['findUniqueOrThrow']>>;

/** The least time between two runs: a slip of the pen must not start a task every second. */
const LEAST_GAP_MS = 5 * 60_000;
/** So many runs are looked at for it: what comes round no more often has two whole days among them. */
const GAPS_LOOKED_AT = 600;
const DAY_MS = 86_400_000;
/** Nor further than this, which has each 29th of February: a run of what comes round seldom takes milliseconds to find. */
const GAPS_LOOKED_FOR_MS = 5 * 366 * DAY_MS;
/** Most schedules of an installation. */
const MOST_SCHEDULES = 100;

/** The end of a schedule's id, by which operators call it. */
export function scheduleName(schedule: Pick<Schedule, 'id'>): string {
  return schedule.id.slice(-6);
}

/** The next run after `after`, in the zone's own time. Throws `schedule_invalid` with what is wrong. */
export function nextRun(cron: string, timezone: string, after: Date): Date {
  try {
    return CronExpressionParser.parse(cron, { tz: timezone, currentDate: after }).next().toDate();
  } catch (error) {
    throw new NomosError(
      'schedule_invalid',
      'operator',
      `“${cron.slice(0, 60)}” is no cron line that comes round.`,
      {
        hint: 'Five fields: minute, hour, day of the month, month, day of the week; "0 7 * * *" is every day at 7:00.',
        cause: error,
      },
    );
  }
}

/**
 * Sets a task for later or repeated (T14). With `sessionId` each run is a turn of that task, else a task of its own. Throws
 * `schedule_invalid` for a cron line that is none, has no next run, or comes round more often than every 5 minutes, and for a
 * single time that has passed.
 */
export async function addSchedule(
  unit: Unit,
  args: {
    when: When;
    timezone: string;
    prompt: string;
    by: string;
    sessionId?: SessionId | undefined;
  },
): Promise<Schedule> {
  const { when, timezone } = args;
  const nextAt = firstRun(when, timezone, await databaseNow(unit));
  if ((await unit.db.schedule.count()) >= MOST_SCHEDULES) {
    throw new NomosError(
      'schedule_invalid',
      'operator',
      `There are ${MOST_SCHEDULES} schedules already.`,
      { hint: 'Delete one first: !schedule lists them.' },
    );
  }
  const schedule = await unit.db.schedule.create({
    data: {
      id: newId(),
      cron: when.kind === 'cron' ? when.cron : null,
      timezone,
      prompt: args.prompt,
      sessionId: args.sessionId ?? null,
      createdBy: args.by,
      nextAt,
    },
  });
  unit.audit({
    actor: args.by,
    action: 'schedule.added',
    subject: schedule.id,
    ...(args.sessionId === undefined ? {} : { sessionId: args.sessionId }),
    data: when.kind === 'cron' ? { cron: when.cron, timezone } : { at: nextAt.toISOString() },
  });
  return schedule;
}

function firstRun(when: When, timezone: string, now: Date): Date {
  if (when.kind === 'once') {
    checked(when.at, when.at.toISOString(), now);
    return when.at;
  }
  const { cron } = when;
  const nextAt = nextRun(cron, timezone, now);
  if (comesTooOften(cron, now)) {
    throw new NomosError('schedule_invalid', 'operator', `“${cron}” comes round too often.`, {
      hint: 'At least 5 minutes must lie between two runs.',
    });
  }
  return nextAt;
}

/** Whether any two runs are too close, not only the next two. In UTC, where no clock is put by. */
function comesTooOften(cron: string, now: Date): boolean {
  const runs = CronExpressionParser.parse(cron, { tz: 'UTC', currentDate: now });
  const first = runs.next().toDate().getTime();
  let last = first;
  let daysOver = 0;
  for (let look = 1; look < GAPS_LOOKED_AT; look++) {
    const at = runs.next().toDate().getTime();
    if (at - last < LEAST_GAP_MS) return true;
    if (at - last > DAY_MS) daysOver += 1;
    // Of the first day perhaps only the last run was left: another is looked at whole.
    if (at - first > GAPS_LOOKED_FOR_MS && daysOver > 1) break;
    last = at;
  }
  return false;
}

/** The row as it is, locked: it may be running, or have gone, in this moment. Throws `not_found`. */
async function locked(unit: Unit, { id }: Pick<Schedule, 'id'>): Promise<Schedule> {
  await unit.db.$queryRaw`SELECT id FROM schedules WHERE id = ${id}::uuid FOR UPDATE`;
  const schedule = await unit.db.schedule.findUnique({ where: { id } });
  if (schedule === null) throw new NotFoundError('schedule', id);
  return schedule;
}

/**
 * Pauses a schedule or lets it go on; what fell into the pause is not made up for. Throws `schedule_invalid` for a single
 * time that has passed meanwhile.
 */
export async function pauseSchedule(
  unit: Unit,
  known: Pick<Schedule, 'id'>,
  paused: boolean,
  by: string,
): Promise<Schedule> {
  const schedule = await locked(unit, known);
  const nextAt = paused ? schedule.nextAt : await nextAfterPause(unit, schedule);
  const changed = await unit.db.schedule.update({
    where: { id: schedule.id },
    data: { paused, nextAt },
  });
  if (!paused) await settleTrouble(unit, troubleOf(schedule.id));
  unit.audit({
    actor: by,
    action: paused ? 'schedule.paused' : 'schedule.resumed',
    subject: schedule.id,
  });
  return changed;
}

async function nextAfterPause(unit: Unit, schedule: Schedule): Promise<Date> {
  const now = await databaseNow(unit);
  // One that was not paused may just be due: to let it go on must neither refuse it nor pass the run by.
  if (!schedule.paused) return schedule.nextAt;
  if (schedule.cron !== null) return nextRun(schedule.cron, schedule.timezone, now);
  if (schedule.nextAt.getTime() > now.getTime()) return schedule.nextAt;
  throw new NomosError(
    'schedule_invalid',
    'operator',
    'Its time has passed while it was paused, so it did not run.',
    { hint: 'Delete it, and set it for another time.' },
  );
}

/** Deletes a schedule. What it started stays. Throws `not_found` when another was first, or it ran for its one time meanwhile. */
export async function deleteSchedule(
  unit: Unit,
  known: Pick<Schedule, 'id'>,
  by: string,
): Promise<void> {
  const schedule = await locked(unit, known);
  await unit.db.schedule.delete({ where: { id: schedule.id } });
  await settleTrouble(unit, troubleOf(schedule.id));
  unit.audit({ actor: by, action: 'schedule.deleted', subject: schedule.id });
}

/**
 * Starts what is due, by the database's clock. The run and the time of the next one (or the end of a schedule for one time)
 * commit together, so each time starts once, however many processes look; times that passed while nobody looked start once in
 * all. What somebody made who is no
 * operator any more is paused instead (Z1). Returns how many started.
 */
export async function runDueSchedules(
  database: Database,
  isOperator: (userId: string) => boolean,
): Promise<number> {
  const due = await database.read.$queryRaw<Array<{ id: string }>>`
    SELECT id FROM schedules WHERE NOT paused AND next_at <= clock_timestamp() ORDER BY next_at`;
  let started = 0;
  for (const { id } of due) {
    try {
      if (await database.write(async (unit) => runOne(unit, id, isOperator))) started++;
    } catch (error) {
      // The others are not held up by it.
      log.error({ schedule: id, error: errorText(error) }, 'a scheduled task could not be started');
    }
  }
  return started;
}

/** What the trouble of a schedule that was paused is called. */
function troubleOf(id: string): string {
  return `schedule:${id}`;
}

async function runOne(
  unit: Unit,
  id: string,
  isOperator: (userId: string) => boolean,
): Promise<boolean> {
  const claimed = await unit.db.$queryRaw<Array<{ now: Date }>>`
    SELECT clock_timestamp() AS now FROM schedules
    WHERE id = ${id}::uuid AND NOT paused AND next_at <= clock_timestamp() FOR UPDATE SKIP LOCKED`;
  const now = claimed[0]?.now;
  if (now === undefined) return false;
  const schedule = await unit.db.schedule.findUniqueOrThrow({ where: { id } });
  const session =
    schedule.sessionId === null
      ? null
      : await unit.db.session.findUnique({ where: { id: schedule.sessionId } });
  const obstacle = !isOperator(schedule.createdBy)
    ? 'who made it is no operator any more, or may not schedule'
    : schedule.sessionId !== null && (session === null || session.archivedAt !== null)
      ? 'its task is archived or gone'
      : undefined;
  const { cron, timezone } = schedule;
  const next = cron === null ? {} : { nextAt: nextRun(cron, timezone, now) };
  if (obstacle !== undefined) {
    await unit.db.schedule.update({ where: { id }, data: { ...next, lastAt: now, paused: true } });
    unit.audit({
      actor: 'system',
      action: 'schedule.paused',
      subject: id,
      data: { why: obstacle },
    });
    unit.emit({
      type: 'error.raised',
      data: {
        code: 'schedule_paused',
        message: `The schedule ${scheduleName(schedule)} (${cutLabel(schedule.prompt)}) did not run and is paused: ${obstacle}.`,
        hint: '!schedule lists it. Delete it, or set it anew.',
        fault: 'operator',
        retry: false,
        about: troubleOf(id),
      },
    });
    return false;
  }
  if (cron === null) await unit.db.schedule.delete({ where: { id } });
  else await unit.db.schedule.update({ where: { id }, data: { ...next, lastAt: now } });
  const { prompt: text, createdBy: by } = schedule;
  if (session === null) await openTask(unit, { by, text, origin: { kind: 'schedule' } });
  else {
    const sessionId = asId<SessionId>(session.id);
    const turnId = await openTurn(unit, { sessionId, cause: 'schedule' });
    await receiveMessage(unit, { sessionId, turnId, text, sender: by, byClock: true });
  }
  unit.audit({
    actor: 'system',
    action: 'schedule.ran',
    subject: id,
    ...(session === null ? {} : { sessionId: asId<SessionId>(session.id) }),
    data: { by, last: cron === null },
  });
  return true;
}
