import { asId, type SessionId } from '../../core/ids.ts';
import {
  addSchedule,
  deleteSchedule,
  pauseSchedule,
  scheduleName,
  type Schedule,
} from '../../core/tasks/schedules.ts';
import { databaseNow } from '../../core/tasks/lock.ts';
import { readWhen, WHEN_WORDS } from '../../core/tasks/when.ts';
import { cardOf, type Card } from '../cards/card.ts';
import { answerTo } from '../cards/replies.ts';
import { list, para, rich, strong, type Rich } from '../cards/rich.ts';
import type { View } from '../cards/view.ts';
import { count, label, nameOf, slug } from '../cards/words.ts';
import { roleCovers } from '../../core/operators.ts';
import type { Unit } from '../../core/db/database.ts';
import { CommandError, type Command } from './command.ts';

const WAYS = `${WHEN_WORDS}. With an id: !schedule pause, resume or delete.`;
const CHANGE = /^(pause|resume|delete)\s+(\S+)$/i;

/** `!schedule`: tasks for later, or repeated (T14). */
export const scheduleCommand: Command = {
  name: 'schedule',
  takes: [
    {
      name: 'what',
      what: 'when (“in 2h”, “at 18:30”, “at 2026-12-01 07:00”, "0 7 * * *") and what to do; or pause, resume or delete and an id; nothing lists them',
      required: false,
      rest: true,
    },
  ],
  does: 'Starts a task later, or again and again at the times of a cron line; in a task’s room each run is a turn there.',
  needs: 'viewer',
  async run({ context, args, taskIfAny }) {
    const { unit, operator, view } = context;
    const what = args['what'] ?? '';
    if (what === '') return listed(unit, view);
    if (!roleCovers(operator.role, 'approver')) {
      throw new CommandError('You are a viewer; to change schedules needs the role approver.');
    }
    const change = CHANGE.exec(what);
    if (change !== null) {
      const [, verb = '', id = ''] = change;
      return changed(unit, verb.toLowerCase(), await named(unit, id), operator.userId, view);
    }
    const { when, prompt } = readWhen(what, {
      now: await databaseNow(unit),
      timeZone: view.timeZone,
    });
    const session = await taskIfAny();
    const schedule = await addSchedule(unit, {
      when,
      timezone: view.timeZone,
      prompt,
      by: operator.userId,
      sessionId: session === undefined ? undefined : asId<SessionId>(session.id),
    });
    return answerTo(rich`⏰ ${line(schedule, view)}`);
  },
};

async function listed(unit: Unit, view: View): Promise<Card> {
  const schedules = await unit.db.schedule.findMany({ orderBy: { nextAt: 'asc' }, take: 30 });
  if (schedules.length === 0) return answerTo(rich`Nothing is scheduled.`, rich`${WAYS}`);
  return cardOf([
    para(strong(count(schedules.length, 'schedule'))),
    list(schedules.map((schedule) => line(schedule, view))),
  ]);
}

async function changed(
  unit: Unit,
  verb: string,
  schedule: Schedule,
  by: string,
  view: View,
): Promise<Card> {
  if (verb === 'delete') {
    await deleteSchedule(unit, schedule, by);
    return answerTo(rich`🗑 Deleted: ${label(schedule.prompt)}`);
  }
  const now = await pauseSchedule(unit, schedule, verb === 'pause', by);
  return answerTo(rich`${verb === 'pause' ? '⏸️' : '⏰'} ${line(now, view)}`);
}

async function named(unit: Unit, id: string): Promise<Schedule> {
  const all = await unit.db.schedule.findMany();
  const found = all.filter((schedule) => scheduleName(schedule) === id.toLowerCase());
  const [one] = found;
  if (one === undefined || found.length > 1) {
    throw new CommandError(
      `There is no schedule “${id.slice(0, 20)}”.`,
      '!schedule lists them with their ids.',
    );
  }
  return one;
}

function line(schedule: Schedule, view: View): Rich {
  const { cron, timezone, nextAt } = schedule;
  const where = schedule.sessionId === null ? '' : ' · as a turn of its task';
  const last = schedule.lastAt === null ? '' : ` · last ${moment(schedule.lastAt, timezone, view)}`;
  const next = moment(nextAt, timezone, view);
  const when =
    cron === null
      ? rich`once, ${next} ${timezone}${schedule.paused ? ', paused' : ''}`
      : rich`${slug(cron)} ${timezone} · ${schedule.paused ? 'paused' : `next ${next}`}`;
  return rich`${slug(scheduleName(schedule))} ${label(schedule.prompt)} · ${when}${last}${where} · by ${nameOf(schedule.createdBy)}`;
}

/** `Tue, 1 Dec, 07:00`; with the year if it is another than now. */
function moment(at: Date, timeZone: string, { now }: View): string {
  const shown = (options: Intl.DateTimeFormatOptions, time: Date): string =>
    new Intl.DateTimeFormat('en-GB', { timeZone, ...options }).format(time);
  const year = shown({ year: 'numeric' }, at);
  return shown(
    {
      weekday: 'short',
      day: 'numeric',
      month: 'short',
      ...(year === shown({ year: 'numeric' }, now) ? {} : { year: 'numeric' }),
      hour: '2-digit',
      minute: '2-digit',
    },
    at,
  );
}
