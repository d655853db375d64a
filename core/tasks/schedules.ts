import { CronExpressionParser } from 'cron-parser';
import type { Database, Unit } from '../db/database.ts';
import { NomosError, errorText } from '../errors.ts';
import { asId, newId, type SessionId } from '../ids.ts';
import { log } from '../log.ts';
import { databaseNow } from './lock.ts';
import { receiveMessage } from './messages.ts';
import { openTask } from './open.ts';
import { openTurn } from './turns.ts';

/** A schedule as its row has it. */
export type Schedule = Awaited<ReturnType<Unit['db']['schedule']['findUniqueOrThrow']>>;

/** The least time between two runs: a slip of the pen must not start a task every second. */
const LEAST_GAP_MS = 5 * 60_000;
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
 * `schedule_invalid` for a cron line that is none, has no next run, or comes round more often than every 5 minutes.
 */
export async function addSchedule(
  unit: Unit,
  args: {
    cron: string;
    timezone: string;
    prompt: string;
    by: string;
    sessionId?: SessionId | undefined;
  },
): Promise<Schedule> {
  const now = await databaseNow(unit);
  const nextAt = nextRun(args.cron, args.timezone, now);
  const second = nextRun(args.cron, args.timezone, nextAt);
  if (second.getTime() - nextAt.getTime() < LEAST_GAP_MS) {
    throw new NomosError('schedule_invalid', 'operator', `“${args.cron}” comes round too often.`, {
      hint: 'At least 5 minutes must lie between two runs.',
    });
  }
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
      cron: args.cron,
      timezone: args.timezone,
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
    data: { cron: args.cron, timezone: args.timezone },
  });
  return schedule;
}

/** Pauses a schedule or lets it go on; what fell into the pause is not made up for. */
export async function pauseSchedule(
  unit: Unit,
  schedule: Schedule,
  paused: boolean,
  by: string,
): Promise<Schedule> {
  const nextAt = paused
    ? schedule.nextAt
    : nextRun(schedule.cron, schedule.timezone, await databaseNow(unit));
  const changed = await unit.db.schedule.update({
    where: { id: schedule.id },
    data: { paused, nextAt },
  });
  unit.audit({
    actor: by,
    action: paused ? 'schedule.paused' : 'schedule.resumed',
    subject: schedule.id,
  });
  return changed;
}

/** Deletes a schedule. What it started stays. */
export async function deleteSchedule(unit: Unit, schedule: Schedule, by: string): Promise<void> {
  await unit.db.schedule.delete({ where: { id: schedule.id } });
  unit.audit({ actor: by, action: 'schedule.deleted', subject: schedule.id });
}

/**
 * Starts what is due, by the database's clock. The run and the time of the next one commit together, so each time starts
 * once, however many processes look; times that passed while nobody looked start once in all. What somebody made who is no
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
    ? 'who made it is no operator any more'
    : schedule.sessionId !== null && (session === null || session.archivedAt !== null)
      ? 'its task is archived or gone'
      : undefined;
  await unit.db.schedule.update({
    where: { id },
    data: {
      lastAt: now,
      nextAt: nextRun(schedule.cron, schedule.timezone, now),
      ...(obstacle === undefined ? {} : { paused: true }),
    },
  });
  if (obstacle !== undefined) {
    unit.audit({
      actor: 'system',
      action: 'schedule.paused',
      subject: id,
      data: { why: obstacle },
    });
    return false;
  }
  const { prompt: text, createdBy: by } = schedule;
  if (session === null) await openTask(unit, { by, text, origin: { kind: 'schedule' } });
  else {
    const sessionId = asId<SessionId>(session.id);
    const turnId = await openTurn(unit, { sessionId, cause: 'schedule' });
    await receiveMessage(unit, { sessionId, turnId, text, sender: by });
  }
  return true;
}
