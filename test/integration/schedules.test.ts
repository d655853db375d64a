import { expect, test } from 'vitest';
import { archiveTask } from '../../core/tasks/archive.ts';
import {
  addSchedule,
  deleteSchedule,
  nextRun,
  pauseSchedule,
  runDueSchedules,
  type Schedule,
} from '../../core/tasks/schedules.ts';
import { ann, CoreWorld } from '../support/core-world.ts';

const BY = ann.userId;
const anyone = (): boolean => true;

async function daily(
  world: CoreWorld,
  more: { sessionId?: Schedule['sessionId'] } = {},
): Promise<Schedule> {
  return world.database.write(async (unit) =>
    addSchedule(unit, {
      when: { kind: 'cron', cron: '0 7 * * *' },
      timezone: 'Europe/Berlin',
      prompt: 'check the fleet',
      by: BY,
      ...(more.sessionId == null ? {} : { sessionId: more.sessionId as never }),
    }),
  );
}

/** The bot was down for days: the time of the next run lies behind. */
async function longAgo(world: CoreWorld, id: string): Promise<void> {
  await world.database.read.schedule.update({
    where: { id },
    data: { nextAt: new Date(Date.now() - 5 * 86_400_000) },
  });
}

test('T14: the next run is in the zone’s own time, also where the clock is put forward or back', () => {
  const next = (cron: string, after: string) =>
    nextRun(cron, 'Europe/Berlin', new Date(after)).toISOString();
  expect(next('0 7 * * *', '2026-01-10T12:00:00Z')).toBe('2026-01-11T06:00:00.000Z');
  expect(next('0 7 * * *', '2026-07-10T12:00:00Z')).toBe('2026-07-11T05:00:00.000Z');
  // 2:30 comes twice in that night, and is one run.
  const first = next('30 2 * * *', '2026-10-24T12:00:00Z');
  expect(first.slice(0, 10)).toBe('2026-10-25');
  expect(next('30 2 * * *', '2026-10-25T01:30:00Z').slice(0, 10)).toBe('2026-10-26');
});

test('T14: what was missed while the bot was down runs once, as a task of its own, however many processes look', async () => {
  await using world = await CoreWorld.open();
  const schedule = await daily(world);
  expect(await runDueSchedules(world.database, anyone)).toBe(0);
  await longAgo(world, schedule.id);
  const started = await Promise.all(
    [1, 2, 3, 4].map(() => runDueSchedules(world.database, anyone)),
  );
  expect(started.reduce((sum, one) => sum + one, 0)).toBe(1);
  const sessions = await world.database.read.session.findMany({ include: { messages: true } });
  expect(sessions).toHaveLength(1);
  expect(sessions[0]).toMatchObject({ createdBy: BY, origin: { kind: 'schedule' } });
  expect(sessions[0]?.messages).toMatchObject([{ text: 'check the fleet', sender: BY }]);
  const now = await world.database.read.schedule.findUniqueOrThrow({ where: { id: schedule.id } });
  expect(now.nextAt.getTime()).toBeGreaterThan(Date.now());
  expect(now.lastAt).not.toBeNull();
  expect(await runDueSchedules(world.database, anyone)).toBe(0);
});

test('T14: in a task each run is a turn of it; once that is archived the schedule is paused, and says why', async () => {
  await using world = await CoreWorld.open();
  const task = await world.task();
  const schedule = await daily(world, { sessionId: task.sessionId });
  await longAgo(world, schedule.id);
  expect(await runDueSchedules(world.database, anyone)).toBe(1);
  expect(
    await world.database.read.turn.findMany({
      where: { sessionId: task.sessionId },
      orderBy: { seq: 'asc' },
      select: { cause: true },
    }),
  ).toEqual([{ cause: 'operator' }, { cause: 'schedule' }]);

  await world.database.write(async (unit) =>
    archiveTask(unit, { sessionId: task.sessionId, by: BY }),
  );
  await longAgo(world, schedule.id);
  expect(await runDueSchedules(world.database, anyone)).toBe(0);
  const now = await world.database.read.schedule.findUniqueOrThrow({ where: { id: schedule.id } });
  expect(now.paused).toBe(true);
  expect(
    await world.database.read.auditEntry.count({
      where: { action: 'schedule.paused', subject: schedule.id },
    }),
  ).toBe(1);
  // The lobby is told.
  const told = await world.database.read.event.findMany({ where: { type: 'error.raised' } });
  expect(told.map(({ data }) => data)).toMatchObject([
    { code: 'schedule_paused', message: expect.stringContaining('its task is archived or gone') },
  ]);
});

test('T14: a paused schedule does not run and makes up for nothing; a deleted one is gone', async () => {
  await using world = await CoreWorld.open();
  const schedule = await daily(world);
  await world.database.write(async (unit) => pauseSchedule(unit, schedule, true, BY));
  await longAgo(world, schedule.id);
  expect(await runDueSchedules(world.database, anyone)).toBe(0);
  const again = await world.database.write(async (unit) =>
    pauseSchedule(unit, schedule, false, BY),
  );
  expect(again.nextAt.getTime()).toBeGreaterThan(Date.now());
  expect(await runDueSchedules(world.database, anyone)).toBe(0);
  await world.database.write(async (unit) => deleteSchedule(unit, again, BY));
  expect(await world.database.read.schedule.count()).toBe(0);
});

