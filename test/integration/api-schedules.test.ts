import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../core/ids.ts';
import { runDueSchedules } from '../../core/tasks/schedules.ts';
import { ApiWorld } from '../support/api-world.ts';
import { ann, bob, eve } from '../support/core-world.ts';

let world: ApiWorld;
let reader: string;
let worker: string;

beforeAll(async () => {
  world = await ApiWorld.open();
  reader = await world.token(['read']);
  worker = await world.token(['operate'], bob);
});
afterAll(() => world[Symbol.asyncDispose]());

const list = async (): Promise<unknown> =>
  (await world.get('/api/v1/schedules', reader)).body['schedules'];
const add = async (body: unknown, token = worker) =>
  world.call('POST', '/api/v1/schedules', { token, body });

describe('T14, H1: schedules', () => {
  it('are set for once or repeated, listed by their next time, paused, and deleted', async () => {
    expect(await list()).toEqual([]);
    const daily = await add({ text: 'check the fleet', cron: '0 7 * * *' });
    expect(daily).toMatchObject({
      status: 201,
      body: { cron: '0 7 * * *', timezone: 'Europe/Berlin', paused: false, createdBy: bob.userId },
    });
    expect(daily.headers['location']).toBe(`/api/v1/schedules/${String(daily.body['id'])}`);
    const at = new Date(Date.now() + 60_000);
    const once = await add({ text: 'check web-1', at: at.toISOString(), timezone: 'UTC' });
    expect(once.body).toMatchObject({ cron: null, timezone: 'UTC', nextAt: at.toISOString() });
    expect(await list()).toMatchObject([{ text: 'check web-1' }, { text: 'check the fleet' }]);

    const place = `/api/v1/schedules/${String(daily.body['id'])}`;
    expect(
      await world.call('PUT', `${place}/paused`, { token: worker, body: { paused: true } }),
    ).toMatchObject({ status: 200, body: { paused: true } });
    expect(await world.call('DELETE', place, { token: worker })).toMatchObject({
      status: 200,
      body: { result: 'deleted' },
    });
    expect(await world.call('DELETE', place, { token: worker })).toMatchObject({ status: 404 });
    expect(await list()).toMatchObject([{ text: 'check web-1' }]);
    const entries = await world.core.database.read.auditEntry.findMany({
      where: { action: { startsWith: 'api.schedule' } },
      orderBy: { id: 'asc' },
    });
    expect(entries.map(({ action, actor }) => [action, actor])).toEqual([
      ['api.schedule.add', bob.userId],
      ['api.schedule.add', bob.userId],
      ['api.schedule.pause', bob.userId],
      ['api.schedule.delete', bob.userId],
    ]);
  });

  it('run as turns of a task where one is named', async () => {
    const task = await world.core.task();
    const { body } = await add({
      text: 'look again',
      at: new Date(Date.now() + 60_000).toISOString(),
      session: task.sessionId,
    });
    await world.core.database.read.schedule.update({
      where: { id: String(body['id']) },
      data: { nextAt: new Date(Date.now() - 1_000) },
    });
    expect(await runDueSchedules(world.core.database, () => true)).toBe(1);
    expect(
      await world.core.database.read.turn.findMany({
        where: { sessionId: task.sessionId },
        orderBy: { seq: 'asc' },
        select: { cause: true },
      }),
    ).toEqual([{ cause: 'operator' }, { cause: 'schedule' }]);
  });

  it.each([
    ['neither time', { text: 'x' }, 400, /either cron or at/],
    [
      'both',
      { text: 'x', cron: '0 7 * * *', at: '2099-01-01T00:00:00Z' },
      400,
      /either cron or at/,
    ],
    ['a time without its offset', { text: 'x', at: '2026-12-01T07:00:00' }, 400, /offset/],
    ['no zone', { text: 'x', cron: '0 7 * * *', timezone: 'Mars/Olympus' }, 400, /no time zone/],
    ['no cron line', { text: 'x', cron: 'at seven' }, 422, /no cron line/],
    ['too often', { text: 'x', cron: '* * * * *' }, 422, /too often/],
    ['a time that has passed', { text: 'x', at: '2020-01-01T00:00:00Z' }, 422, /has passed/],
    ['nothing to do', { text: ' ', cron: '0 7 * * *' }, 400, /empty/],
    ['a task that is none', { text: 'x', cron: '0 7 * * *', session: newId() }, 404, /No task/],
  ])('Z7: %s is refused, with what is allowed', async (_, body, status, why) => {
    const before = await world.core.database.read.schedule.count();
    const answer = await add(body);
    expect(answer.status).toBe(status);
    expect(answer.text).toMatch(why);
    expect(await world.core.database.read.schedule.count()).toBe(before);
  });

  it('A15: a viewer’s token sets none', async () => {
    const viewer = await world.token(['operate'], eve);
    expect(await add({ text: 'x', cron: '0 7 * * *' }, viewer)).toMatchObject({ status: 403 });
    const admin = await world.token(['read'], ann);
    expect(await add({ text: 'x', cron: '0 7 * * *' }, admin)).toMatchObject({ status: 403 });
  });
});