test('T14: a task for one time runs once at its time, however many processes look and after a restart, and is gone then', async () => {
  await using world = await CoreWorld.open();
  const at = new Date(Date.now() + 3_600_000);
  const schedule = await world.database.write(async (unit) =>
    addSchedule(unit, {
      when: { kind: 'once', at },
      timezone: 'Europe/Berlin',
      prompt: 'renew the certificate',
      by: BY,
    }),
  );
  expect(schedule).toMatchObject({ cron: null, nextAt: at, paused: false });
  expect(await runDueSchedules(world.database, anyone)).toBe(0);
  // Its time passes while nothing runs; then two processes come up.
  await longAgo(world, schedule.id);
  const started = await Promise.all(
    [1, 2, 3, 4].map(() => runDueSchedules(world.database, anyone)),
  );
  expect(started.reduce((sum, one) => sum + one, 0)).toBe(1);
  expect(await world.database.read.schedule.count()).toBe(0);
  const sessions = await world.database.read.session.findMany({ include: { messages: true } });
  expect(sessions.map(({ messages }) => messages.map(({ text }) => text))).toEqual([
    ['renew the certificate'],
  ]);
  expect(
    await world.database.read.auditEntry.findMany({
      where: { subject: schedule.id },
      orderBy: { id: 'asc' },
      select: { action: true },
    }),
  ).toEqual([{ action: 'schedule.added' }, { action: 'schedule.ran' }]);
});

test('T14: one time that passed during a pause does not run, and cannot be resumed; one that is still ahead can', async () => {
  await using world = await CoreWorld.open();
  const add = async (): Promise<Schedule> =>
    world.database.write(async (unit) =>
      addSchedule(unit, {
        when: { kind: 'once', at: new Date(Date.now() + 3_600_000) },
        timezone: 'UTC',
        prompt: 'x',
        by: BY,
      }),
    );
  const pause = async (schedule: Schedule, paused: boolean): Promise<Schedule> =>
    world.database.write(async (unit) => pauseSchedule(unit, schedule, paused, BY));
  const ahead = await add();
  expect(await pause(await pause(ahead, true), false)).toMatchObject({
    paused: false,
    nextAt: ahead.nextAt,
  });
  const passed = await pause(await add(), true);
  await longAgo(world, passed.id);
  expect(await runDueSchedules(world.database, anyone)).toBe(0);
  const now = await world.database.read.schedule.findUniqueOrThrow({ where: { id: passed.id } });
  await expect(pause(now, false)).rejects.toThrow(/has passed while it was paused/);
  await expect(
    world.database.write(async (unit) =>
      addSchedule(unit, {
        when: { kind: 'once', at: new Date(Date.now() - 1_000) },
        timezone: 'UTC',
        prompt: 'x',
        by: BY,
      }),
    ),
  ).rejects.toThrow(/has passed/);
});

test.each([
  ['every day', /“every day” is no cron line/],
  ['99 7 * * *', /is no cron line/],
  ['* * * * *', /too often/],
])('T14: “%s” is refused, with what is allowed', async (cron, why) => {
  await using world = await CoreWorld.open();
  await expect(
    world.database.write(async (unit) =>
      addSchedule(unit, {
        when: { kind: 'cron', cron },
        timezone: 'UTC',
        prompt: 'x',
        by: BY,
      }),
    ),
  ).rejects.toThrow(why);
});

test('T11: archiving ends what is open, keeps executions and audit, and is refused while a command runs', async () => {
  await using world = await CoreWorld.open();
  const task = await world.task();
  await world.request(task, 'host:a', 'systemctl restart nginx');
  const archive = async () =>
    world.database.write(async (unit) => archiveTask(unit, { sessionId: task.sessionId, by: BY }));
  await world.database.read.execution.updateMany({ data: { status: 'running' } });
  await expect(archive()).rejects.toThrow(/while a command of it runs/);
  await world.database.read.execution.updateMany({ data: { status: 'pending_approval' } });
  expect(await archive()).toBe('archived');
  expect(await archive()).toBe('already');
  const session = await world.database.read.session.findUniqueOrThrow({
    where: { id: task.sessionId },
    include: { executions: true },
  });
  expect(session).toMatchObject({ status: 'done', outcome: 'partial' });
  expect(session.archivedAt).not.toBeNull();
  expect(session.executions).toMatchObject([{ status: 'cancelled' }]);
});

test('T14, Z1: what somebody made who is no operator any more is paused and starts nothing', async () => {
  await using world = await CoreWorld.open();
  const { id } = await daily(world);
  await longAgo(world, id);
  expect(await runDueSchedules(world.database, (userId) => userId !== BY)).toBe(0);
  expect(await world.database.read.session.count()).toBe(0);
  const schedule = await world.database.read.schedule.findUniqueOrThrow({ where: { id } });
  expect(schedule.paused).toBe(true);
  const entry = await world.database.read.auditEntry.findFirstOrThrow({
    where: { action: 'schedule.paused', subject: id },
  });
  expect(entry.data).toEqual({ why: 'who made it is no operator any more, or may not schedule' });
});
